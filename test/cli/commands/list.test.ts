import type { TurnSummary } from '../../../src/client/types';
import type { DecidedCall } from '../../../src/client/decided';
import { addDecided, decidedLines, listLines, refusedLines } from '../../../src/cli/commands/list';
import type { LoggedRefusal } from '../../../src/server/refusal-log';
import { runCommand } from '../command';
import { AT, NOW, testScreen } from '../support';

const summary = (extra: Partial<TurnSummary> = {}): TurnSummary => ({
  turn: 't-1',
  runId: 'r',
  agent: 'clerk',
  state: 'waiting',
  pending: 2,
  prompt: 'pay\nann\x1b[2J',
  startedAt: '2026-11-21T11:00:00.000Z',
  endedAt: null,
  ...extra,
});

it('says when there are none', () => {
  expect(listLines([], testScreen(), NOW)).toEqual(['There are no turns.']);
});

it('lists them', () => {
  const lines = listLines(
    [summary(), summary({ turn: 't-2', state: 'timed_out', pending: 0 })],
    testScreen(),
    NOW,
  );
  expect(lines).toEqual([
    'TURN  STATE                   AGENT  STARTED     ASKED',
    't-1   waits for a person (2)  clerk  60 min ago  pay\\nann\\x1b[2J',
    't-2   timed out               clerk  60 min ago  pay\\nann\\x1b[2J',
  ]);
});

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
  expect(text).toContain('In the newest 200 turns; --turns looks at more.');
  expect(decidedLines({ calls: [], looked: 3, isCut: false }, 'ann', testScreen())).toEqual([
    'ann decided nothing in all 3 turns.',
  ]);
});

it('says of a decision that it accepted no hunk', () => {
  const calls = [{ ...one, hunks: [] }];
  const text = decidedLines({ calls, looked: 1, isCut: false }, 'ann', testScreen(160)).join('\n');
  expect(text).toContain('approved, but none of its hunks');
});

it('prints refused decisions with who, which call, when and why', () => {
  const standing = { decision: 'denied', approver: 'bob', at: AT };
  const refusal: LoggedRefusal = {
    ...{ at: AT, namespace: 'default', user: 'ann', turn: 't-1', callId: '1.1', what: 'decision' },
    ...{ code: 'already_decided', standing },
  };
  expect(refusedLines([refusal], testScreen(160)).join('\n')).toMatch(
    /t-1\/1\.1 +ann +2026-.* already_decided +denied by bob/,
  );
});

it('does not take a filter with --refused', async () => {
  const run = runCommand(addDecided, {}, 'decided', '--refused', '--tool', 'pay');
  await expect(run).rejects.toThrow('--tool and --refused exclude each other');
});

it('looks for the decisions of another name', async () => {
  const { printed, asked } = await runCommand(
    addDecided,
    { list: [] },
    'decided',
    '--as',
    'bob',
    '--turns',
    '7',
  );
  expect(printed).toEqual(['bob decided nothing in all 0 turns.']);
  expect(asked).toEqual([['list', { limit: 7 }]]);
});
