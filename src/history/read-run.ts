import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError } from '../contract/errors';
import type { History, HistoryEvent } from './decode/decode';
import { toNumber } from './decode/proto';
import { type HistoryServer, NO_TOKEN, type Page, Pages, type RunIds, type RunToRead } from './pages';
import { isTransient, STATUS, grpcStatusOf, toCountersignError, turnNotFound } from './server-errors';

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
function gapIn({ events, token }: Page, { read, there }: Progress): number | undefined {
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

function restart(progress: Progress): void {
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

async function nextPage(pages: Pages, run: RunToRead, progress: Progress): Promise<Page | undefined> {
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
async function recover(error: unknown, run: RunToRead, progress: Progress): Promise<void> {
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
function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
}
