import {
  askedAt,
  messageOf,
  outcomeOf,
  overMessage,
  reasonView,
  whisperOf,
  whyOnlyLink,
} from '../../../src/cli/notify/slack-text';
import { testNotice } from '../../../src/cli/notify/notices';
import { parseApprovers } from '../../../src/authority/approvers';
import type { RequestOpened } from '../../../src/history/events';
import { AT, call, NOW, proposal, question, request, turn } from '../support';
import { blocksSchema, labelsOf, shownIn } from './slack-server';
import { notice } from './support';

const HEARD = { isHeard: true, isSigned: false };
const SIGNED = { isHeard: true, isSigned: true };
const place = { page: 'https://inbox.example.org', target: 'C1' };

/** As the server takes it. */
const made = (opened: RequestOpened | undefined, rules = HEARD, about = notice('a')) => {
  const one = opened === undefined ? undefined : call({ request: opened });
  const given = one === undefined ? place : { ...place, view: turn([one]), call: one };
  const message = messageOf(about, given, rules);
  return { ...message, blocks: blocksSchema.parse(message.blocks) };
};
const ruled = (assurance: string): RequestOpened => {
  const file = parseApprovers(
    `installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'\npeople: { ann: {} }\nrules: [{ name: all, tools: [pay], then: ask, assurance: ${assurance} }, { name: default, then: by_safety }]`,
    'approvers.yaml',
  );
  const about = { tool: 'pay', agent: 'clerk', args: {}, safety: 'dangerous', effect: 'unsafe' } as const;
  return request({ authority: file.authorityBy(file.rulingOn(about), ['bob']) });
};

it('says who asks, what for, and the arguments, with buttons that carry call and digest', () => {
  const message = made(ruled('claimed'));
  expect(message.hasButtons).toBe(true);
  expect(labelsOf(message)).toEqual(['Approve', 'Deny', 'Open']);
  const shown = shownIn(message);
  expect(shown).toMatch(/^Approval needed: pay \(clerk\)\n/);
  expect(shown).toContain('for: bob');
  expect(shown).toContain('"amount": 10,\n  "to": "ann"');
  expect(shown).toContain("decides: rule 'all': 1 approval");
  const [approve] = message.blocks.flatMap((one) => (one.type === 'actions' ? one.elements : []));
  expect(JSON.parse(approve?.value ?? '')).toEqual({
    ...{ callId: '1.1', digest: request().seenDigest, key: expect.stringMatching(/^[0-9a-f]{32}$/) },
  });
});

it.each<[string, RequestOpened | undefined, typeof HEARD, RegExp | undefined]>([
  ['as asked', request(), HEARD, undefined],
  ['by a rule that a claim satisfies', ruled('claimed'), HEARD, undefined],
  ['by a rule for people who are signed in', ruled('signed_in'), HEARD, /wants decisions signed in/],
  ['by the same, with a key that says so', ruled('signed_in'), SIGNED, undefined],
  ['by a rule for own keys', ruled('signed'), SIGNED, /wants decisions signed, /],
  ['by a rule for SSH keys', ruled('signed_ssh'), SIGNED, /wants decisions signed ssh/],
  ['where nobody listens', request(), { isHeard: false, isSigned: false }, /in the web inbox/],
  ['with a plan', proposal(), HEARD, /changes a file/],
  ['turned around', request({ arguments: { to: 'a\u202eb' } }), HEARD, /deceives the eye/],
  ['with look-alikes', request({ arguments: { to: 'p\u0430ypal' } }), HEARD, /deceives the eye/],
  ['with a deceiving name', request({ arguments: { 't\u200bo': 1 } }), HEARD, /deceives the eye/],
  ['with what Slack shows as another sign', request({ arguments: { to: '&lt;a' } }), HEARD, /deceives/],
  ['with a deceiving preview', request({ preview: { text: 'pay \u202e' } }), HEARD, /deceives the eye/],
  ['too long', request({ arguments: { to: 'x'.repeat(2000) } }), HEARD, /too long/],
  ['too many lines', request({ arguments: { all: Array.from({ length: 40 }, () => 1) } }), HEARD, /too long/],
  ['with a long preview', request({ preview: { text: 'x\n'.repeat(40) } }), HEARD, /too long/],
])('has buttons or only a link: a request %s', (_name, opened, rules, why) => {
  const said = whyOnlyLink(notice('a'), opened, rules);
  if (why === undefined) expect(said).toBeUndefined();
  else expect(said).toMatch(why);
  const message = made(opened, rules);
  expect(message.hasButtons).toBe(why === undefined);
  expect(labelsOf(message)).toEqual(why === undefined ? ['Approve', 'Deny', 'Open'] : ['Open']);
});

it.each(['question.opened', 'call.in_doubt', 'deadline.near'] as const)('only links to a %s', (type) => {
  expect(labelsOf(made(request(), SIGNED, { ...notice('a'), type }))).toEqual(['Open']);
});

it('only links where the button would be too large for Slack', () => {
  const about = notice('a');
  const long = { ...about, data: { ...about.data, callId: 'x'.repeat(2000) } };
  expect(made(request(), HEARD, long).hasButtons).toBe(false);
});

const HOSTILE = [
  ...['<!channel> <@U1> <https://evil.example|bank.example>', '*bold* `code` ~gone~ :tada:'],
  ...['</arguments>\n> quote', '```\nout of the block', '\u202edrow', 'a\u0000b\u001b[2J', '&lt;!here&gt;'],
];
it.each(HOSTILE)('formats no text of others: %j', (text) => {
  const about = notice('a');
  const evil = { ...about, data: { ...about.data, tool: text, agent: text, prompt: text, summary: text } };
  const one = call({ request: request({ arguments: { [text]: text }, note: text, policyReason: text }) });
  const view = turn([one], { origin: { requester: text } });
  const { blocks, text: beside } = messageOf(evil, { ...place, view, call: one }, HEARD);
  const said = blocksSchema.parse(blocks);
  // Only letters, in places that Slack does not read: the server's schema allows nothing else.
  expect(JSON.stringify(said)).not.toMatch(/mrkdwn|"type":"(link|user|broadcast|emoji)"|"emoji":true/);
  expect(shownIn({ blocks: said })).not.toMatch(/[\u0000\u001b\u202e]/);
  expect(beside).not.toMatch(/[<>\n]/);
});

it('stays within the limits of Slack, whatever the text', () => {
  const long = 'x y '.repeat(5000);
  const about = notice('a');
  const data = { ...about.data, tool: long, agent: long, prompt: long, summary: long };
  const opened = request({ arguments: { a: long }, note: long });
  expect(made(opened, HEARD, { ...about, data }).blocks.length).toBeLessThan(10);
  blocksSchema.parse(whisperOf(long).blocks);
  blocksSchema.parse(overMessage({ notice: { ...about, data }, over: long }, place.page).blocks);
  expect(reasonView('k', { ...about, data }).title.text.length).toBeLessThanOrEqual(24);
});

it('says that a test is one', () => {
  const message = made(undefined, SIGNED, testNotice(NOW));
  expect([labelsOf(message), shownIn(message)]).toEqual([['Open'], expect.stringContaining('a test')]);
});

describe('what became of a call', () => {
  const about = { notice: notice('a'), asked: AT };
  const later = '2026-11-21T12:05:00.000Z';
  const decided = (approver: string, decision: 'approved' | 'denied') =>
    ({
      ...{ type: 'decision', eventId: 11, at: later, callId: '1.1', approver, channel: 'cli', decision },
      ...{ decisionId: 'd', judgement: { accepted: true, at: later } },
    }) as never;

  it.each([
    ['waits', call(), undefined],
    ['waits as a question', question(), undefined],
    ['is approved', call({ phase: 'running', decisions: [decided('ann', 'approved')] }), 'approved by ann'],
    ['is denied', call({ phase: 'denied', decisions: [decided('ann', 'denied')] }), 'denied by ann'],
    ['expired', call({ phase: 'expired' }), 'expired'],
    [
      'expired with a vote',
      call({ phase: 'expired', decisions: [decided('ann', 'approved')] }),
      'expired; approved by ann',
    ],
    ['closed with its turn', call({ phase: 'closed' }), 'closed with its turn'],
    ['is asked about again', call({ request: request({ at: later }) }), /asked about again/],
  ] as const)('%s', (_name, one, expected) => {
    const said = outcomeOf(turn([one]), about);
    if (expected instanceof RegExp) expect(said).toMatch(expected);
    else expect(said).toBe(expected);
  });

  it('is gone with the turn', () => {
    expect(outcomeOf(turn([]), about)).toMatch(/does not have this call/);
    expect(askedAt(call({ phase: 'done' }))).toBeUndefined();
  });

  it('is shown without buttons, and its names are not formatted', () => {
    const message = overMessage({ notice: notice('a'), over: 'denied by <!channel>' }, place.page);
    const blocks = blocksSchema.parse(message.blocks);
    expect(labelsOf({ blocks })).toEqual(['Open']);
    expect(shownIn({ blocks })).toContain('now: denied by <!channel>');
    expect(message.text).not.toContain('<');
  });
});
