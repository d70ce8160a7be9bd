import { setTimeout as delay } from 'node:timers/promises';
import type { DecodedEvent } from './decode/events';
import type { Decode, History, HistoryEvent } from './decode/decode';
import type { TurnEvent } from './events';
import { createFold } from './fold/fold';
import { refuseNewer } from './exported';
import { CountersignError } from '../contract/errors';
import { defined } from '../contract/defined';
import { toNumber } from './decode/proto';
import { type HistoryServer, NO_TOKEN, type Page, Pages, type RunIds, type RunToRead } from './pages';
import {
  ask,
  ASK_MS,
  isTransient,
  retry,
  STATUS,
  statusOf,
  toCountersignError,
  turnNotFound,
  unlessGone,
} from './server-errors';

/** A server, and what decodes its payloads. */
export interface HistorySource extends HistoryServer {
  decode: Decode;
}

/** How to read a turn. */
export interface ReadOptions {
  /** Waits for what still comes, until the turn ends. @default false */
  live?: boolean;
  /** Ends the reading; nothing is thrown then. */
  signal?: AbortSignal;
  /** Called each time all events so far were given, before it waits for more. */
  onCaughtUp?: () => void;
}

/**
 * The turn events of a turn from its first run on, through every run it continued in and every reset.
 * Runs that a reset took back and that were over before this was called are left out.
 *
 * @throws CountersignError `turn_not_found`, `no_server` (after 5 minutes without it where `live`), `server_failed`.
 */
export async function* readTurn(
  source: HistorySource,
  turn: string,
  { live = false, signal = new AbortController().signal, onCaughtUp }: ReadOptions = {},
): AsyncGenerator<TurnEvent> {
  const fold = createFold();
  const owner = { type: 'workflow', namespace: source.namespace, workflowId: turn } as const;
  const runs = await readChain(source, turn);
  let undone = false;
  for (let runId = runs.shift(); runId !== undefined;) {
    let next: NextRun | undefined;
    // A run that another one continues is over: there is more to read after it.
    const caughtUp = runs.length === 0 ? onCaughtUp : undefined;
    const run = { turn, runId, live, signal, ...defined({ onCaughtUp: caughtUp }) };
    for await (const raw of readRun(source, run)) {
      const event = await source.decode(raw, owner);
      next = await nextRun(source, { turn, runId, event });
      const events = fold.push(event);
      if (next?.reset === true) continue;
      if (event.kind === 'reset') undone = false;
      if (!undone) yield* events;
    }
    if (next === undefined || signal.aborted) return;
    undone = next.reset;
    runId = next.runId;
  }
}

/** Every turn event of a turn so far. Throws as `readTurn` does. */
export async function readTimeline(source: HistorySource, turn: string): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of readTurn(source, turn)) events.push(event);
  return events;
}

/** The run that goes on where one ended. `reset`: it repeats the beginning of the one before. */
interface NextRun {
  runId: string;
  reset: boolean;
}

/** A run that an operator reset ends as terminated, and another one is current; nobody ended the turn then. */
export async function nextRun(
  source: HistorySource,
  { turn, runId, event }: { turn: string; runId: string; event: DecodedEvent },
): Promise<NextRun | undefined> {
  if (event.kind === 'continued_as_new') return { runId: event.newRunId, reset: false };
  if (event.kind !== 'terminated') return undefined;
  const current = await currentRun(source, turn);
  return current.runId === runId ? undefined : { runId: current.runId, reset: true };
}

/** The turn events of one run alone, so far. Throws as `readTurn` does. */
export async function readRunEvents(source: HistorySource, { turn, runId }: RunIds): Promise<TurnEvent[]> {
  const fold = createFold();
  const owner = { type: 'workflow', namespace: source.namespace, workflowId: turn } as const;
  const events: TurnEvent[] = [];
  for await (const raw of wholeRun(source, { turn, runId }))
    events.push(...fold.push(await source.decode(raw, owner)));
  return events;
}

/** The histories of a turn's runs, first one first. Throws as `readTurn` does. */
export async function readHistories(server: HistoryServer, turn: string): Promise<History[]> {
  const histories: History[] = [];
  for (const runId of await readChain(server, turn))
    histories.push(await readHistory(server, { turn, runId }));
  return histories;
}

/** The history of one run. Throws as `readTurn` does. */
export async function readHistory(server: HistoryServer, run: RunIds): Promise<History> {
  const events: NonNullable<History['events']> = [];
  for await (const raw of wholeRun(server, run)) events.push(raw);
  return { events };
}

function wholeRun(server: HistoryServer, run: RunIds) {
  return readRun(server, { ...run, live: false, signal: new AbortController().signal });
}

/** The ids that a history has in its first event: those of its turn and of the run that recorded it first. */
export function turnIdOf({ events }: History): { turn: string; runId: string } {
  const started = events?.[0]?.workflowExecutionStartedEventAttributes;
  return { turn: started?.workflowId || 'turn', runId: started?.originalExecutionRunId ?? '' };
}

/** The decoded events of each run of a turn, first one first. What a reset took back is not among them. */
export type Runs = readonly (readonly DecodedEvent[])[];

/**
 * Decodes the runs of a turn, as the server has them or as they were exported.
 *
 * @throws CountersignError `key_missing`, `newer_version`.
 */
export async function decodeRuns(
  { decode, namespace }: Pick<HistorySource, 'decode' | 'namespace'>,
  histories: readonly History[],
): Promise<Runs> {
  const runs: DecodedEvent[][] = [];
  for (const history of histories) {
    refuseNewer(history);
    const owner = { type: 'workflow', namespace, workflowId: turnIdOf(history).turn } as const;
    const events: DecodedEvent[] = [];
    for (const raw of history.events ?? []) events.push(await decode(raw, owner));
    runs.push(events);
  }
  return runs;
}

/** How long a reader that does not wait for new events tries to get back to a server that is gone. */
const GIVE_UP_MS = 15_000;
/** How long a live one does: a restart or an upgrade takes less. */
const GIVE_UP_LIVE_MS = 5 * 60_000;
const RETRY_MS = { first: 200, most: 5_000 } as const;

/**
 * Every event of one run in order, each once, until the run is closed (`live`) or read to its end.
 * When the server goes away it reads on from the event after the last one it gave; ends silently when aborted.
 */
export async function* readRun(server: HistoryServer, run: RunToRead): AsyncGenerator<HistoryEvent> {
  const pages = new Pages(server, run);
  const start = { last: 0, read: 0, there: 0, failures: 0, since: 0 };
  const progress: Progress = { ...start, held: [], token: NO_TOKEN, gap: undefined };
  while (!run.signal.aborted) {
    const page = await nextPage(pages, run, progress);
    if (page === undefined) continue;
    const gap = gapIn(page, progress);
    // A gap that is there again when the run was read anew is believed: then there are no such events.
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
 * The event after which a page lacks some; undefined where it lacks none. The server leaves events out where more than a
 * page of them comes while it reads the last page (1.31, `fetchGapEvents`). The ids of a run have no gaps.
 */
function gapIn({ events, token }: Page, { read, there }: Progress): number | undefined {
  const ids = [read, ...events.map(({ eventId }) => toNumber(eventId))];
  const end = token.length === 0 ? there + 1 : 0;
  return ids.find((id, index) => (ids[index + 1] ?? end) > id + 1);
}

/** The event that starts a run. Throws as `readRun` does. */
export async function readFirst(server: HistoryServer, run: RunIds): Promise<HistoryEvent | undefined> {
  const { signal } = new AbortController();
  for await (const event of readRun(server, { ...run, live: false, signal, pageSize: 1 })) return event;
  return undefined;
}

/** The namespace of a turn, its id, and the first run of its chain, as the server says. */
export async function readPlace(
  server: HistoryServer,
  turn: string,
): Promise<{ namespace: string; workflowId: string; firstExecutionRunId: string }> {
  const { namespace } = server;
  const first = await readFirst(server, { turn, ...(await currentRun(server, turn)) });
  const started = first?.workflowExecutionStartedEventAttributes;
  return { namespace, workflowId: turn, firstExecutionRunId: started?.firstExecutionRunId ?? '' };
}

/** How far a run is read. An empty token reads from the start; what was given already is skipped. */
interface Progress {
  /** The last event that was given. */
  last: number;
  /** The last event before the token. */
  read: number;
  /** How many events the run had when it was looked at last, where it is live. */
  there: number;
  /** The end of the last page, as long as it may be replaced by other events of the same ids. */
  held: HistoryEvent[];
  token: Uint8Array;
  failures: number;
  since: number;
  /** After which event the server left some out, the last time it did. */
  gap: number | undefined;
}

function restart(progress: Progress): void {
  progress.token = NO_TOKEN;
  progress.read = 0;
}

/**
 * The events of a page that are new. A live page may end with a workflow task that is not on record yet: while one fails
 * again and again the server shows the next attempt so, and gives its ids to whatever comes first.
 */
function* inOrder(page: Page, run: RunToRead, progress: Progress): Generator<HistoryEvent> {
  const [first] = page.events;
  const next = first === undefined ? Infinity : toNumber(first.eventId);
  const events = [...progress.held.filter((event) => toNumber(event.eventId) < next), ...page.events];
  const mayChange = run.live && (page.token.length > 0 || toNumber(events.at(-1)?.eventId) < progress.there);
  const settled = mayChange ? events.findLastIndex((event) => !isTask(event)) + 1 : events.length;
  progress.held = events.slice(settled);
  progress.read = toNumber(events.at(-1)?.eventId) || progress.read;
  for (const event of events.slice(0, settled)) {
    if (toNumber(event.eventId) <= progress.last) continue;
    progress.last = toNumber(event.eventId);
    yield event;
  }
}

function isTask(event: HistoryEvent): boolean {
  return Boolean(event.workflowTaskScheduledEventAttributes ?? event.workflowTaskStartedEventAttributes);
}

async function nextPage(pages: Pages, run: RunToRead, progress: Progress): Promise<Page | undefined> {
  const from = Date.now();
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

/** Waits a little and starts over; gives up on what does not pass. */
async function recover(error: unknown, run: RunToRead, progress: Progress): Promise<void> {
  if (statusOf(error) === STATUS.notFound) throw turnNotFound(run.turn);
  progress.failures += 1;
  const over = Date.now() - progress.since > (run.live ? GIVE_UP_LIVE_MS : GIVE_UP_MS);
  const passes = isTransient(error) && !(error instanceof CountersignError);
  if (!passes || over) throw toCountersignError(error, `reading turn ${run.turn}`);
  restart(progress);
  const wait = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** Math.min(progress.failures - 1, 10));
  await delay(wait, undefined, { signal: run.signal }).catch(ignoreAbort);
}

/** An aborted wait is not an error: the events end, and the follower sees that. */
function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
}

/** The current run, or the last one. */
async function currentRun(server: HistoryServer, turn: string): Promise<{ runId: string }> {
  const description = await describeTurn(server, turn);
  if (description === undefined) throw turnNotFound(turn);
  return { runId: description.workflowExecutionInfo?.execution?.runId ?? '' };
}

/** The server's description of a turn's current run; undefined where there is no such workflow. */
export async function describeTurn(server: HistoryServer, turn: string) {
  const request = { namespace: server.namespace, execution: { workflowId: turn } };
  const describe = () => server.connection.workflowService.describeWorkflowExecution(request);
  try {
    return await retry({ passes: isTransient, forMs: ASK_MS }, () =>
      ask(server, `reading turn ${turn}`, describe),
    );
  } catch (error) {
    if (statusOf(error) === STATUS.notFound) return undefined;
    throw error;
  }
}

/**
 * The runs of a turn, first one first: each run names the one it continues. A run that was reset is not among them,
 * because the run that replaced it repeats what still counts; nor is one that the server has deleted.
 */
/** The runs of a turn or session that are there, first one first. */
export async function readChain(server: HistoryServer, turn: string): Promise<string[]> {
  const { runId } = await currentRun(server, turn);
  const runs = [runId];
  for (let before = await runBefore(server, turn, runId); before !== undefined;) {
    runs.unshift(before);
    before = await runBefore(server, turn, before);
  }
  return runs;
}

/** The run that a run continues; undefined for the first one, and where the one before is gone. */
async function runBefore(server: HistoryServer, turn: string, runId: string): Promise<string | undefined> {
  const started = await readFirst(server, { turn, runId });
  const before = started?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  if (!before) return undefined;
  const found = await unlessGone(readFirst(server, { turn, runId: before }));
  return found === undefined ? undefined : before;
}
