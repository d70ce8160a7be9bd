import { readTurns, unlessGone } from '../../src/client/read-turns';
import { CountersignError } from '../../src/contract/errors';
import type { TurnEvent } from '../../src/history/events';
import type { TurnSummary } from '../../src/client';
import { AT } from '../cli/support';

const summary = (turn: string): TurnSummary => ({
  turn,
  runId: 'r',
  agent: 'a',
  state: 'answered',
  pending: 0,
  prompt: '',
  startedAt: AT,
  endedAt: AT,
});
const ended = (turn: string): TurnEvent[] => [
  { type: 'cancel_requested', eventId: 1, at: AT, identity: turn },
];
const gone = new CountersignError('turn_not_found', 'gone');

it('reads turns in order and leaves out those that are gone', async () => {
  const timeline = async (turn: string) => {
    if (turn === 'b') throw gone;
    return ended(turn);
  };
  const found: TurnEvent[][] = [];
  for await (const events of readTurns({ timeline }, ['a', 'b', 'c'].map(summary))) found.push(events);
  expect(found).toEqual([ended('a'), ended('c')]);
});

it('passes on every other failure', async () => {
  await expect(unlessGone(Promise.reject(gone))).resolves.toBeUndefined();
  await expect(unlessGone(Promise.reject(new CountersignError('key_missing', 'no')))).rejects.toMatchObject({
    code: 'key_missing',
  });
});
