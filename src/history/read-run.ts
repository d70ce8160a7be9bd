import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError } from '../contract/errors';
import type { History, HistoryEvent } from './decode/decode';
import { toNumber } from './decode/proto';
import {
  isTransient,
  STATUS,
  grpcStatusOf,
  toCountersignError,
  turnNotFound,
  answerTooLarge,
  isTooLarge,
} from './server-errors';
import type { ConnectionLike } from '@temporalio/client';
import { temporal } from '@temporalio/proto';

/** The server that holds the histories. */
export interface HistoryServer {
  connection: ConnectionLike;
  namespace: string;
}

/** A run of a turn, by its ids. */
export interface RunIds {
  turn: string;
  runId: string;
}

/** The run to read, and whether to wait for further events. */
interface RunToRead extends RunIds {
  /** Waits for new events until the run is closed. */
  live: boolean;
  signal: AbortSignal;
  /** Called whenever all events so far were given, before it waits for new events. */
  onCaughtUp?: () => void;
  /** The most events of the first page. @default 256 */
  pageSize?: number;
}

/** Some events of a run. Without a token, there are no more events and none will come. */
interface Page {
  events: HistoryEvent[];
  token: Uint8Array;
}

/** The most events that the server gives in one page. */
const FULL = 256;

/**
 * After a page that was too large, the next page is smaller by the first factor. Later pages grow again by the second
 * factor.
 */
const SHRINK = 16;
const GROW = 4;

/** Half of what a connection accepts by default. So a page may turn out twice as large as expected. */
const WANTED_BYTES = 2 * 1024 * 1024;

/**
 * The longest wait for a page that could be made smaller, in milliseconds. If a page is too large, the connection
 * refuses it, and the SDK asks for it again and again and reports nothing. We only see that the page does not come.
 */
const PATIENCE_MS = 500;

/** The longest wait for a page that cannot be made smaller, in milliseconds. */
const READ_MS = 15_000;

/**
 * The longest wait for a long poll, in milliseconds. By default the server answers within 20 s. A server that takes
 * twice as long is gone.
 */
const POLL_MS = 45_000;

/**
 * The one place that asks for pages of history. A page holds up to 256 events of up to 2 MiB each, and a connection
 * with default settings accepts 4 MiB. So if a page does not come, a smaller page is asked for, down to one event.
 */
class Pages {
  private size: number;
  /**
   * Whether a page was too large or too slow. From then on, the size of each page depends on the bytes of the previous
   * page.
   */
  private careful = false;
  private slowestMs = 0;

  constructor(
    private readonly server: HistoryServer,
    private readonly run: RunToRead,
  ) {
    this.size = run.pageSize ?? FULL;
  }

  /**
   * The page after `token`, for events that the server already has.
   *
   * @throws CountersignError `too_large` if a single event does not come through although the server answers.
   */
  async next(token: Uint8Array): Promise<Page> {
    for (;;) {
      const page = this.size === 1 ? await this.smallest(token) : await this.unlessTooLarge(token);
      if (page !== undefined) return this.resized(page);
      this.careful = true;
      this.size = Math.max(1, Math.floor(this.size / SHRINK));
    }
  }

  /**
   * The page after `token`, once there are new events. The page has no events if none came for a while. The wait itself
   * asks for only one event: a wait for a page that is too large would have to be cut off before a smaller page could
   * be asked for. The answer to the wait only shows that an event came. If a run goes on while a page is read, the
   * server adds the new events to the last page. It adds at most one page of events, and the next page begins after all
   * these events (1.31, `fetchGapEvents`).
   */
  async coming(token: Uint8Array): Promise<Page> {
    const sign = await this.ask(token, { size: 1, ms: POLL_MS });
    return sign.events.length === 0 ? sign : this.next(token);
  }

  /** The number of events that the run has now. */
  async count() {
    const { connection, namespace } = this.server;
    const execution = { workflowId: this.run.turn, runId: this.run.runId };
    const { workflowExecutionInfo } = await connection.withDeadline(Date.now() + READ_MS, () =>
      connection.workflowService.describeWorkflowExecution({ namespace, execution }),
    );
    return toNumber(workflowExecutionInfo?.historyLength);
  }

  /** Reads a page that may be too large. Undefined if a smaller page has to be asked for. */
  private async unlessTooLarge(token: Uint8Array): Promise<Page | undefined> {
    const patienceMs = Math.min(READ_MS, Math.max(PATIENCE_MS, 5 * this.slowestMs));
    try {
      // The call also has a deadline, so that the SDK's own attempts end. The SDK checks the deadline only before its
      // next attempt.
      return await orLate(this.ask(token, { size: this.size, ms: patienceMs }), patienceMs);
    } catch (error) {
      if (isTooLarge(error) || grpcStatusOf(error) === STATUS.deadlineExceeded) return undefined;
      throw error;
    }
  }

  private async smallest(token: Uint8Array): Promise<Page> {
    try {
      return await this.ask(token, { size: 1, ms: READ_MS });
    } catch (error) {
      throw await this.explained(error);
    }
  }

  private async ask(token: Uint8Array, { size, ms }: { size: number; ms: number }): Promise<Page> {
    const { connection, namespace } = this.server;
    const from = performance.now();
    const ask = () =>
      connection.workflowService.getWorkflowExecutionHistory({
        namespace,
        execution: { workflowId: this.run.turn, runId: this.run.runId },
        nextPageToken: token,
        waitNewEvent: this.run.live,
        maximumPageSize: size,
      });
    const answer = await abortable(this.run.signal, (signal) =>
      connection.withAbortSignal(signal, () => connection.withDeadline(Date.now() + ms, ask)),
    );
    if (ms !== POLL_MS) this.slowestMs = Math.max(this.slowestMs, performance.now() - from);
    return { events: answer.history?.events ?? [], token: answer.nextPageToken ?? NO_TOKEN };
  }

  private resized(page: Page): Page {
    const { events } = page;
    if (!this.careful || events.length === 0) return page;
    const bytes = temporal.api.history.v1.History.encode({ events }).finish().length;
    const fitting = Math.floor((events.length * WANTED_BYTES) / bytes);
    this.size = Math.max(1, Math.min(FULL, this.size * GROW, fitting));
    return page;
  }

  /**
   * The error if one event did not come. A server that answers another request is not gone, so the event is too
   * large.
   */
  private async explained(error: unknown) {
    const what = `reading turn ${this.run.turn}`;
    if (isTooLarge(error)) return answerTooLarge(what, error);
    if (grpcStatusOf(error) !== STATUS.deadlineExceeded) return error;
    return this.count().then(
      () => answerTooLarge(what, error),
      () => error,
    );
  }
}

/** The token with which a run is read from its start. */
export const NO_TOKEN: Uint8Array = new Uint8Array();

/**
 * Gives each request its own signal, because the SDK never removes its listeners and a turn may be polled for weeks.
 */
async function abortable<T>(signal: AbortSignal, ask: (own: AbortSignal) => Promise<T>): Promise<T> {
  const own = new AbortController();
  const abort = () => own.abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await ask(own.signal);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The answer, or undefined if it takes longer than this. The request then goes on, and its answer is ignored. */
async function orLate<T>(asked: Promise<T>, ms: number) {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  asked.catch(() => undefined);
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The time for which a reader that does not wait for new events retries, if the server is gone. */
const GIVE_UP_MS = 15_000;
/** The time for which a live reader retries. A restart or an upgrade of the server takes less. */
const GIVE_UP_LIVE_MS = 5 * 60_000;
const RETRY_MS = { first: 200, most: 5_000 } as const;

/**
 * Every event of one run in order, each once, until the run is closed (`live`) or read to its end. When the server goes
 * away, it later goes on with the event after the last event that it gave. It ends silently when it is aborted.
 */
export async function* readRun(server: HistoryServer, run: RunToRead): AsyncGenerator<HistoryEvent> {
  const pages = new Pages(server, run);
  const start = { last: 0, read: 0, there: 0, failures: 0, since: 0 };
  const progress: Progress = { ...start, held: [], token: NO_TOKEN, gap: undefined };
  while (!run.signal.aborted) {
    const page = await nextPage(pages, run, progress);
    if (page === undefined) continue;
    const gap = gapIn(page, progress);
    // If a gap is still there after the run was read again, it is accepted, because the missing events do not exist
    // then.
    const isNew = gap !== undefined && gap !== progress.gap;
    const events = isNew ? page.events.filter(({ eventId }) => toNumber(eventId) <= gap) : page.events;
    yield* inOrder({ ...page, events }, run, progress);
    if (isNew) {
      progress.gap = gap;
      restart(progress);
    } else if (page.token.length === 0) return;
    else progress.token = page.token;
  }
}

/**
 * The event after which a page lacks some events. Undefined if it lacks none. The server leaves events out if
 * more than a page of them arrives while it reads the last page (1.31, `fetchGapEvents`). The ids of a run have no
 * gaps.
 */
function gapIn({ events, token }: Page, { read, there }: Progress) {
  const ids = [read, ...events.map(({ eventId }) => toNumber(eventId))];
  const end = token.length === 0 ? there + 1 : 0;
  return ids.find((id, index) => (ids[index + 1] ?? end) > id + 1);
}

/** The history of one run. Throws as `readTurn` does. */
export async function readHistory(server: HistoryServer, run: RunIds): Promise<History> {
  const events: NonNullable<History['events']> = [];
  for await (const raw of wholeRun(server, run)) events.push(raw);
  return { events };
}

/** Every event of a run so far. Throws as `readRun` does. */
export function wholeRun(server: HistoryServer, run: RunIds): AsyncGenerator<HistoryEvent> {
  return readRun(server, asItIs(run));
}

/** The run, read only up to where it is now. */
function asItIs(run: RunIds): RunToRead {
  return { ...run, live: false, signal: new AbortController().signal };
}

/**
 * The events of a turn that has only one run, if one answer of the server has all of them. For most turns, this one
 * request is enough. Undefined: there may be more events, or the answer did not come.
 */
export async function readIfAlone(server: HistoryServer, turn: string): Promise<HistoryEvent[] | undefined> {
  try {
    const { events, token } = await new Pages(server, asItIs({ turn, runId: '' })).next(NO_TOKEN);
    const isWhole =
      token.length === 0 && events.every(({ eventId }, index) => toNumber(eventId) === index + 1);
    const last = events.at(-1);
    const goesOn =
      last?.workflowExecutionTerminatedEventAttributes ??
      last?.workflowExecutionContinuedAsNewEventAttributes;
    const before = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
    return isWhole && !goesOn && !before ? events : undefined;
  } catch {
    // The caller then reads run by run, which tries again and reports the problem.
    return undefined;
  }
}

/** The event that starts a run. Throws as `readRun` does. */
export async function readFirst(server: HistoryServer, run: RunIds): Promise<HistoryEvent | undefined> {
  for await (const event of readRun(server, { ...asItIs(run), pageSize: 1 })) return event;
  return undefined;
}

/** How far a run has been read. An empty token reads from the start, and events that were given already are skipped. */
interface Progress {
  /** The last event that was given. */
  last: number;
  /** The last event before the token. */
  read: number;
  /** The number of events of a live run at the last look. */
  there: number;
  /** The end of the last page, which other events with the same ids may still replace. */
  held: HistoryEvent[];
  token: Uint8Array;
  failures: number;
  since: number;
  /** The last event after which the server left events out. */
  gap: number | undefined;
}

function restart(progress: Progress) {
  progress.token = NO_TOKEN;
  progress.read = 0;
}

/**
 * The events of a page that are new. A live page may end with a workflow task that is not on record yet: while a task
 * fails again and again, the server shows the next attempt in this way. It later gives the ids of that attempt to
 * whichever events come first.
 */
function* inOrder(page: Page, run: RunToRead, progress: Progress): Generator<HistoryEvent> {
  const [first] = page.events;
  const next = first === undefined ? Infinity : toNumber(first.eventId);
  const events = [...progress.held.filter((event) => toNumber(event.eventId) < next), ...page.events];
  const mayChange = run.live && (page.token.length > 0 || toNumber(events.at(-1)?.eventId) < progress.there);
  const settled = mayChange
    ? events.findLastIndex(
        (event) => !(event.workflowTaskScheduledEventAttributes ?? event.workflowTaskStartedEventAttributes),
      ) + 1
    : events.length;
  progress.held = events.slice(settled);
  progress.read = toNumber(events.at(-1)?.eventId) || progress.read;
  for (const event of events.slice(0, settled)) {
    if (toNumber(event.eventId) <= progress.last) continue;
    progress.last = toNumber(event.eventId);
    yield event;
  }
}

async function nextPage(pages: Pages, run: RunToRead, progress: Progress) {
  // `performance.now` does not change when somebody sets the time of day. Otherwise a jump could end the reading or
  // prolong it.
  const from = performance.now();
  try {
    if (run.live && progress.read >= progress.there) progress.there = await pages.count();
    const isThere = !run.live || progress.read < progress.there;
    if (!isThere) run.onCaughtUp?.();
    const page = await (isThere ? pages.next(progress.token) : pages.coming(progress.token));
    if (run.live && page.token.length === 0) progress.there = await pages.count();
    progress.failures = 0;
    return page;
  } catch (error) {
    if (run.signal.aborted) return undefined;
    if (progress.failures === 0) progress.since = from;
    await recover(error, run, progress);
    return undefined;
  }
}

/**
 * Starts the reading again after a short wait. Throws an error that is not temporary, and a temporary error that lasts
 * for too long.
 */
async function recover(error: unknown, run: RunToRead, progress: Progress) {
  if (grpcStatusOf(error) === STATUS.notFound) throw turnNotFound(run.turn);
  progress.failures += 1;
  const over = performance.now() - progress.since > (run.live ? GIVE_UP_LIVE_MS : GIVE_UP_MS);
  const passes = isTransient(error) && !(error instanceof CountersignError);
  if (!passes || over) throw toCountersignError(error, `reading turn ${run.turn}`);
  restart(progress);
  const wait = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** Math.min(progress.failures - 1, 10));
  await delay(wait, undefined, { signal: run.signal }).catch(ignoreAbort);
}

/** Ignores the error of an aborted wait. The events end, and the follower notices that. */
function ignoreAbort(error: unknown) {
  if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
}
