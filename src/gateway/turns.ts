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
import type { CallEnd } from './backend';
import { type CallPlace, type ClientCall, placeOfCall } from './call-id';

/** The time in which a worker that starts makes a new namespace ready, in milliseconds. */
const READY_MS = 20_000;

/** The codes of errors after which a call may be on record already. */
const PERHAPS_THERE: readonly unknown[] = ['exists', 'server_failed'];

/** Starts the turn of a call, as `Backend` has it. */
export async function takeCall(
  client: Countersign,
  asked: ClientCall,
  at: { agent: string; taskQueue: string },
): Promise<CallPlace> {
  const place = placeOfCall(asked, at);
  const { turn: id, call, isNamed } = place;
  const prompt = `${asked.tool} ${argumentsSummary(asked.arguments)}`.trim();
  const request = { id, ...at, prompt, requester: asked.who, call, joins: !isNamed, readyMs: READY_MS };
  try {
    await client.startCall(request);
  } catch (error) {
    if (!isNamed || !(error instanceof CountersignError) || !PERHAPS_THERE.includes(error.code)) throw error;
    const known = await describe(client, id);
    if (known === undefined) throw error;
    if (known.memo.digest !== place.memo.digest) throw otherCall();
  }
  return place;
}

function otherCall(): CountersignError {
  return new CountersignError(
    'exists',
    'this id was given for another tool or other arguments; nothing ran',
    'give each call an id of its own',
  );
}

/** What the server says of a turn that was started with its call. Undefined if there is none. */
async function describe(client: Countersign, turn: string) {
  const found = await unlessNotFound(client.client.workflow.getHandle(turn).describe());
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
  turn: string,
  who: string,
): Promise<TaskState | undefined> {
  const known = await describe(client, turn);
  // Another person's call looks like one that does not exist.
  if (known === undefined || known.memo.by !== who) return undefined;
  const { found, open } = known;
  const createdAt = found.startTime.toISOString();
  return {
    turn,
    status: STATUSES[found.status.name] ?? 'failed',
    createdAt,
    lastUpdatedAt: found.closeTime?.toISOString() ?? createdAt,
    runs: (found.raw.pendingActivities ?? []).some(({ activityType }) => isTool(activityType?.name)),
    open,
  };
}

function isTool(activity: string | null | undefined): boolean {
  return activity != null && !Object.values<string>(ACTIVITIES).includes(activity);
}

/** Whether waiting goes on after this error of `endOfCall`, or of the connection. */
export function isPassing(error: unknown): boolean {
  return error instanceof CountersignError || isTransient(error);
}

/** Waits for the end of a call, as long as this connection lasts. */
export async function endOfCall(client: Countersign, turn: string): Promise<CallEnd> {
  try {
    const ended: Partial<TurnResult> = await client.client.workflow.getHandle(turn).result();
    const { result } = ended;
    if (is.turnResult(ended) && result !== undefined) return { kind: 'result', result };
    return { kind: 'failed', message: 'the record of this call cannot be read' };
  } catch (error) {
    if (isNotFound(error)) return { kind: 'failed', message: 'the record of this call is gone' };
    if (!(error instanceof WorkflowFailedError)) throw error;
    if (error.cause instanceof CancelledFailure)
      return { kind: 'cancelled', message: 'The call was cancelled. See its record for what had run.' };
    const ended = error.cause instanceof TerminatedFailure ? 'was ended by an operator' : 'failed';
    return { kind: 'failed', message: `the turn of this call ${ended}: ${errorMessage(error.cause)}` };
  }
}
