import { whyOnlyLink } from '../../src/notify/buttons';
import type { RequestOpened } from '../../src/history/events';
import { proposal, request } from '../cli/support';
import { notice, ruled } from './support';

const ROOM = { characters: 1500, lines: 30, indent: 2 };
const HEARD = { isHeard: true, isSigned: false };
const BOUND = { path: '.', baseHash: 'a', targetHash: '', encoding: 'utf8' as const, hunks: [] };
const SIGNED = { isHeard: true, isSigned: true };

it.each<[string, RequestOpened | undefined, typeof HEARD, RegExp | undefined]>([
  ['as asked', request(), HEARD, undefined],
  ['by a rule that a claim satisfies', ruled('claimed'), HEARD, undefined],
  ['by a rule for people who are signed in', ruled('signed_in'), HEARD, /wants decisions signed in/],
  ['by the same, with a key that says so', ruled('signed_in'), SIGNED, undefined],
  ['by a rule for own keys', ruled('signed'), SIGNED, /wants decisions signed, /],
  ['by a rule for SSH keys', ruled('signed_ssh'), SIGNED, /wants decisions signed ssh/],
  ['where nobody listens', request(), { isHeard: false, isSigned: false }, /in the web inbox/],
  ['with a plan', proposal(), HEARD, /changes a file/],
  [
    'of a command that is bound to a file',
    request({ preview: { text: './a.sh', plan: BOUND } }),
    HEARD,
    undefined,
  ],
  ['turned around', request({ arguments: { to: 'a\u202eb' } }), HEARD, /deceives the eye/],
  ['with look-alikes', request({ arguments: { to: 'p\u0430ypal' } }), HEARD, /deceives the eye/],
  ['with a deceiving name', request({ arguments: { 't\u200bo': 1 } }), HEARD, /deceives the eye/],
  ['with what Slack shows as another sign', request({ arguments: { to: '&lt;a' } }), HEARD, /deceives/],
  ['with a deceiving preview', request({ preview: { text: 'pay \u202e' } }), HEARD, /deceives the eye/],
  ['too long', request({ arguments: { to: 'x'.repeat(2000) } }), HEARD, /too long/],
  ['too many lines', request({ arguments: { all: Array.from({ length: 40 }, () => 1) } }), HEARD, /too long/],
  ['with a long preview', request({ preview: { text: 'x\n'.repeat(40) } }), HEARD, /too long/],
])('can be decided, or only in the web inbox: a request %s', (_name, opened, rules, why) => {
  const said = whyOnlyLink(notice('a'), opened, { ...rules, room: ROOM });
  if (why === undefined) expect(said).toBeUndefined();
  else expect(said).toMatch(why);
});

it.each(['question.opened', 'call.in_doubt', 'deadline.near', 'test'] as const)('never can a %s', (type) => {
  expect(whyOnlyLink({ ...notice('a'), type }, request(), { ...SIGNED, room: ROOM })).toMatch(/\w/);
});
