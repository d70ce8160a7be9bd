import { Context } from '@temporalio/activity';
import { z } from 'zod';
import {
  ActivityCancelledError,
  ActivityNotFoundError,
  ActivityPausedError,
  ActivityResetError,
} from '@temporalio/client';
import type { Beat } from '../contract/call';
import { within } from '../tools/wait-within';

/** The longest time between two heartbeats. A cancellation is noticed within this time. */
const HEARTBEAT_MS = 1000;

/**
 * The time between two heartbeats: at most half the heartbeat timeout, because a heartbeat counts only once it has
 * arrived.
 */
function beatMs() {
  return Math.min(HEARTBEAT_MS, heartbeatTimeout() / 2);
}

/** The server says 0 of an activity that has none, such as one of a user's own workflow. */
function heartbeatTimeout() {
  return Context.current().info.heartbeatTimeoutMs || Infinity;
}

/**
 * The times from which an attempt's timeouts count: when the attempt began here, and when the server last heard of it.
 */
export interface Since {
  began: Clocks;
  heard: Clocks;
}

/**
 * Does the work before a handler and sends heartbeats meanwhile, because a policy or a long history may take longer
 * than the heartbeat timeout. These heartbeats repeat the details of the earlier attempt: details of this attempt would
 * say that its handler may have started. Each heartbeat waits for the answer to the one before, so none of them can
 * arrive after the heartbeats of the handler.
 */
export async function whileBeating<T>(work: () => Promise<T>): Promise<{ value: T; since: Since }> {
  const { isLocal, heartbeatDetails: details } = Context.current().info;
  const timeoutMs = heartbeatTimeout();
  const began = readClocks();
  const since = { began, heard: began };
  // The parts of a burst have no heartbeats of their own.
  if (isLocal) return { value: await work(), since };
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;
  let beating: Promise<void> | undefined;
  const beat = async () => {
    const sent = readClocks();
    // The server gave the attempt up while this machine was frozen. A late heartbeat must not hide that.
    if (passed(since.heard) >= timeoutMs) return;
    if ((await askByHeartbeat(details)) === undefined) since.heard = sent;
    if (!isOver) beatLater();
  };
  const beatLater = () => {
    timer = setTimeout(() => void (beating = beat()), beatMs());
  };
  beatLater();
  try {
    return { value: await work(), since };
  } finally {
    isOver = true;
    clearTimeout(timer);
    await beating;
  }
}

/** Why this attempt may no longer run its call. */
export type AttemptLostReason = 'late' | 'cancelled' | 'shutdown' | 'reset' | 'paused';

/**
 * Says whether an attempt may still run. Temporal forgets an attempt after its timeouts but cannot stop its process, so
 * the process watches its own clocks. A machine that was frozen notices this at the next check, before it does harm.
 */
export interface AttemptGuard {
  /** Aborts when the attempt is lost. The reason is an error that says why. */
  readonly signal: AbortSignal;
  /** Checks the clocks now. Undefined: the attempt may still run. */
  lost(): AttemptLostReason | undefined;
  /**
   * Asks the server by a heartbeat whether it still waits for this attempt, because a heartbeat that was only sent
   * proves nothing. The attempt is lost if the server says no or does not answer in time. Never rejects.
   */
  confirm(): Promise<void>;
  /** The progress, output and checkpoint that were reported so far. */
  news(): Beat;
  /** Adds a report to the details of the heartbeats, and sends a heartbeat soon. */
  report(news: Beat): void;
  /**
   * Sends the checkpoint immediately, before the attempt fails, so that the next attempt starts from it. Never rejects.
   */
  flush(): Promise<void>;
  /** Stops the heartbeats. The attempt is over: a later cancellation does not abort the signal. */
  stop(): void;
}

/**
 * The least time between two heartbeats with reports. A handler may report thousands of times a second, but people read
 * only a few of these reports.
 */
const NEWS_MS = 250;

/**
 * Guards the current attempt. A timer sends its heartbeats, independently of the handler.
 *
 * @param first Details that a later attempt has to find. They are sent immediately and with every heartbeat. Absent:
 * the first heartbeat comes after a second, so that a quick call costs the server no heartbeat.
 * @param since When the attempt began and when the server last heard of it. It matters if this was some time ago,
 * because the machine may have been frozen since.
 */
export function startHeartbeat(first?: object, since: Since = beginning()): AttemptGuard {
  const context = Context.current();
  const controller = new AbortController();
  const clock = makeClock(since);
  let lostReason: AttemptLostReason | undefined;
  const lose = (why: AttemptLostReason) => {
    lostReason ??= why;
    controller.abort(new Error(REASONS[lostReason]));
  };
  const look = (): AttemptLostReason | undefined => {
    if (lostReason === undefined && clock.isOver()) lose('late');
    return lostReason;
  };
  const beat = () => {
    if (look() !== undefined) return;
    clock.beaten();
    // The server never hears of a local activity.
    if (!context.info.isLocal) context.heartbeat(said.details());
  };
  const said = collectNews(first, beat);
  const confirm = async () => {
    const sent = readClocks();
    const refused = look() ?? (await askByHeartbeat(said.details()));
    if (refused !== undefined) return lose(refused);
    // The answer may have waited here while the machine was frozen. The server counts from the time of the heartbeat.
    if (clock.isPast(sent)) return lose('late');
    look();
  };
  const timer = setInterval(beat, beatMs());
  const stop = () => {
    clearInterval(timer);
    said.end();
    unwatch();
  };
  const flush = async () => {
    if (said.news().checkpoint !== undefined) await askByHeartbeat(said.details());
  };
  if (first !== undefined) beat();
  const unwatch = onCancellation(context, lose);
  const { report, news } = said;
  return { signal: controller.signal, lost: look, confirm, stop, flush, report, news };
}

/**
 * Collects the details of an attempt's heartbeats: `first` and what is reported. Calls `beat` some time after a report,
 * and never after `end`.
 */
function collectNews(first: object | undefined, beat: () => void) {
  let news: Beat = {};
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const report = (added: Beat) => {
    news = { ...news, ...added };
    if (isOver) return;
    timer ??= setTimeout(() => {
      timer = undefined;
      beat();
    }, NEWS_MS);
  };
  const end = () => {
    isOver = true;
    clearTimeout(timer);
  };
  const details = (): object | undefined => (Object.keys(news).length === 0 ? first : { ...first, ...news });
  return { report, end, details, news: () => news };
}

/** The details that an earlier attempt of the current activity left in its heartbeats. They may be any value. */
export function earlierBeat(): Pick<Beat, 'checkpoint'> | undefined {
  return earlier.safeParse(Context.current().info.heartbeatDetails).data;
}

const earlier = z.object({ checkpoint: z.json().optional() });

const REASONS: Record<AttemptLostReason, string> = {
  late: 'this attempt was given up: its time was over or its worker stopped answering',
  cancelled: 'the turn was cancelled',
  shutdown: 'the worker is shutting down',
  reset: 'an operator reset this activity',
  paused: 'an operator paused this activity',
};

/** Why an attempt is lost, as a sentence. */
export function describeLostAttempt(lostReason: AttemptLostReason): string {
  return REASONS[lostReason];
}

/** Calls `lose` when the activity is cancelled. Returns a function that ends this. */
function onCancellation(context: Context, lose: (why: AttemptLostReason) => void): () => void {
  const { cancellationSignal: signal } = context;
  const cancelled = () => lose(cancellationReason(context));
  if (signal.aborted) cancelled();
  else signal.addEventListener('abort', cancelled, { once: true });
  return () => signal.removeEventListener('abort', cancelled);
}

function cancellationReason({ cancellationDetails: details }: Context): AttemptLostReason {
  if (details === undefined || details.cancelRequested) return 'cancelled';
  if (details.workerShutdown) return 'shutdown';
  if (details.reset) return 'reset';
  if (details.paused) return 'paused';
  return 'late';
}

/**
 * Reads both clocks. The monotonic clock stands still while a machine sleeps, and somebody can set the wall clock. The
 * longer time counts.
 */
function makeClock({ began, heard }: Since): {
  isOver(): boolean;
  isPast(beat: Clocks): boolean;
  beaten(): void;
} {
  const { startToCloseTimeoutMs } = Context.current().info;
  const timeoutMs = heartbeatTimeout();
  let lastBeat = heard;
  const isPast = (beat: Clocks) => passed(beat) >= timeoutMs;
  return {
    isPast,
    isOver: () => passed(began) >= startToCloseTimeoutMs || isPast(lastBeat),
    beaten: () => {
      lastBeat = readClocks();
    },
  };
}

/** The readings of the monotonic clock and of the wall clock, in milliseconds. */
interface Clocks {
  monotonic: number;
  wall: number;
}

function beginning(): Since {
  const now = readClocks();
  return { began: now, heard: now };
}

/** Both clocks now. */
function readClocks(): Clocks {
  return { monotonic: performance.now(), wall: Date.now() };
}

function passed(since: Clocks) {
  const now = readClocks();
  return Math.max(now.monotonic - since.monotonic, now.wall - since.wall);
}

// The SDK throttles its own heartbeats, and reports the server's answer only if the attempt has to stop.

/** The time to wait for the server's answer, in milliseconds. A slow server needs some seconds. */
const ANSWER_MS = 5_000;

/**
 * Sends a heartbeat with the details that a later attempt should find, and waits for the server's answer. Without
 * details the heartbeat carries no payload, because the SDK would encode `undefined` and a later attempt would find
 * that.
 *
 * @returns Undefined if the server still waits for this attempt. After an error or without an answer, the attempt
 * counts as given up.
 */
async function askByHeartbeat(details: unknown): Promise<AttemptLostReason | undefined> {
  const { info, client, log } = Context.current();
  // The server never hears of a local activity.
  if (info.isLocal) return undefined;
  const workflowId = info.workflowExecution?.workflowId;
  const serializationContext = {
    type: 'activity' as const,
    namespace: info.namespace,
    activityId: info.activityId,
    isLocal: false,
    workflowId,
  };
  try {
    const { ended } = await inTime(() =>
      details === undefined
        ? bareBeat()
        : client.activity.heartbeat(taskToken(), details, { serializationContext }),
    );
    if (!ended)
      log.warn('the server did not answer whether it still waits for a call that is about to start');
    return ended ? undefined : 'late';
  } catch (error) {
    const lostReason = reasonInError(error);
    if (lostReason !== undefined) return lostReason;
    log.warn('the server could not be asked whether it still waits for a call that is about to start', {
      error: String(error),
    });
    return 'late';
  }
}

async function bareBeat() {
  const { info, client } = Context.current();
  const answer = await client.workflowService.recordActivityTaskHeartbeat({
    namespace: info.namespace,
    identity: client.options.identity,
    taskToken: taskToken(),
  });
  if (answer.cancelRequested) throw new ActivityCancelledError('cancelled');
  if (answer.activityReset) throw new ActivityResetError('reset');
  if (answer.activityPaused) throw new ActivityPausedError('paused');
}

function reasonInError(error: unknown): AttemptLostReason | undefined {
  if (error instanceof ActivityNotFoundError) return 'late';
  if (error instanceof ActivityCancelledError) return 'cancelled';
  if (error instanceof ActivityResetError) return 'reset';
  return error instanceof ActivityPausedError ? 'paused' : undefined;
}

function inTime<T>(ask: () => Promise<T>) {
  const { connection } = Context.current().client;
  return within(connection.withDeadline(Date.now() + ANSWER_MS, ask), ANSWER_MS);
}

function taskToken(): Uint8Array {
  return Buffer.from(Context.current().info.base64TaskToken, 'base64');
}
