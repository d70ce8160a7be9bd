import { ENDINGS, MAY_HAVE_RUN } from './call-texts';
import type { CallSettings } from './call';
import { SECOND } from './limits';
import { FAILURES } from './names';
import type { ToolFailure } from './result';

/**
 * The time that a call waits for the worker that holds its state. After this time, the state counts as lost. A live
 * worker takes the call in milliseconds, but a worker that is busy for some seconds must not lose the state.
 */
const HOLDER_ANSWER = 15 * SECOND;

/** How an activity without an outcome ended, in Temporal's terms. */
export interface LostActivity {
  cancelled: boolean;
  /** Whether the activity was cancelled before a worker had it, so that the server ended it by itself. */
  untaken: boolean;
  /** The kind of timeout that ended the activity. */
  timeout?: string;
  /** Whether an attempt had sent heartbeats before the timeout. */
  beaten: boolean;
  /** Type of an application failure. */
  type?: string;
  /** The message that the activity failed with. */
  message: string;
}

/**
 * The time that a call may wait for a worker, in milliseconds. A call waits only for a short time for the worker that
 * holds its state.
 */
export function startWithin({ startWithinMs }: Pick<CallSettings, 'startWithinMs'>, isHeld: boolean): number {
  return isHeld ? Math.min(startWithinMs, HOLDER_ANSWER) : startWithinMs;
}

/** Why a call goes to a worker other than the worker that held its state. */
export const HOLDER_GONE = 'the worker that held the state of its tool did not take it';

/**
 * Whether a call on the queue of the worker that held its state goes to another worker. Undefined if it does not. An
 * unsafe call goes there only if it is proven that it never started. Any other call may have run.
 */
export function goesElsewhere(
  activity: LostActivity,
  { effect, times }: { effect: CallSettings['effect']; times: OpenTimes },
): { mayHaveRun: boolean } | undefined {
  if (activity.cancelled || activity.timeout !== 'SCHEDULE_TO_START') return undefined;
  if (effect !== 'unsafe') return { mayHaveRun: true };
  return unstarted(activity, times) === undefined ? undefined : { mayHaveRun: false };
}

/** The time that an activity was open, and its timeouts. All in milliseconds. */
interface OpenTimes {
  /**
   * The time from the workflow task that scheduled the activity to the workflow task that saw its end. The activity was
   * open for at most this time.
   */
  openMs: number;
  heartbeatMs: number;
  startWithinMs: number;
  /**
   * The most attempts that the retry policy of the activity allows. Earlier attempts leave no trace while the activity
   * is open.
   */
  maximumAttempts: number;
}

/** The most attempts of a call. A lost attempt of an unsafe call may have taken effect, so it is never repeated. */
export function mostAttempts({ effect, retry }: Pick<CallSettings, 'effect' | 'retry'>): number {
  return effect === 'unsafe' ? 1 : retry.maximumAttempts;
}

/** The timeouts of the activity of a call. `isHeld`: it is on the queue of the worker that holds the state of its tool. */
export function timeoutsOf(
  settings: Pick<CallSettings, 'effect' | 'retry' | 'heartbeatMs' | 'startWithinMs'>,
  isHeld: boolean,
): Omit<OpenTimes, 'openMs'> {
  const { heartbeatMs } = settings;
  const startWithinMs = startWithin(settings, isHeld);
  return { heartbeatMs, startWithinMs, maximumAttempts: mostAttempts(settings) };
}

/** The result of a call that is proven never to have started. Undefined if that is not proven. */
export function unstarted(activity: LostActivity, times: OpenTimes): ToolFailure | undefined {
  const ending = endingUntaken(activity);
  return ending === undefined || mayHideStart(activity, times) ? undefined : ending.failure;
}

/** Whether the last attempt of an activity ended before a worker had started it. */
export function endedUntaken(activity: LostActivity): boolean {
  return endingUntaken(activity) !== undefined;
}

function endingUntaken(activity: LostActivity): { failure: ToolFailure; what: string } | undefined {
  const { cancelled, untaken, timeout, type } = activity;
  if (cancelled) return untaken ? UNTAKEN.cancelled : undefined;
  if (timeout === 'SCHEDULE_TO_START') return UNTAKEN.late;
  return type === FAILURES.notRegistered ? UNTAKEN.unknownTool : undefined;
}

const UNTAKEN = {
  cancelled: { failure: ENDINGS.neverStarted, what: 'The turn was cancelled before a worker took this call' },
  late: {
    failure: { code: 'expired', message: 'No worker started this call in time. Nothing ran.' },
    what: 'No worker started this call in time',
  },
  unknownTool: {
    failure: {
      code: 'tool_not_found',
      message: 'The worker that took this call does not have the tool. Nothing ran.',
    },
    what: 'The worker that took this call does not have the tool',
  },
} as const satisfies Record<string, { failure: ToolFailure; what: string }>;

/**
 * Whether an earlier attempt of an activity may have started. The end of an activity shows only how its last attempt
 * ended. If the retry policy allows more than one attempt, an earlier attempt may have run and failed immediately.
 * Otherwise an operator may have given the activity more attempts, or reset it. But an attempt that started and was
 * lost is noticed only when its heartbeat is missed. So an activity that was open for less than the heartbeat timeout
 * plus the time that it may wait for a worker had no other attempt.
 */
function mayHideStart({ beaten, timeout }: LostActivity, times: OpenTimes) {
  const { openMs, heartbeatMs, startWithinMs, maximumAttempts } = times;
  const waits = timeout === 'SCHEDULE_TO_START' ? startWithinMs : 0;
  return beaten || maximumAttempts !== 1 || !(openMs < waits + heartbeatMs);
}

/**
 * What a lost activity means for its call. `known`: it is proven that the call never started. Otherwise the call may have
 * run, and its effect allows a second run.
 */
export type LostCall = { failure: ToolFailure; known: boolean } | { doubt: string };

/**
 * Decides what a lost activity means for its call. Some losses prove that the call never started. Any other loss leaves
 * an unsafe call in doubt.
 */
export function settleLost(
  activity: LostActivity,
  { effect, times }: { effect: CallSettings['effect']; times: OpenTimes },
): LostCall {
  const proven = unstarted(activity, times);
  if (proven !== undefined) return { failure: proven, known: true };
  return effect === 'unsafe'
    ? { doubt: whyInDoubt(activity) }
    : { failure: lostFailure(activity), known: false };
}

/** Why the outcome of an unsafe call is not known. */
function whyInDoubt(activity: LostActivity) {
  const ending = endingUntaken(activity);
  if (ending !== undefined) return `${ending.what}, but an earlier attempt of it may have been started`;
  const { cancelled, timeout, message } = activity;
  if (cancelled) return 'the call was cancelled while a worker had it';
  if (timeout === undefined) return `the call failed on its way back: ${message}`;
  return timeout === 'HEARTBEAT'
    ? 'the worker stopped answering while the call ran'
    : 'the call was not heard of again after it started';
}

/** The result of a call that may run again and whose attempts were all lost. */
function lostFailure(activity: LostActivity): ToolFailure {
  const ending = endingUntaken(activity);
  if (ending !== undefined) return { code: ending.failure.code, message: `${ending.what}. ${MAY_HAVE_RUN}` };
  const { cancelled, timeout, message } = activity;
  if (cancelled) return ENDINGS.cancelled;
  if (timeout === undefined) return { code: 'unknown', message: message || 'The call failed.' };
  return timeout === 'HEARTBEAT'
    ? { code: 'transport', message: 'Every worker that ran this call was lost. It may run again safely.' }
    : { code: 'timeout', message: 'The call did not end in time, at any attempt.' };
}
