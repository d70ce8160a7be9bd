import type { ConnectionLike } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import type { HistoryEvent } from './decode/decode';
import { toNumber } from './decode/proto';
import { answerTooLarge, isTooLarge, STATUS, grpcStatusOf } from './server-errors';

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
export interface RunToRead extends RunIds {
  /** Waits for new events until the run is closed. */
  live: boolean;
  signal: AbortSignal;
  /** Called whenever all events so far were given, before it waits for new events. */
  onCaughtUp?: () => void;
  /** The most events of the first page. @default 256 */
  pageSize?: number;
}

/** Some events of a run. Without a token, there are no more events and none will come. */
export interface Page {
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
export class Pages {
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
  async count(): Promise<number> {
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
  private async explained(error: unknown): Promise<unknown> {
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
async function orLate<T>(asked: Promise<T>, ms: number): Promise<T | undefined> {
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
