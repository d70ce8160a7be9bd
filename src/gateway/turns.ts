import {
  CancelledFailure,
  TerminatedFailure,
  WorkflowExecutionAlreadyStartedError,
  WorkflowFailedError,
} from '@temporalio/client';
import type { Countersign } from '../client';
import { CountersignError, errorMessage } from '../contract/errors';
import { isObject } from '../contract/json';
import { ACTIVITIES, MEMO, WORKFLOWS } from '../contract/names';
import { argumentsSummary } from '../contract/text/call-summary';
import { type CallMemo, type OpenMemo, startOf, type TurnInput, type TurnResult } from '../contract/turn';
import { is } from '../history/fold/guards';
import {
  isAnswerLost,
  isNotFound,
  isNotReady,
  isTransient,
  retry,
  toCountersignError,
  unlessNotFound,
} from '../history/server-errors';
import type { TaskState } from './answers';
import type { CallEnd } from './backend';
import { type CallPlace, type ClientCall, placeOfCall } from './call-id';

/** The time in which a worker that starts makes a new namespace ready, in milliseconds. */
const READY_MS = 20_000;

/** Starts the turn of a call, as `Backend` has it. */
export async function startCall(
  client: Countersign,
  asked: ClientCall,
  { agent, taskQueue }: { agent: string; taskQueue: string },
): Promise<CallPlace> {
  const place = placeOfCall(asked, { agent, taskQueue });
  const { turn, call, isNamed } = place;
  const prompt = `${asked.tool} ${argumentsSummary(asked.arguments)}`.trim();
  const input: TurnInput = { agent, prompt, origin: { requester: asked.who }, call };
  const start = () =>
    client.client.workflow.start(WORKFLOWS.turn, {
      args: [input],
      workflowId: turn,
      taskQueue,
      ...startOf(input, prompt),
      workflowIdReusePolicy: isNamed ? 'REJECT_DUPLICATE' : 'ALLOW_DUPLICATE',
      workflowIdConflictPolicy: isNamed ? 'FAIL' : 'USE_EXISTING',
    });
  try {
    // A call without a name may have ended already, and a second start would run it again.
    const passes = (error: unknown) => isNotReady(error) || (isNamed && isTransient(error));
    await retry({ passes, forMs: READY_MS }, start);
  } catch (error) {
    if (isAnswerLost(error)) throw maybeStarted(turn, error);
    if (!(error instanceof WorkflowExecutionAlreadyStartedError))
      throw toCountersignError(error, 'recording the call');
    const { memo } = (await describe(client, turn)) ?? {};
    if (memo?.digest !== place.memo.digest) throw otherCall();
  }
  return place;
}

function maybeStarted(turn: string, cause: unknown): CountersignError {
  const message = 'the server did not say whether the call was recorded; it may run';
  return new CountersignError('server_failed', message, { hint: `countersign show ${turn} tells`, cause });
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
  return { found, memo, open: is.openMemo(open) ? open : undefined };
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
  const { found, memo, open } = known;
  const createdAt = found.startTime.toISOString();
  return {
    turn,
    by: memo.by,
    status: STATUSES[found.status.name] ?? 'failed',
    createdAt,
    lastUpdatedAt: found.closeTime?.toISOString() ?? createdAt,
    runs: (found.raw.pendingActivities ?? []).some(({ activityType }) => isTool(activityType?.name)),
    open: openIn(open),
  };
}

function isTool(activity: string | null | undefined): boolean {
  return activity != null && !Object.values<string>(ACTIVITIES).includes(activity);
}

function openIn(open: OpenMemo | undefined): OpenMemo | undefined {
  return open !== undefined && open.count > 0 ? open : undefined;
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
