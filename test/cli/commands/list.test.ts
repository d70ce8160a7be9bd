import type { TurnSummary } from '../../../src/client/types';
import { addList, listLines } from '../../../src/cli/commands/list';
import { runCommand } from '../command';
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

it('says that no worker takes the work of a turn that the server calls running', async () => {
  const list = [summary({ state: 'running' }), summary({ turn: 't-2' })];
  const pendingActivities = { activities: [], idleQueues: ['q'] };
  const { printed, asked } = await runCommand(
    addList,
    { list, pendingActivities, shortIds: new Map() },
    'list',
    '--since',
    '2026-11-20',
  );
  expect(printed[1]).toMatch(/^t-1 +no worker \(2\)/);
  expect(printed.at(-1)).toMatch(/^no worker takes work from the queue q: start one/);
  expect(asked).toEqual([
    ['list', { since: '2026-11-20T00:00:00.000Z' }],
    ['shortIds', ['t-1', 't-2']],
    ['pendingActivities', 't-1'],
  ]);
});
