import { randomUUID } from 'node:crypto';
import { CountersignError } from '../contract/errors';
import { planFork, recordOf } from '../history/fork';
import { parseExport } from '../history/exported';
import { readHistories, type History } from '../history/read-histories';
import { decodeRuns } from '../history/read-record';
import type { Desk } from './desk';
import { startWorkflow } from './start-turn';
import { checkTurnId, drawTurnId } from './turn-id';
import type { ForkTurnRequest, StartedFork } from './types';

/** Forks a turn: plans it from the record, then starts it as a turn of its own. */
export async function forkTurn(desk: Desk, request: ForkTurnRequest): Promise<StartedFork> {
  const { id, taskQueue: queue } = request;
  const turn = id === undefined ? drawTurnId() : checkTurnId(id);
  const record = recordOf(await decodeRuns(desk.source, await historiesOf(desk, request)));
  const taskQueue = queue ?? record.taskQueue;
  const input = planFork(record, request, { now: Date.now(), replyId: randomUUID(), taskQueue });
  const started = await startWorkflow(desk, { turn, taskQueue, prompt: record.prompt, input });
  return { ...started, of: record.turn, events: record.events };
}

async function historiesOf({ source }: Desk, { turn, history }: ForkTurnRequest): Promise<History[]> {
  if (turn !== undefined && history === undefined) return readHistories(source, turn);
  if (turn === undefined && history !== undefined) return parseExport(history);
  throw new CountersignError('usage', 'a fork is of a turn or of an exported history, one of them');
}
