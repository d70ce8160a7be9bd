import type { DecidedCall } from '../../../src/client/decided';
import { addInbox, decidedLines } from '../../../src/cli/commands/inbox';
import { runCommand } from '../command';
import { AT, testScreen } from '../support';

const one: DecidedCall = {
  ...{
    turn: 't-1',
    agent: 'a',
    callId: '1.1',
    tool: 'pay',
    values: '{}',
    summary: 'pay amount=10\u001b[2J',
    approver: 'ann',
  },
  ...{ what: 'approved', at: AT, phase: 'done', outcome: 'conflict', message: 'the file changed' },
};

it('prints what was decided, when, and how it ended', () => {
  const text = decidedLines({ calls: [one], looked: 200, isCut: true }, 'ann', testScreen(160)).join('\n');
  expect(text).toMatch(
    /t-1\/1\.1 +approved +2026-\d\d-\d\d .* conflict +pay amount=10\\x1b\[2J \(the file changed\)/,
  );
  expect(text).toContain('In the newest 200 turns; --limit looks at more.');
  expect(decidedLines({ calls: [], looked: 3, isCut: false }, 'ann', testScreen())).toEqual([
    'ann decided nothing in all 3 turns.',
  ]);
});

it('says of a decision that it accepted no hunk', () => {
  const calls = [{ ...one, hunks: [] }];
  const text = decidedLines({ calls, looked: 1, isCut: false }, 'ann', testScreen(160)).join('\n');
  expect(text).toContain('approved, but none of its hunks');
});

it.each<[name: string, args: string[], message: string]>([
  ['--watch with --decided', ['--decided', '--watch'], '--watch and --decided exclude each other'],
  [
    'a time with --decided',
    ['--decided', '--older-than', '1h'],
    '--older-than and --decided exclude each other',
  ],
])('does not take %s', async (_name, args, message) => {
  await expect(runCommand(addInbox, {}, 'inbox', ...args)).rejects.toThrow(message);
});

it('looks for the decisions of another name', async () => {
  const words = ['--decided', '--as', 'bob', '--limit', '7'];
  const { printed, asked } = await runCommand(addInbox, { list: [] }, 'inbox', ...words);
  expect(printed).toEqual(['bob decided nothing in all 0 turns.']);
  expect(asked).toEqual([['list', { limit: 7 }]]);
});
