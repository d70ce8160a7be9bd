import { asyncLocalStorage, Context, type Info } from '@temporalio/activity';

/** The attempt that something of a burst is, as its functions find it in `Context.current()`. */
export type InnerAttempt = Pick<Info, 'activityId' | 'activityType' | 'attempt' | 'startToCloseTimeoutMs'>;

/** What an attempt of a burst goes on from, and where it leaves what the next one finds. Absent: nothing. */
interface Outer {
  signal: AbortSignal;
  heartbeat?: (details: unknown) => void;
  /** It is the first step: attempts before may have failed in it. */
  isFirst?: boolean;
  /** How long after the beginning of the burst it is scheduled. */
  sinceMs?: number;
}

/** Why it is cancelled is known once it is; and a client is there only where a worker is. */
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
 * Runs what would else be an activity of its own, so that it is the same function: it finds its own number, time and
 * signal. It sends no heartbeats, because the server knows only the burst.
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
    // By the server's clock, as that of other attempts: those who watch know by it which text is later.
    own.currentAttemptScheduledTimestampMs += sinceMs;
  }
  const beat = heartbeat ?? (() => undefined);
  // A signal of its own: each attempt listens to it, and nobody takes the listeners away.
  const signal = AbortSignal.any([outer.signal]);
  const inner = new InnerContext(own, cancelled, signal, beat, undefined, log, metricMeter, {});
  inner.outer = context;
  return asyncLocalStorage.run(inner, work);
}
