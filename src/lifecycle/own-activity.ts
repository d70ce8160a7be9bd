import type { CallOutput, CallSettings } from '../contract/call';
import { isObject } from '../contract/json';
import {
  endedUntaken,
  type LostActivity,
  type LostCall,
  settleLost,
  timeoutsOf,
} from '../contract/lost-activity';
import { FAILURES } from '../contract/names';
import { saysBrokenInText } from '../contract/network-errors';
import { readCallOutput } from '../contract/call-payloads';
import { type CallState, secretOf } from './state';

/** One failure in a chain of causes, as Temporal keeps it. */
export interface FailureText {
  /** The type of an application failure: the name of the error that was thrown. */
  type?: string;
  message: string;
}

/** How an activity of the user's code failed. */
interface OwnFailure {
  activity: LostActivity;
  /** The failure and its causes. */
  causes: readonly FailureText[];
  /** How long the activity was open, in ms. */
  openMs: number;
}

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
export function settleOwn(
  settings: Pick<CallSettings, 'effect' | 'retry' | 'heartbeatMs' | 'startWithinMs'>,
  { activity: failed, causes, openMs }: OwnFailure,
): LostCall {
  const activity = withOwnType(failed);
  if (wasThrown(activity, causes)) {
    return { failure: { code: 'tool', message: activity.message || 'The call failed.' }, known: true };
  }
  const times = { ...timeoutsOf(settings, false), openMs };
  return settleLost(activity, { effect: settings.effect, times });
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

function wasThrown(activity: LostActivity, causes: readonly FailureText[]) {
  const { cancelled, timeout, type = '' } = activity;
  if (cancelled || timeout !== undefined || type === '' || endedUntaken(activity)) return false;
  return !NO_END.includes(type) && !causes.some(isBroken);
}

function isBroken({ type, message }: FailureText) {
  return saysBrokenInText({ name: type ?? '', message });
}

/**
 * What our worker said of a call of the user's own activity that it did not run. Undefined: the user's code returned the
 * value, because only the worker of the call knows its secret.
 */
export function reportOfWorker(value: unknown, state: CallState): CallOutput | undefined {
  const secret = secretOf(state);
  if (secret === undefined || !isObject(value) || value['secret'] !== secret) return undefined;
  return readCallOutput(value, { callId: state.call.callId, secret });
}
