import fc from 'fast-check';
import { overPush, pushOf, tagOf } from '../../src/notify/push';
import { testNotice } from '../../src/notify/notices';
import type { RequestOpened } from '../../src/history/events';
import { call, NOW, proposal, request } from '../cli/support';
import { notice, ruled } from './support';

const ANN = { user: 'ann', mayDecide: true };
const made = (opened: RequestOpened, reader = ANN, about = notice('a')) =>
  pushOf(about, reader, call({ request: opened }));

it('says the tool, the agent, and where it is, and can be decided by its digest', () => {
  expect(made(request())).toEqual({
    ...{ user: 'ann', tag: tagOf(notice('b')), place: '#/turns/t-1/calls/1.1', turn: 't-1', callId: '1.1' },
    ...{
      tool: 'pay',
      agent: 'clerk',
      what: 'a',
      title: 'Approve? a · pay (clerk)',
      text: 'pay (clerk)\n{"amount":10,"to":"ann"}',
    },
    seen: { seenDigest: request().seenDigest, callKey: 'key:1.1' },
  });
});

it.each<[string, RequestOpened, boolean]>([
  ['as asked', request(), true],
  ['for people who are signed in', ruled('signed_in'), true],
  ['for own keys', ruled('signed'), false],
  ['for SSH keys', ruled('signed_ssh'), false],
  ['with a plan', proposal(), false],
  ['that deceives', request({ arguments: { to: 'a\u202eb' } }), false],
  ['with look-alikes', request({ arguments: { to: 'p\u0430ypal' } }), false],
  ['as long as all screens show', request({ arguments: { to: 'x'.repeat(99) } }), true],
  ['longer', request({ arguments: { to: 'x'.repeat(100) } }), false],
  ['with a preview', request({ preview: { text: 'to ann' } }), false],
])('can be decided or is only a link: a request %s', (_name, opened, isDecidable) => {
  const { seen, text } = made(opened);
  expect(seen !== undefined).toBe(isDecidable);
  if (!isDecidable) expect(text).toMatch(/^a\npay \(clerk\)\n.*\w/);
  expect(text).not.toMatch(/\u202e/);
});

it('cannot be decided by who may only look, or under names that are cut', () => {
  expect(made(request(), { user: 'eve', mayDecide: false }).seen).toBeUndefined();
  const about = notice('a');
  const long = { ...about, data: { ...about.data, tool: 'x'.repeat(60) } };
  const message = made(request({ tool: 'x'.repeat(60) }), ANN, long);
  expect([message.seen, message.text]).toEqual([undefined, expect.stringContaining('name is too long')]);
});

it('can be decided as well after an escalation, which has the tag of its call and leaves room for names', () => {
  const about = { ...notice('a'), type: 'request.escalated' as const };
  const names = { tool: 'transfer_money', agent: 'bank-clerk-of-europe' };
  const message = made(request({ tool: names.tool }), ANN, { ...about, data: { ...about.data, ...names } });
  expect(message).toMatchObject({
    ...{ tag: tagOf(notice('a')), title: 'Overdue. Approve? pay a · transfer_money (bank-clerk-of-eur…' },
    ...{
      text: 'transfer_money (bank-clerk-of-europe)\n{"amount":10,"to":"ann"}',
      seen: { seenDigest: request().seenDigest, callKey: 'key:1.1' },
    },
  });
  expect(made(ruled('signed'), ANN, about)).toMatchObject({
    text: expect.stringMatching(/wants decisions signed/),
  });
  expect(made(request(), { user: 'eve', mayDecide: false }, about).seen).toBeUndefined();
});

it('has the tag of its call, whatever the notice, and a test has its own', () => {
  const later = (['deadline.near', 'request.escalated'] as const).map((type) => ({ ...notice('a'), type }));
  const tags = [notice('a'), notice('b'), ...later].map(tagOf);
  expect(new Set(tags)).toEqual(new Set([expect.stringMatching(/^[0-9a-f]{32}$/)]));
  const [one, two] = [testNotice(NOW), testNotice(NOW)];
  expect(tagOf(one)).not.toBe(tagOf(two));
  expect(pushOf(one, ANN)).toMatchObject({ title: 'Test: notifications', place: '#/' });
});

it('says what became of a call, and offers nothing', () => {
  const message = overPush(notice('a'), 'ann', 'denied by \u202ebob');
  expect(message).toMatchObject({ title: 'No longer waits: a', tag: tagOf(notice('a')), isOver: true });
  expect([message.text, message.seen]).toEqual(['denied by ⟦U+202E⟧bob', undefined]);
});

it('fits a message of web push and shows no sign that deceives, whatever the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), (text) => {
      const about = notice('a');
      const evil = {
        ...about,
        data: { ...about.data, tool: text, agent: text, summary: text, prompt: text },
      };
      const opened = request({ tool: text, arguments: { [text]: text } });
      const all = [made(opened, ANN, evil), overPush(evil, 'ann', text)];
      for (const message of all) {
        expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThan(3000);
        expect(`${message.title}${message.text}`).not.toMatch(/[\u0000-\u0009\u200b\u202a-\u202e]/);
      }
    }),
  );
});
