import { randomUUID } from 'node:crypto';
import { temporal } from '@temporalio/proto';
import type { Abandonment } from '../contract/decision';
import { whyMayNot } from '../authority/votes/voters';
import { SIGNALS } from '../contract/names';
import { ask, isNotFound, toCountersignError, turnNotFound } from '../history/server-errors';
import { isTurn } from './find-turn';
import { CountersignError } from '../contract/errors';
import { authorityOn } from '../history/labels';
import { decodeRuns, describeTurn, readHistories, readTimeline } from '../history/read';
import { readHistory } from '../history/read-run';
import { type CallView, viewOf } from '../history/view';
import { lastChange, planReset, type ResetPlan } from '../history/reset';
import type { ClientContext } from './context';
import type { ResetReason, StartedTurn } from './types';
import { SOMEBODY } from '../contract/authority';

/** Asks a turn to end. A turn that has ended stays as it is. */
export async function cancelTurn(context: ClientContext, turn: string, reason = ''): Promise<void> {
  const { client, connection, namespace } = context;
  const request = {
    namespace,
    workflowExecution: { workflowId: turn },
    identity: client.options.identity,
    requestId: randomUUID(),
    reason,
  };
  await unlessEnded(context, turn, async () => {
    await connection.workflowService.requestCancelWorkflowExecution(request);
  });
}

/**
 * Cancels a turn and lets it end with its calls in doubt unresolved.
 *
 * @throws CountersignError `not_allowed` if the rule of one of these calls does not name the person who gives up the
 * call. Nothing is sent in that case.
 */
export async function abandonTurn(
  context: ClientContext,
  turn: string,
  abandonment: Abandonment,
): Promise<void> {
  const { calls } = viewOf(await readTimeline(context.source, turn));
  for (const call of calls) requireNamed(turn, call, abandonment);
  const handle = context.client.workflow.getHandle(turn);
  await unlessEnded(context, turn, () => handle.signal(SIGNALS.abandon, abandonment));
  await cancelTurn(context, turn, abandonment.reason);
}

/**
 * Checks whether this person may give a call up. The turn checks it, too, but cannot answer a signal, so the error has
 * to come from here.
 */
function requireNamed(turn: string, call: CallView, { approver = SOMEBODY }: Abandonment) {
  const authority = authorityOn(call);
  if (call.phase !== 'in_doubt' || authority === undefined) return;
  const why = whyMayNot(authority, { approver, now: Date.now() });
  if (why === undefined) return;
  throw new CountersignError(
    'not_allowed',
    `${approver} may not give up ${turn}/${call.callId}: ${why}`,
    'one of those has to, or resolves the call',
  );
}

async function unlessEnded(context: ClientContext, turn: string, act: () => Promise<void>) {
  try {
    await context.connection.withDeadline(Date.now() + 10_000, act);
  } catch (error) {
    if (!isNotFound(error)) throw toCountersignError(error, `cancelling turn ${turn}`);
    if (!(await isTurn(context, turn))) throw turnNotFound(turn);
  }
}

const { ResetWorkflowExecutionRequest } = temporal.api.workflowservice.v1;
const { ResetReapplyExcludeType } = temporal.api.enums.v1;

/** Plans a reset from the record. Nothing is changed. */
export async function planTurnReset(
  context: ClientContext,
  turn: string,
  before: string,
): Promise<ResetPlan> {
  return planReset(await decodeRuns(context.source, await readHistories(context.source, turn)), before);
}

/** Resets a turn as planned, if the turn has not changed since the plan was made. */
export async function resetTurn(
  context: ClientContext,
  plan: ResetPlan,
  reason: ResetReason,
): Promise<StartedTurn> {
  await assertUnchanged(context, plan);
  const { turn, runId, taskEventId } = plan;
  // The request holds the id as a 64-bit integer, so the request is made from a plain object.
  const request = ResetWorkflowExecutionRequest.fromObject({
    namespace: context.namespace,
    workflowExecution: { workflowId: turn, runId },
    workflowTaskFinishEventId: taskEventId,
    requestId: randomUUID(),
    reason: reasonText(plan, reason),
    resetReapplyExcludeTypes: NOTHING_AGAIN,
  });
  const answer = await ask(context, `resetting turn ${turn}`, () =>
    context.connection.workflowService.resetWorkflowExecution(request),
  );
  return { turn, runId: answer.runId ?? '' };
}

/** The messages that the server must not apply again: decisions and cancellations from after the reset point. */
const NOTHING_AGAIN = [
  ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL,
  ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE,
  ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_NEXUS,
  ResetReapplyExcludeType.RESET_REAPPLY_EXCLUDE_TYPE_CANCEL_REQUEST,
];

function reasonText({ before }: ResetPlan, { reason, approver = SOMEBODY }: ResetReason) {
  return `${approver} went back to before ${before}${reason === undefined || reason === '' ? '' : `: ${reason}`}`;
}

/** Refuses a reset of a turn that has changed since the plan was made, because a person agreed only to the plan. */
async function assertUnchanged(context: ClientContext, { turn, runId, lastEventId }: ResetPlan) {
  const info = (await describeTurn(context, turn))?.workflowExecutionInfo;
  if (info === undefined || info === null) throw turnNotFound(turn);
  if (info.execution?.runId === runId) {
    const [run = []] = await decodeRuns(context.source, [await readHistory(context.source, { turn, runId })]);
    if (lastChange(run) === lastEventId) return;
  }
  throw new CountersignError(
    'refused',
    `${turn} has changed since the reset was planned`,
    'Look again at what it would do.',
  );
}
