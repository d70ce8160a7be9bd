import type { InboxSnapshot } from '../api';
import type { ServerEvent } from '../events';
import type { Tell } from '../failure';
import { createBell } from './bell';

/** The inbox as everybody who looks sees it: read once for all of them. */
export interface InboxFeed {
  /** The inbox now and whenever it changes, until the signal aborts. Who is slow gets the newest, not all. */
  listen(signal: AbortSignal): AsyncGenerator<ServerEvent>;
  /** Reads soon: something was decided here. */
  refresh(): void;
}

/** How a feed reads. */
export interface FeedParts {
  read(): Promise<InboxSnapshot>;
  tell: Tell;
  /** Milliseconds between two readings. @default 500 */
  paceMs?: number;
}

/** Leaves room for visibility to be behind, so that a request is seen within a second. */
const PACE_MS = 500;
/** A server with much to list is asked less often: it spends at most a third of its time on us. */
const REST = 2;

/** A feed that reads only while somebody listens. */
export function createFeed(parts: FeedParts): InboxFeed {
  const news = createBell();
  const wake = createBell();
  let listeners = 0;
  let newest: News | undefined;
  let polling = Promise.resolve();

  const poll = async (): Promise<void> => {
    while (listeners > 0) {
      const began = Date.now();
      const read = await readOnce(parts);
      if (read.key !== newest?.key) {
        newest = read;
        news.ring();
      }
      const pause = Math.max(parts.paceMs ?? PACE_MS, (Date.now() - began) * REST);
      if (listeners > 0) await wake.wait(pause);
    }
    newest = undefined;
  };
  const join = (): void => {
    // One poller at most: who comes back while the last one ends waits for its end.
    if (listeners++ === 0) polling = polling.then(poll);
  };
  const leave = (): void => {
    listeners--;
    wake.ring();
  };
  return {
    refresh: wake.ring,
    listen: async function* (signal) {
      join();
      signal.addEventListener('abort', news.ring);
      try {
        for (let last: News | undefined; !signal.aborted;) {
          if (newest === undefined || newest === last) await news.wait();
          else {
            last = newest;
            yield newest.event;
          }
        }
      } finally {
        signal.removeEventListener('abort', news.ring);
        leave();
      }
    },
  };
}

/** What was read, and what tells whether it is news. */
interface News {
  key: string;
  event: ServerEvent;
}

async function readOnce({ read, tell }: FeedParts): Promise<News> {
  try {
    const data = await read();
    const { items, total } = data;
    return { key: JSON.stringify({ items, total }), event: { event: 'inbox', data } };
  } catch (error) {
    const { body } = tell(error);
    return { key: JSON.stringify(body), event: { event: 'trouble', data: body } };
  }
}
