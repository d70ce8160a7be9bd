import { randomUUID } from 'node:crypto';
import { temporal } from '@temporalio/proto';
import { CountersignError } from '../contract/errors';
import { toNumber } from '../history/decode/time';
import { readHistories } from '../history/read-histories';
import { decodeRuns } from '../history/read-record';
import { planReset, type ResetPlan } from '../history/reset';
import { turnNotFound } from '../history/server-errors';
import { ask, type Desk } from './desk';
import { describeTurn } from './find-turn';
import type { ResetReason, StartedTurn } from './types';

const { ResetWorkflowExecutionRequest } = temporal.api.workflowservice.v1;
const { ResetReapplyExcludeType } = temporal.api.enums.v1;

/** Reads the record and plans; nothing is changed. */
export async function planTurnReset(desk: Desk, turn: string, before: string): Promise<ResetPlan> {
  return planReset(await decodeRuns(desk.source, await readHistories(desk.source, turn)), before);
}

/** Does what was planned, if the turn is still as it was then. */
export async function resetTurn(desk: Desk, plan: ResetPlan, reason: ResetReason): Promise<StartedTurn> {
  await assertUnchanged(desk, plan);
  const { turn, runId, taskEventId } = plan;
  // Made from a plain object, because the id is a 64-bit integer there.
  const request = ResetWorkflowExecutionRequest.fromObject({
    namespace: desk.namespace,
    workflowExecution: { workflowId: turn, runId },
    workflowTaskFinishEventId: taskEventId,
    requestId: randomUUID(),
    reason: reasonText(plan, reason),
    resetReapplyExcludeTypes: NOTHING_AGAIN,
  });
  const answer = await ask(desk, `resetting turn ${turn}`, () =>
    desk.connection.workflowService.resetWorkflowExecution(request),
  );
  return { turn, runId: answer.runId ?? '' };
}

/** A decision that is spent stays spent, and a cancellation that is taken back stays so. */
const NOTHING_AGAIN = [
  ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL,
  ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE,
  ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_NEXUS,
  ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_CANCEL_REQUEST,
];

function reasonText({ before }: ResetPlan, { reason, approver = 'somebody' }: ResetReason): string {
  return `${approver} went back to before ${before}${reason === undefined || reason === '' ? '' : `: ${reason}`}`;
}

/** A person agreed to what was shown, not to what happened since. */
async function assertUnchanged(desk: Desk, { turn, runId, lastEventId }: ResetPlan): Promise<void> {
  const info = (await describeTurn(desk, turn))?.workflowExecutionInfo;
  if (info === undefined || info === null) throw turnNotFound(turn);
  if (info.execution?.runId === runId && toNumber(info.historyLength) === lastEventId) return;
  throw new CountersignError('reset_refused', `${turn} has changed since the reset was planned`, {
    hint: 'Look again at what it would do.',
  });
}
