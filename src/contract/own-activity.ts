import { doubt, endedUntaken, lost, type LostActivity, type OpenTimes, unstarted } from './call-messages';
import { FAILURES } from './names';
import { saysBrokenInText } from './network-errors';
import type { ToolFailure } from './result';
import type { Effect } from './tool';

/** One failure in a chain of causes, as Temporal keeps it. */
export interface FailureText {
  /** The type of an application failure: the name of the error that was thrown. */
  type?: string | undefined;
  message: string;
}

/** How an activity of the user's code failed, and the effect and times of its call. */
export interface OwnFailure {
  activity: LostActivity;
  /** The failure and its causes. */
  causes: readonly FailureText[];
  effect: Effect;
  times: OpenTimes;
}

/**
 * How such a call ended. `known`: it is certain that the call ended without its effect. Otherwise the call may have
 * run, and its effect allows a second run.
 */
export type OwnSettled = { failure: ToolFailure; known: boolean } | { doubt: string };

/**
 * Failure types that do not tell whether the code took effect. The code was given up while it ran, or its result was
 * not sent.
 */
const NO_END: readonly string[] = [
  ...['CancelledFailure', 'ActivityReset', 'ActivityPause', 'WorkerShutdown'],
  ...['ValueError', 'PayloadConverterError', 'PayloadTooLarge', 'PayloadsTooLarge'],
];

/**
 * What a failed activity of the user's code means for its call. An error that the code throws is a known end, except
 * for a broken connection, because the other side may still have acted. Every other failure leaves an unsafe call in
 * doubt.
 */
export function settleOwn({ activity: failed, causes, effect, times }: OwnFailure): OwnSettled {
  const activity = withOwnType(failed);
  const proven = unstarted(activity, times);
  if (proven !== undefined) return { failure: proven, known: true };
  if (wasThrown(activity, causes)) {
    return { failure: { code: 'tool', message: activity.message || 'The call failed.' }, known: true };
  }
  return effect === 'unsafe' ? { doubt: doubt(activity) } : { failure: lost(activity), known: false };
}

const NOT_REGISTERED = /^Activity function .* is not registered on this Worker/s;

/**
 * Returns the activity. If the user's code threw a `NotFoundError`, this counts as that code's own error: only the
 * SDK's message proves that a worker lacks the activity.
 */
function withOwnType(activity: LostActivity): LostActivity {
  const isTheirs = activity.type === FAILURES.notRegistered && !NOT_REGISTERED.test(activity.message);
  return isTheirs ? { ...activity, type: 'Error' } : activity;
}

function wasThrown(activity: LostActivity, causes: readonly FailureText[]): boolean {
  const { cancelled, timeout, type = '' } = activity;
  if (cancelled || timeout !== undefined || type === '' || endedUntaken(activity)) return false;
  return !NO_END.includes(type) && !causes.some(isBroken);
}

function isBroken({ type, message }: FailureText): boolean {
  return saysBrokenInText({ name: type ?? '', message });
}

/** The return value of the user's own activity, as the content of a result. */
export function contentOfReturn(value: unknown): { content: string; contentType: string } {
  if (value === undefined) return { content: '', contentType: 'text' };
  if (typeof value === 'string') return { content: value, contentType: 'text' };
  return { content: JSON.stringify(value), contentType: 'json' };
}
