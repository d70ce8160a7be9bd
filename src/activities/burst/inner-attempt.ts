import { Context, type Info } from '@temporalio/activity';
import { withinContext } from '../../history/replay/sdk-internals';

/**
 * The values that a part of a burst takes over from the burst, and the function that leaves details for a next attempt.
 * Absent: nowhere.
 */
interface Outer {
  signal: AbortSignal;
  heartbeat?: (details: unknown) => void;
  /** Whether this is the first step, in which earlier attempts may have failed. */
  isFirst?: boolean;
  /** The time from the beginning of the burst to this part, in milliseconds. */
  sinceMs?: number;
}

/**
 * Runs a function that would otherwise be an activity of its own. The function finds its own activity id, attempt,
 * times and signal. It sends no heartbeats, because the server knows only the burst.
 */
export function asAttempt<T>(
  attempt: Pick<Info, 'activityId' | 'activityType' | 'attempt' | 'startToCloseTimeoutMs'>,
  outer: Outer,
  work: () => Promise<T>,
): Promise<T> {
  const context = Context.current();
  const { info } = context;
  const now = Date.now();
  const { heartbeat, isFirst = false, sinceMs = 0 } = outer;
  const own = { ...info, ...attempt, isLocal: true };
  delete own.heartbeatTimeoutMs;
  if (!isFirst) {
    own.heartbeatDetails = undefined;
    own.scheduledTimestampMs = now;
    // This time comes from the server's clock, as for other attempts. It shows people who watch which text is later.
    own.currentAttemptScheduledTimestampMs += sinceMs;
  }
  const inner = { info: own, signal: outer.signal, heartbeat: heartbeat ?? (() => undefined) };
  return withinContext(context, inner, work);
}
