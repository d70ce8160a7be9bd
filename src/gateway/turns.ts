import { CancelledFailure, TerminatedFailure, WorkflowFailedError } from '@temporalio/client';
import type { Countersign } from '../client';
import { CountersignError, errorMessage } from '../contract/errors';
import { isObject } from '../contract/json';
import { ACTIVITIES, MEMO } from '../contract/names';
import { argumentsSummary } from '../contract/text/call-summary';
import type { CallMemo, TurnResult } from '../contract/turn';
import { is } from '../history/fold/guards';
import { isNotFound, isTransient, unlessNotFound } from '../history/server-errors';
import type { TaskState } from './answers';
import type { CallEnd, TakenCall } from './backend';
import { callName, type ClientCall, placeOfCall, readCallName } from './call-id';

/** The time in which a worker that starts makes a new namespace ready, in milliseconds. */
const READY_MS = 20_000;

/** The codes of errors after which a call may be on record already. */
const PERHAPS_THERE: readonly unknown[] = ['exists', 'server_failed'];

/** Starts the turn of a call, as `Backend` has it. */
export async function takeCall(
  client: Countersign,
  asked: ClientCall,
  at: { agent: string; taskQueue: string },
): Promise<TakenCall> {
  const place = placeOfCall(asked, at);
  const { turn: id, call, isNamed } = place;
  const prompt = `${asked.tool} ${argumentsSummary(asked.arguments)}`.trim();
  const request = { id, ...at, prompt, requester: asked.who, call, joins: !isNamed, readyMs: READY_MS };
  try {
    const { runId } = await client.startCall(request);
    return { id: callName(place, runId), isNamed };
  } catch (error) {
    if (!isNamed || !(error instanceof CountersignError) || !PERHAPS_THERE.includes(error.code)) throw error;
    const known = await describe(client, id).catch(() => undefined);
    if (known === undefined) throw error;
    if (known.memo.digest !== place.memo.digest)
      throw new CountersignError(
        'exists',
        'this id was given for another tool or other arguments; nothing ran',
        'give each call an id of its own',
      );
  }
  return { id, isNamed };
}

/** What the server says of a call, in the run of its name or one that a reset made of that. Undefined: there is no such call. */
async function describe(client: Countersign, name: string) {
  const { turn, run } = readCallName(name);
  if (turn === undefined) return undefined;
  const look = (runId?: string) => unlessNotFound(client.client.workflow.getHandle(turn, runId).describe());
  const last = await look();
  const isLast = [undefined, last?.runId, last?.raw.workflowExecutionInfo?.firstRunId].includes(run);
  const found = isLast ? last : await look(run);
  const memo = found?.memo?.[MEMO.call];
  if (found === undefined || !isCallMemo(memo)) return undefined;
  const open = found.memo?.[MEMO.open];
  return { found, memo, open: is.openMemo(open) && open.count > 0 ? open : undefined };
}

function isCallMemo(value: unknown): value is CallMemo {
  return isObject(value) && typeof value['by'] === 'string' && typeof value['digest'] === 'string';
}

const STATUSES: Readonly<Record<string, TaskState['status']>> = {
  RUNNING: 'working',
  CONTINUED_AS_NEW: 'working',
  COMPLETED: 'completed',
  CANCELLED: 'cancelled',
};

/** The state of a call, as `Backend` has it. */
export async function stateOfCall(
  client: Countersign,
  id: string,
  who: string,
): Promise<TaskState | undefined> {
  const known = await describe(client, id);
  // Another person's call looks like one that does not exist.
  if (known === undefined || known.memo.by !== who) return undefined;
  const { found, open } = known;
  const createdAt = found.startTime.toISOString();
  return {
    id,
    status: STATUSES[found.status.name] ?? 'failed',
    createdAt,
    lastUpdatedAt: found.closeTime?.toISOString() ?? createdAt,
    runs: (found.raw.pendingActivities ?? []).some(
      ({ activityType }) =>
        activityType?.name != null && !Object.values<string>(ACTIVITIES).includes(activityType.name),
    ),
    open,
  };
}

/** Whether waiting goes on after this error of `endOfCall`, or of the connection. */
export function isPassing(error: unknown): boolean {
  return error instanceof CountersignError || isTransient(error);
}

const GONE: CallEnd = { kind: 'failed', message: 'the record of this call is gone' };

/** Waits for the end of a call, as long as this connection lasts. */
export async function endOfCall(client: Countersign, id: string): Promise<CallEnd> {
  try {
    const { found } = (await describe(client, id)) ?? {};
    if (found === undefined) return GONE;
    const { workflowId, runId } = found;
    const ended: Partial<TurnResult> = await client.client.workflow.getHandle(workflowId, runId).result();
    const { result } = ended;
    if (is.turnResult(ended) && result !== undefined) return { kind: 'result', result };
    return { kind: 'failed', message: 'the record of this call cannot be read' };
  } catch (error) {
    if (isNotFound(error)) return GONE;
    if (!(error instanceof WorkflowFailedError)) throw error;
    if (error.cause instanceof CancelledFailure)
      return { kind: 'cancelled', message: 'The call was cancelled. See its record for what had run.' };
    const ended = error.cause instanceof TerminatedFailure ? 'was ended by an operator' : 'failed';
    return { kind: 'failed', message: `the turn of this call ${ended}: ${errorMessage(error.cause)}` };
  }
}

/** Cancels the turn of a call, as `Backend` has it. A later call's turn stays. */
export async function cancelCall(client: Countersign, id: string, reason: string): Promise<void> {
  const { found } = (await describe(client, id)) ?? {};
  if (found?.status.name === 'RUNNING') await client.cancel(found.workflowId, reason);
}
