import { CountersignError } from '../contract/errors';
import { SERVER_HINTS } from '../contract/server-hints';
import type { InboxSnapshot } from './api';
import type { ServerEvent } from './sse';
import type { FormatError } from './failure';
import type { Countersign, InboxQuery } from '../client/types';

/** The inbox, read once for everybody who looks at it. */
export interface InboxFeed {
  /** The inbox now and after each change, until the signal aborts. A slow listener gets only the newest. */
  listen(signal: AbortSignal): AsyncGenerator<ServerEvent>;
  /** Reads the inbox now: a decision was sent from here. */
  refresh(): void;
}

/** How a feed reads. */
export interface FeedParts {
  read(): Promise<InboxSnapshot>;
  formatError: FormatError;
  /** Milliseconds between two reads. @default 500 */
  intervalMs?: number;
  /** Milliseconds after which a read that has not ended is reported as trouble. @default 2500 */
  slowMs?: number;
}

/** Visibility lags a little; with this interval a request is seen within a second. */
const INTERVAL_MS = 500;
/** The client retries a lost server for ten seconds; people see the trouble long before that. */
const SLOW_MS = 2_500;
/** A pause lasts this many times the read before it, so a busy server spends at most a third of its time on us. */
const IDLE_RATIO = 2;
/** A server that does not answer is read this many times less often. */
const TROUBLE_FACTOR = 4;

/** A feed that reads only while it has listeners. */
export function createFeed(parts: FeedParts): InboxFeed {
  const news = createAsyncEvent();
  const wake = createAsyncEvent();
  let listeners = 0;
  let newest: Update | undefined;
  let polling = Promise.resolve();

  const publish = (read: Update): void => {
    if (read.key === newest?.key) return;
    newest = read;
    news.fire();
  };
  const poll = async (): Promise<void> => {
    while (listeners > 0) {
      const began = Date.now();
      const read = await (isTrouble(newest) ? readOnce(parts) : readReportingSlow(parts, publish));
      publish(read);
      if (listeners > 0) await wake.wait(pauseAfter(read, Date.now() - began, parts));
    }
    newest = undefined;
  };
  const join = (): void => {
    if (listeners++ > 0) return;
    // The last read is from before all listeners left.
    newest = undefined;
    // One poller at most: a new listener waits until the last poller has ended.
    polling = polling.then(poll);
  };
  const leave = (): void => {
    listeners--;
    wake.fire();
  };
  return {
    refresh: wake.fire,
    listen: async function* (signal) {
      join();
      signal.addEventListener('abort', news.fire);
      try {
        for (let last: Update | undefined; !signal.aborted;) {
          if (newest === undefined || newest === last) await news.wait();
          else {
            last = newest;
            yield newest.event;
          }
        }
      } finally {
        signal.removeEventListener('abort', news.fire);
        leave();
      }
    },
  };
}

/** The result of a read, and a key that changes with its content. */
interface Update {
  key: string;
  event: ServerEvent;
}

/** Reads once; reports trouble when that takes long, before it ends. */
async function readReportingSlow(parts: FeedParts, reportSlow: (trouble: Update) => void): Promise<Update> {
  const timer = setTimeout(() => reportSlow(troubleUpdate(noAnswerYet(), parts)), parts.slowMs ?? SLOW_MS);
  try {
    return await readOnce(parts);
  } finally {
    clearTimeout(timer);
  }
}

function isTrouble(news: Update | undefined): boolean {
  return news?.event.event === 'trouble';
}

/** A failed read took long because we waited, so the pause after it does not grow with its length. */
function pauseAfter(read: Update, tookMs: number, { intervalMs = INTERVAL_MS }: FeedParts): number {
  return isTrouble(read) ? intervalMs * TROUBLE_FACTOR : Math.max(intervalMs, tookMs * IDLE_RATIO);
}

async function readOnce(parts: FeedParts): Promise<Update> {
  try {
    const data = await parts.read();
    const { items, total } = data;
    return { key: JSON.stringify({ items, total }), event: { event: 'inbox', data } };
  } catch (error) {
    return troubleUpdate(error, parts);
  }
}

function troubleUpdate(error: unknown, { formatError }: FeedParts): Update {
  const { body } = formatError(error);
  return { key: JSON.stringify(body), event: { event: 'trouble', data: body } };
}

function noAnswerYet(): CountersignError {
  return new CountersignError('no_server', 'the Temporal server has not answered yet', {
    hint: SERVER_HINTS.unanswered,
  });
}

/** Wakes everything that waits for it. */
interface AsyncEvent {
  fire(): void;
  /** Resolves when it fires, or after this many milliseconds. */
  wait(ms?: number): Promise<void>;
}

/** An event without waiters yet. */
function createAsyncEvent(): AsyncEvent {
  const waiting = new Set<() => void>();
  return {
    fire: () => [...waiting].forEach((wake) => wake()),
    wait: (ms) =>
      new Promise((resolve) => {
        const timer = ms === undefined ? undefined : setTimeout(() => wake(), ms);
        const wake = (): void => {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
      }),
  };
}

/** More than a person works through before the next read; keeps a snapshot under about 200 KB. */
const MAX_ITEMS = 500;

/**
 * Reads the inbox once.
 *
 * @throws CountersignError as `Countersign.inbox`.
 */
export async function readSnapshot(
  client: Pick<Countersign, 'inbox' | 'countWaiting'>,
  filter: Omit<InboxQuery, 'limit'> = {},
): Promise<InboxSnapshot> {
  const items = await client.inbox({ ...filter, limit: MAX_ITEMS });
  const isWhole = Object.keys(filter).length === 0 && items.length < MAX_ITEMS;
  const total = isWhole ? items.length : await client.countWaiting();
  return { items, total, at: new Date().toISOString() };
}
