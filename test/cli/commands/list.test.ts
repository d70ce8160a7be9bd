import type { TurnSummary } from '../../../src/client/types';
import { listLines } from '../../../src/cli/commands/list';
import { NOW, testScreen } from '../support';

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
