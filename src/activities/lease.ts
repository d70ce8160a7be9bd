import { Context } from '@temporalio/activity';

/** How often a call beats: well inside any heartbeat timeout, and how soon it hears of a cancellation. */
const BEAT_MS = 1000;

/** Why a call is no longer ours to run. */
export type Loss = 'late' | 'cancelled' | 'shutdown' | 'reset' | 'paused';

/**
 * An attempt's right to run. Temporal forgets an attempt after its timeouts but cannot stop its process, so the process
 * watches its own clocks: a machine that was frozen finds out at the next look, before it does harm.
 */
export interface Lease {
  /** Aborts when the lease is lost; its reason is a text that says why. */
  readonly signal: AbortSignal;
  /** Looks at the clocks now. Undefined: still ours. */
  lost(): Loss | undefined;
  /** Stops the beats. */
  release(): void;
}

/**
 * Takes the lease of the current attempt and beats on a timer of its own, whatever the handler does.
 *
 * @param details sent at once and with every beat, for a later attempt to find; absent: the first beat comes after a
 * second, so that a quick call costs the server none.
 */
export function takeLease(details?: unknown): Lease {
  const context = Context.current();
  const controller = new AbortController();
  const clock = makeClock();
  let loss: Loss | undefined;
  const lose = (why: Loss): void => {
    loss ??= why;
    controller.abort(new Error(REASONS[loss]));
  };
  const look = (): Loss | undefined => {
    if (loss === undefined && clock.isOver()) lose('late');
    return loss;
  };
  const beat = (): void => {
    if (look() !== undefined) return;
    clock.beaten();
    // The server never hears of a local activity.
    if (!context.info.isLocal) context.heartbeat(details);
  };
  const timer = setInterval(beat, BEAT_MS);
  if (details !== undefined) beat();
  onCancellation(context, lose);
  return { signal: controller.signal, lost: look, release: () => clearInterval(timer) };
}

const REASONS: Record<Loss, string> = {
  late: 'this attempt was given up: its time was over or its worker stopped answering',
  cancelled: 'the turn was cancelled',
  shutdown: 'the worker is shutting down',
  reset: 'an operator reset this activity',
  paused: 'an operator paused this activity',
};

/** The sentence a loss is told with. */
export function describeLoss(loss: Loss): string {
  return REASONS[loss];
}

function onCancellation(context: Context, lose: (why: Loss) => void): void {
  const cancelled = (): void => lose(lossOf(context));
  if (context.cancellationSignal.aborted) cancelled();
  else context.cancellationSignal.addEventListener('abort', cancelled, { once: true });
}

function lossOf({ cancellationDetails: details }: Context): Loss {
  if (details === undefined || details.cancelRequested) return 'cancelled';
  if (details.workerShutdown) return 'shutdown';
  if (details.reset) return 'reset';
  if (details.paused) return 'paused';
  return 'late';
}

/** Both clocks: the monotonic one stands still while a machine sleeps, the wall clock can be set. The later one counts. */
function makeClock(): { isOver(): boolean; beaten(): void } {
  const { startToCloseTimeoutMs, heartbeatTimeoutMs = Infinity } = Context.current().info;
  const started = readClocks();
  let lastBeat = started;
  return {
    isOver: () => passed(started) >= startToCloseTimeoutMs || passed(lastBeat) >= heartbeatTimeoutMs,
    beaten: () => {
      lastBeat = readClocks();
    },
  };
}

interface Clocks {
  monotonic: number;
  wall: number;
}

function readClocks(): Clocks {
  return { monotonic: performance.now(), wall: Date.now() };
}

function passed(since: Clocks): number {
  const now = readClocks();
  return Math.max(now.monotonic - since.monotonic, now.wall - since.wall);
}
