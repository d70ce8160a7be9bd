import { slackMessage, overMessage, reasonView, whisperOf } from '../../src/notify/slack-text';
import { WORDS_COUNT } from '../../src/contract/question';
import { testNotice } from '../../src/notify/notices';
import type { RequestOpened } from '../../src/history/events';
import { call, NOW, proposal, request, turn } from '../cli/support';
import { blocksSchema, labelsOf, shownIn } from './slack-server';
import { notice, ruled } from './support';

const HEARD = { isHeard: true, isSigned: false };
const SIGNED = { isHeard: true, isSigned: true };
const place = { page: 'https://inbox.example.org', target: 'C1' };

/** As the server takes it. */
const made = (opened: RequestOpened | undefined, rules = HEARD, about = notice('a')) => {
  const one = opened === undefined ? undefined : call({ request: opened });
  const given = one === undefined ? place : { ...place, view: turn([one]), call: one };
  const message = slackMessage(about, given, rules);
  return { ...message, blocks: blocksSchema.parse(message.blocks) };
};
it('says who asks, what for, and the arguments, with buttons that carry call and digest', () => {
  const message = made(ruled('claimed'));
  expect(message.hasButtons).toBe(true);
  expect(labelsOf(message)).toEqual(['Approve', 'Deny', 'Open']);
  const shown = shownIn(message);
  expect(shown).toMatch(/^Approve\? a · pay \(clerk\)\n/);
  expect(shown).toContain('for: bob');
  expect(shown).toContain('"amount": 10,\n  "to": "ann"');
  expect(shown).toContain("decides: rule 'all': 1 approval");
  const [approve] = message.blocks.flatMap((one) => (one.type === 'actions' ? one.elements : []));
  expect(JSON.parse(approve?.value ?? '')).toEqual({
    ...{ callId: '1.1', digest: request().seenDigest, key: expect.stringMatching(/^[0-9a-f]{32}$/) },
  });
});

it.each<[string, RequestOpened | undefined, typeof HEARD, boolean]>([
  ['as asked', request(), HEARD, true],
  ['with a plan', proposal(), HEARD, false],
  ['with what Slack shows as another sign', request({ arguments: { to: '&lt;a' } }), HEARD, false],
  ['of 30 lines', request({ arguments: { all: Array.from({ length: 26 }, () => 1) } }), HEARD, true],
  ['of more', request({ arguments: { all: Array.from({ length: 27 }, () => 1) } }), HEARD, false],
])('has buttons or only a link: a request %s', (_name, opened, rules, isButton) => {
  const message = made(opened, rules);
  expect(message.hasButtons).toBe(isButton);
  expect(labelsOf(message)).toEqual(isButton ? ['Approve', 'Deny', 'Open'] : ['Open']);
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
  const { blocks, text: beside } = slackMessage(evil, { ...place, view, call: one }, HEARD);
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

it('shows what happens before its arguments, and the ids last', () => {
  const about = notice('a');
  const data = { ...about.data, deadline: '2026-12-05T11:51:00.000Z' };
  const opened = request({ preview: { text: '10 EUR to ann' } });
  const shown = shownIn(made(opened, HEARD, { ...about, data }));
  expect(shown).toMatch(
    /^Approve\?.*\n10 EUR to ann\n\narguments:\n\{[^]*\nexpires: 2026-12-05 11:51 UTC\ncall: t-1\/1\.1$/,
  );
});

it('says before a reason is written that its words count', () => {
  expect(JSON.stringify(reasonView('k', notice('a')).blocks)).toContain(WORDS_COUNT);
});

it('says that a test is one', () => {
  const message = made(undefined, SIGNED, testNotice(NOW));
  expect([labelsOf(message), shownIn(message)]).toEqual([['Open'], expect.stringContaining('a test')]);
});

it('shows a call that is over without buttons, and formats no names', () => {
  const message = overMessage({ notice: notice('a'), over: 'denied by <!channel>' }, place.page);
  const blocks = blocksSchema.parse(message.blocks);
  expect(labelsOf({ blocks })).toEqual(['Open']);
  expect(shownIn({ blocks })).toContain('now: denied by <!channel>');
  expect(message.text).not.toContain('<');
});
