import { setTimeout as delay } from 'node:timers/promises';
import type { HistoryServer } from './read-run';
import { isTransient, STATUS, statusOf, toCountersignError, turnNotFound } from './server-errors';

/** How long one question to the server may take, in milliseconds. */
const ASK_MS = 10_000;

/** The run that is current, or was last. */
export async function currentRun(server: HistoryServer, turn: string): Promise<{ runId: string }> {
  const { connection, namespace } = server;
  const answer = await ask(server, turn, () =>
    connection.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: turn } }),
  );
  return { runId: answer.workflowExecutionInfo?.execution?.runId ?? '' };
}

/**
 * The runs of a turn, first one first: each run names the one it continues. A run that was reset is not among them,
 * because the run that replaced it repeats what still counts; nor is one that the server has deleted.
 */
export async function readChain(server: HistoryServer, turn: string): Promise<string[]> {
  const { runId } = await currentRun(server, turn);
  const runs = [runId];
  for (let before = await runBefore(server, turn, runId); before !== undefined;) {
    runs.unshift(before);
    before = await runBefore(server, turn, before);
  }
  return runs;
}

/** The run that a run continues; undefined for the first one, and where the one before is gone. */
async function runBefore(server: HistoryServer, turn: string, runId: string): Promise<string | undefined> {
  const started = await firstEvent(server, turn, runId);
  const before = started?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  if (!before) return undefined;
  const found = await firstEvent(server, turn, before).catch((error: unknown) => {
    if (statusOf(error) === STATUS.notFound || isGone(error)) return undefined;
    throw error;
  });
  return found === undefined ? undefined : before;
}

function isGone(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'turn_not_found';
}

async function firstEvent(server: HistoryServer, turn: string, runId: string) {
  const { connection, namespace } = server;
  const execution = { workflowId: turn, runId };
  const answer = await ask(server, turn, () =>
    connection.workflowService.getWorkflowExecutionHistory({ namespace, execution, maximumPageSize: 1 }),
  );
  return answer.history?.events?.[0];
}

/** Asks the server one thing; tries again for a while where that may help. */
async function ask<T>(server: HistoryServer, turn: string, question: () => Promise<T>): Promise<T> {
  const until = Date.now() + ASK_MS;
  for (;;) {
    try {
      return await server.connection.withDeadline(until, question);
    } catch (error) {
      if (statusOf(error) === STATUS.notFound) throw turnNotFound(turn);
      if (!isTransient(error) || Date.now() >= until) throw toCountersignError(error, `reading turn ${turn}`);
      await delay(200);
    }
  }
}
