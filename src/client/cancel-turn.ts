import { randomUUID } from 'node:crypto';
import type { Abandonment } from '../contract/decision';
import { SIGNALS } from '../contract/names';
import { STATUS, statusOf, toCountersignError, turnNotFound } from '../history/server-errors';
import type { Desk } from './desk';
import { isTurn } from './find-turn';

/** Asks a turn to end. One that has ended already stays as it is. */
export async function cancelTurn(desk: Desk, turn: string, reason = ''): Promise<void> {
  const { client, connection, namespace } = desk;
  const request = {
    namespace,
    workflowExecution: { workflowId: turn },
    identity: client.options.identity,
    requestId: randomUUID(),
    reason,
  };
  await unlessEnded(desk, turn, async () => {
    await connection.workflowService.requestCancelWorkflowExecution(request);
  });
}

/** Cancels a turn and lets it end with its calls in doubt unresolved. */
export async function abandonTurn(desk: Desk, turn: string, abandonment: Abandonment): Promise<void> {
  const handle = desk.client.workflow.getHandle(turn);
  await unlessEnded(desk, turn, () => handle.signal(SIGNALS.abandon, abandonment));
  await cancelTurn(desk, turn, abandonment.reason);
}

async function unlessEnded(desk: Desk, turn: string, act: () => Promise<void>): Promise<void> {
  try {
    await desk.connection.withDeadline(Date.now() + 10_000, act);
  } catch (error) {
    if (!isNotFound(error)) throw toCountersignError(error, `cancelling turn ${turn}`);
    if (!(await isTurn(desk, turn))) throw turnNotFound(turn);
  }
}

/** The server's answer both where there is no such workflow and where it is closed. */
export function isNotFound(error: unknown): boolean {
  return (
    statusOf(error) === STATUS.notFound || (error instanceof Error && error.name === 'WorkflowNotFoundError')
  );
}
