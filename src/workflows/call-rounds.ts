import {
  ActivityCancellationType,
  type ActivityOptions,
  ApplicationFailure,
  CancelledFailure,
  isCancellation,
  scheduleActivity,
  sleep,
  TimeoutFailure,
} from '@temporalio/workflow';
import type { CallInput, HeldInput, NotHere, Paused, ValidCall } from '../contract/call';
import { ENDINGS, nobodyHad } from '../contract/call-texts';
import { TIMES } from '../contract/limits';
import { errorMessage } from '../contract/errors';
import { type LostActivity, mostAttempts } from '../contract/lost-activity';
import { ACTIVITIES, activityIds } from '../contract/names';
import { failureOf } from '../lifecycle/results';
import type { Settlement } from '../lifecycle/outcomes';
import { type CallState, isCancelled, leaveOf } from '../lifecycle/state';
import { authorityOf } from '../lifecycle/votes';
import { act, type ApprovalContext, callIn } from './call-life';
import { resetRun } from './current-build';

/** What is known of one start of a call, while it is scheduled once or more. */
export interface Rounds {
  /** When its activity was last scheduled, as workflow time in ms. */
  scheduledAt: number;
  /**
   * Set while workers that lack its agent or tool give the call back: the time of the first (workflow time in ms), and
   * the number of times.
   */
  absent?: { since: number; rounds: number };
  /** The number of times that a pause has held the call. */
  pauses: number;
}

/** The workflow that makes calls. `agent`: the name by which rules and pauses know it. */
export type Caller = ApprovalContext & { readonly agent: string; readonly originalRunId: string };

/** What the worker of a call gets whatever workflow makes the call. */
export function commonInput(
  { agent, originalRunId }: Pick<Caller, 'agent' | 'originalRunId'>,
  state: CallState,
  { absent, pauses }: Pick<Rounds, 'absent' | 'pauses'>,
): Omit<CallInput, 'arguments' | 'timeoutMs'> {
  const { call, voided } = state;
  const leave = leaveOf(state);
  const rounds = (absent?.rounds ?? 0) + pauses + voided;
  return {
    callId: call.callId,
    id: call.id,
    tool: call.tool,
    agent,
    callKey: state.callKey,
    generation: state.generation,
    argsDigest: state.effectiveDigest,
    toolDigest: call.toolDigest,
    effect: call.settings.effect,
    originalRunId,
    round: rounds === 0 ? undefined : rounds,
    secret: state.phase === 'running' ? state.secret : undefined,
    decision: leave?.by === 'decision' ? leave.decision : undefined,
    authority: authorityOf(state),
    // The worker of an unsafe call looks for an earlier start itself.
    mayHaveRun: call.settings.effect === 'unsafe' ? undefined : state.mayHaveRun,
  };
}

/** What a call that is new in a run that a reset made says of itself. `isInherited`: a run before may know the call. */
export function freshIn(state: CallState, isInherited: boolean): Pick<CallInput, 'askedIn' | 'decidedIn'> {
  const run = resetRun();
  const leave = leaveOf(state);
  return {
    askedIn: isInherited ? undefined : run,
    decidedIn: leave?.by === 'decision' && leave.isOld === true ? undefined : run,
  };
}

/** The retry policy of a call. */
export function retryOf({ call: { settings } }: CallState): NonNullable<ActivityOptions['retry']> {
  const maximumAttempts = mostAttempts(settings);
  // The other settings have no effect on a call that is never retried.
  if (maximumAttempts === 1) return { maximumAttempts };
  const { initialIntervalMs: initialInterval, backoffCoefficient, maximumIntervalMs: most } = settings.retry;
  // The server refuses a longest wait that is shorter than the first one.
  const maximumInterval = most && Math.max(most, initialInterval);
  return { maximumAttempts, initialInterval, backoffCoefficient, maximumInterval };
}

/**
 * Waits until no pause holds a call that did not start, or the turn is cancelled. An activity waits and is retried,
 * because retries leave nothing in history and a pause may last for weeks.
 */
async function untilUnpaused({ agent }: Caller, { callId, tool, settings }: ValidCall, times: number) {
  const input: HeldInput = { agent, tool };
  try {
    await scheduleActivity(ACTIVITIES.held, [input], {
      activityId: activityIds.held(callId, times),
      startToCloseTimeout: TIMES.closeMargin,
      // The activity decides when it is retried.
      retry: {
        initialInterval: TIMES.pausedRetry,
        backoffCoefficient: 2,
        maximumInterval: TIMES.pausedRetryMost,
      },
      cancellationType: ActivityCancellationType.TRY_CANCEL,
      summary: `${callId} ${tool} is paused`,
      // The workers of the workflow's own queue may have no activities.
      taskQueue: settings.taskQueue,
    });
  } catch (error) {
    // An operator ended the activity, or the workers here have another version. In both cases the call is scheduled
    // after this wait, and checks for pauses itself.
    if (!isCancellation(error)) await sleep(TIMES.pausedRetry).catch(() => undefined);
  }
}

/** Why a call is given back, and how to wait for another worker than by time. */
interface GivenBack {
  rounds: Rounds;
  said: NotHere | Paused;
  until?: () => Promise<void>;
}

/**
 * Waits before a call that did not start is scheduled again, with the same key and decision. Returns a result instead if
 * the time to start is over or the call was cancelled.
 */
export async function waitGivenBack(
  context: Caller,
  callId: string,
  { rounds, said, until }: GivenBack,
): Promise<Settlement | undefined> {
  const isHeld = 'paused' in said;
  const mayHaveRun = 'mayHaveRun' in said ? said.mayHaveRun : undefined;
  act(context, { type: 'given_back', callId, isHeld, mayHaveRun });
  const state = callIn(context, callId);
  const isOver =
    'paused' in said
      ? await resumed(context, state, rounds)
      : await nextRound(state, { rounds, said, until });
  if (isHeld) act(context, { type: 'given_back', callId, isHeld: false });
  if (isOver !== undefined) return isOver;
  const now = callIn(context, callId);
  if (!isCancelled(context.approvals, now)) return undefined;
  return { cause: 'neverStarted', result: failureOf(now, ENDINGS.neverStarted, Date.now()) };
}

/** The time of a pause does not count for the time to start. */
async function resumed(context: Caller, { call }: CallState, rounds: Rounds): Promise<undefined> {
  const since = Date.now();
  rounds.pauses += 1;
  await untilUnpaused(context, call, rounds.pauses);
  if (rounds.absent !== undefined) rounds.absent.since += Date.now() - since;
}

async function nextRound(
  state: CallState,
  { rounds, said, until }: { rounds: Rounds; said: NotHere; until: GivenBack['until'] },
): Promise<Settlement | undefined> {
  const { call } = state;
  const absent = (rounds.absent ??= { since: rounds.scheduledAt, rounds: 0 });
  absent.rounds += 1;
  const waited = Date.now() - absent.since;
  const { startWithinMs } = call.settings;
  const left = startWithinMs - waited;
  if (left <= 0) return { cause: 'absent', result: failureOf(state, nobodyHad(said), Date.now()) };
  const summary = `${call.callId} waits for a worker that has it`;
  const pause = Math.min(left, pauseAfter(waited, absent.rounds, startWithinMs));
  try {
    await (until === undefined ? sleep(pause, { summary }) : until());
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
  return undefined;
}

/**
 * The longest and the first wait before a call is scheduled again. With two workers, the right worker gets the call
 * after a few tries. The waits grow, because each round adds about ten events, and a server ends a run with 51,200. A
 * call that may wait for days waits longer between its rounds, so that sixteen such calls have room in one run.
 */
const MOST_PAUSE_MS = 60_000;
const MOST_LONG_ROUNDS = 200;
const SOON_MS = 500;

export function pauseAfter(waitedMs: number, round: number, startWithinMs: number): number {
  const most = Math.max(MOST_PAUSE_MS, startWithinMs / MOST_LONG_ROUNDS);
  return Math.min(most, Math.max(Math.min(TIMES.agentRetry, SOON_MS * 2 ** round), waitedMs / 10));
}

/** The reason that the server gives when it cancels an activity that no worker has started. */
const NOT_STARTED = 'ACTIVITY_ID_NOT_STARTED';

/** How an activity ended without an outcome. */
export function lostActivity(cause: unknown, cancelled: boolean): LostActivity {
  return {
    cancelled,
    untaken: cause instanceof CancelledFailure && cause.details[0] === NOT_STARTED,
    timeout: cause instanceof TimeoutFailure ? cause.timeoutType : undefined,
    beaten: cause instanceof TimeoutFailure && cause.lastHeartbeatDetails !== undefined,
    type: cause instanceof ApplicationFailure ? (cause.type ?? undefined) : undefined,
    message: errorMessage(cause),
  };
}
