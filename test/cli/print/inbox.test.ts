import type { InboxItem } from '../../../src/client/types';
import { changeLine, inboxLines, withoutId } from '../../../src/cli/print/inbox';
import { widthOf } from '../../../src/contract/text/columns';
import { AT, inboxItem, NOW, testScreen } from '../support';

const item = (extra: Partial<InboxItem> = {}): InboxItem =>
  inboxItem({ since: '2026-11-21T11:58:00.000Z', ...extra });

const print = (items: InboxItem[], width = 120) =>
  inboxLines(items, { screen: testScreen(width), command: (args) => `cs ${args}` }, NOW);

it('says when it is empty', () => {
  expect(print([])).toEqual(['Nothing waits for a person.']);
});

it('lists what waits', () => {
  expect(print([item(), item({ callId: '1.2', kind: 'in_doubt', summary: '1.2 mail' })])).toEqual([
    'CALL     WHAT      AGENT  WAITS  EXPIRES  CALLS FOR',
    't-1/1.1  request   clerk  2 min  never    pay amount=10',
    't-1/1.2  in doubt  clerk  2 min  never    mail',
  ]);
});

it('names the model where people should know something about its reply', () => {
  const by = { model: 'local', notes: ['fallback', 'cut'] } as const;
  expect(withoutId(item({ by: { ...by, notes: [...by.notes] } }))).toBe(
    'pay amount=10 [by local (a fallback; its server seems to have read only a part of the conversation)]',
  );
});

it.each([40, 60, 80])('fits %d columns', (width) => {
  for (const line of print([item({ summary: `1.1 pay ${'x'.repeat(200)}` })], width))
    expect(widthOf(line)).toBeLessThanOrEqual(width);
});

it('stays a list with short ids on 40 columns', () => {
  const items = [item({ turn: 'turn-mi9q2k3ztabcd', summary: '1.1 refund 15.00 EUR to ann' })];
  const ids = new Map([['turn-mi9q2k3ztabcd', 'turn-mi9q2k']]);
  const screen = { screen: testScreen(40), command: (args: string) => `cs ${args}` };
  expect(inboxLines(items, screen, NOW, ids)).toEqual([
    'CALL             CALLS FOR',
    'turn-mi9q2k/1.1  refund 15.00 EUR to ann',
  ]);
});

it('says at 40 columns that a call is in doubt, before what it is', () => {
  const screen = { screen: testScreen(40), command: (args: string) => `cs ${args}` };
  const [, doubt, other] = inboxLines([item({ kind: 'in_doubt' }), item()], screen, NOW);
  expect(doubt).toMatch(/^t-1\/1\.1 +(in doubt +|)in doubt: pay/);
  expect(other).not.toContain('in doubt');
});

it('says what to type next on a terminal, with the turn as a shell wants it', () => {
  const screen = { ...testScreen(120), isTerminal: true };
  const lines = inboxLines([item({ turn: 'a turn' })], { screen, command: (args) => `cs ${args}` }, NOW);
  expect(lines.slice(-2)).toEqual(['', "Look at one: cs show 'a turn/1.1'"]);
});

it.each([
  ['a request that came', 'new', {}, '12:00:00  new   t-1/1.1  request  pay amount=10'],
  [
    'a call in doubt that is settled',
    'gone',
    { kind: 'in_doubt' },
    '12:00:00  gone  t-1/1.1  in doubt  pay amount=10',
  ],
  [
    'a summary with a control character',
    'new',
    { summary: 'x\x07' },
    '12:00:00  new   t-1/1.1  request  pay x\\x07',
  ],
] as const)('a change is one line: %s', (_case, change, extra, line) => {
  const at = changeLine({ change, item: item(extra) }, AT, testScreen());
  expect(at.replace(/^\d\d:\d\d:\d\d/, '12:00:00')).toBe(line);
});

it.each([
  ['its id at the start is left out', { summary: '1.1 pay amount=10' }, 'pay amount=10'],
  ['the id of another call is kept', { summary: '1.10 pay' }, 'pay 1.10 pay'],
  ['a summary of its own follows the tool', { summary: 'ten to ann' }, 'pay ten to ann'],
])('what an item calls for: %s', (_case, extra, text) => {
  expect(withoutId(item(extra))).toBe(text);
});
