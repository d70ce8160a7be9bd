import { CountersignError } from '../../contract/errors';
import { SERVER_HINTS } from '../../contract/server-hints';
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
  /** Milliseconds after which a reading that goes on is told as trouble. @default 2500 */
  patienceMs?: number;
}

/** Leaves room for visibility to be behind, so that a request is seen within a second. */
const PACE_MS = 500;
/** The client asks a server that is gone again and again for ten seconds; people are told long before it gives up. */
const PATIENCE_MS = 2_500;
/** A server with much to list is asked less often: it spends at most a third of its time on us. */
const REST = 2;
/** So many paces lie between two readings of a server that does not answer. */
const TROUBLE_PACES = 4;

/** A feed that reads only while somebody listens. */
export function createFeed(parts: FeedParts): InboxFeed {
  const news = createBell();
  const wake = createBell();
  let listeners = 0;
  let newest: News | undefined;
  let polling = Promise.resolve();

  const publish = (read: News): void => {
    if (read.key === newest?.key) return;
    newest = read;
    news.ring();
  };
  const poll = async (): Promise<void> => {
    while (listeners > 0) {
      const began = Date.now();
      const read = await (isTrouble(newest) ? readOnce(parts) : readPatiently(parts, publish));
      publish(read);
      if (listeners > 0) await wake.wait(pauseAfter(read, Date.now() - began, parts));
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

/** Reads once; where that takes long it is told before it ends. */
async function readPatiently(parts: FeedParts, tellLong: (trouble: News) => void): Promise<News> {
  const timer = setTimeout(() => tellLong(troubleOf(noAnswerYet(), parts)), parts.patienceMs ?? PATIENCE_MS);
  try {
    return await readOnce(parts);
  } finally {
    clearTimeout(timer);
  }
}

function isTrouble(news: News | undefined): boolean {
  return news?.event.event === 'trouble';
}

/** A reading that failed was mostly waiting of ours; who comes back from it should not be kept waiting longer still. */
function pauseAfter(read: News, tookMs: number, { paceMs = PACE_MS }: FeedParts): number {
  return isTrouble(read) ? paceMs * TROUBLE_PACES : Math.max(paceMs, tookMs * REST);
}

async function readOnce(parts: FeedParts): Promise<News> {
  try {
    const data = await parts.read();
    const { items, total } = data;
    return { key: JSON.stringify({ items, total }), event: { event: 'inbox', data } };
  } catch (error) {
    return troubleOf(error, parts);
  }
}

function troubleOf(error: unknown, { tell }: FeedParts): News {
  const { body } = tell(error);
  return { key: JSON.stringify(body), event: { event: 'trouble', data: body } };
}

function noAnswerYet(): CountersignError {
  return new CountersignError('no_server', 'the Temporal server has not answered yet', {
    hint: SERVER_HINTS.unanswered,
  });
}
