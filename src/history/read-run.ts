import { setTimeout as delay } from 'node:timers/promises';
import type { ConnectionLike } from '@temporalio/client';
import { toNumber } from './decode/time';
import type { HistoryEvent } from './decode';
import { isTransient, STATUS, statusOf, toCountersignError, turnNotFound } from './server-errors';

/** Where histories are read from. */
export interface HistoryServer {
  connection: ConnectionLike;
  namespace: string;
}

/** Which run to read, and whether to wait for what still comes. */
export interface RunToRead {
  turn: string;
  runId: string;
  /** Waits for new events until the run is closed. */
  live: boolean;
  signal: AbortSignal;
}

const NO_TOKEN: Uint8Array = new Uint8Array();

/** The server answers a long poll within 20 s by default; twice that means that it is gone. */
const POLL_MS = 45_000;
const READ_MS = 15_000;

/** How long a live reader tries to get back to a server that is gone: a restart or an upgrade takes less. */
const GIVE_UP_MS = 5 * 60_000;
const RETRY_MS = { first: 200, most: 5_000 } as const;

/**
 * Every event of one run in order, each once, until the run is closed (`live`) or read to its end.
 * When the server goes away it reads on from the event after the last one it gave; ends silently when aborted.
 */
export async function* readRun(server: HistoryServer, run: RunToRead): AsyncGenerator<HistoryEvent> {
  const place: Place = { last: 0, token: NO_TOKEN, failures: 0, since: 0 };
  while (!run.signal.aborted) {
    const page = await nextPage(server, run, place);
    if (page === undefined) continue;
    for (const event of page.events) {
      if (toNumber(event.eventId) <= place.last) continue;
      place.last = toNumber(event.eventId);
      yield event;
    }
    if (page.token.length === 0) return;
    place.token = page.token;
  }
}

/** How far a run is read. An empty token reads from the start; what was given already is skipped. */
interface Place {
  last: number;
  token: Uint8Array;
  failures: number;
  since: number;
}

type Page = { events: HistoryEvent[]; token: Uint8Array };

async function nextPage(server: HistoryServer, run: RunToRead, place: Place): Promise<Page | undefined> {
  try {
    const page = await fetchPage(server, run, place.token);
    place.failures = 0;
    return page;
  } catch (error) {
    if (run.signal.aborted) return undefined;
    await recover(error, run, place);
    return undefined;
  }
}

async function fetchPage(server: HistoryServer, run: RunToRead, token: Uint8Array): Promise<Page> {
  const { connection, namespace } = server;
  const ask = () =>
    connection.workflowService.getWorkflowExecutionHistory({
      namespace,
      execution: { workflowId: run.turn, runId: run.runId },
      nextPageToken: token,
      waitNewEvent: run.live,
    });
  const deadline = Date.now() + (run.live ? POLL_MS : READ_MS);
  const answer = await abortable(run.signal, (signal) =>
    connection.withAbortSignal(signal, () => connection.withDeadline(deadline, ask)),
  );
  return { events: answer.history?.events ?? [], token: answer.nextPageToken ?? NO_TOKEN };
}

/** Gives each poll a signal of its own: the SDK never takes its listeners off, and a turn may be polled for weeks. */
async function abortable<T>(signal: AbortSignal, poll: (own: AbortSignal) => Promise<T>): Promise<T> {
  const own = new AbortController();
  const abort = () => own.abort();
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await poll(own.signal);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** Waits a little and starts over; gives up on what does not pass. */
async function recover(error: unknown, run: RunToRead, place: Place): Promise<void> {
  if (statusOf(error) === STATUS.notFound) throw turnNotFound(run.turn);
  if (place.failures === 0) place.since = Date.now();
  place.failures += 1;
  const over = Date.now() - place.since > (run.live ? GIVE_UP_MS : READ_MS);
  if (!isTransient(error) || over) throw toCountersignError(error, `reading turn ${run.turn}`);
  place.token = NO_TOKEN;
  const wait = Math.min(RETRY_MS.most, RETRY_MS.first * 2 ** Math.min(place.failures - 1, 10));
  await delay(wait, undefined, { signal: run.signal }).catch(ignoreAbort);
}

/** An aborted wait is no error: whoever follows is told by the end of the events. */
function ignoreAbort(error: unknown): void {
  if (!(error instanceof Error) || error.name !== 'AbortError') throw error;
}
