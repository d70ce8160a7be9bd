import { asyncLocalStorage, Context, type Info } from '@temporalio/activity';

/** The attempt that a part of a burst stands for, as its functions find it in `Context.current()`. */
export type InnerAttempt = Pick<Info, 'activityId' | 'activityType' | 'attempt' | 'startToCloseTimeoutMs'>;

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
 * Reads two values from the outer context: the reason of a cancellation is known only later, and only a worker has a
 * client.
 */
class InnerContext extends Context {
  outer: Context | undefined;

  override get cancellationDetails() {
    return this.outer?.cancellationDetails;
  }

  override get client() {
    return this.outer?.client ?? super.client;
  }
}

/**
 * Runs a function that would otherwise be an activity of its own. The function finds its own activity id, attempt,
 * times and signal. It sends no heartbeats, because the server knows only the burst.
 */
export function asAttempt<T>(attempt: InnerAttempt, outer: Outer, work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const { info, cancelled, log, metricMeter } = context;
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
  const beat = heartbeat ?? (() => undefined);
  const inner = new InnerContext(own, cancelled, outer.signal, beat, undefined, log, metricMeter, {});
  inner.outer = context;
  return asyncLocalStorage.run(inner, work);
}
