import { setTimeout as delay } from 'node:timers/promises';
import { race } from '../../system/race';
import type { Countersign, InboxItem, InboxQuery, InboxReader } from '..';
import { CountersignError } from '../../contract/errors';

const FIRST_MS = 500;
const MOST_MS = 10_000;

/** How to retry while the server does not answer. */
interface RetryOptions {
  /** Called once when the server is gone, and once when it is back. */
  note(text: string): void;
  signal: AbortSignal;
}

/** Whether the server did not answer or limits requests, so that the same request may succeed later. */
function isUnavailable(error: unknown): error is CountersignError {
  return error instanceof CountersignError && (error.code === 'no_server' || error.code === 'server_busy');
}

/** How long to wait before the server may be asked again, in milliseconds. Undefined if the server did not say. */
function restOf({ data }: CountersignError) {
  const rest = data['retryInMs'];
  return typeof rest === 'number' ? rest : undefined;
}

/** Calls `act` again while the server is unavailable. Rejects when the signal aborts. */
export async function retryWhileUnavailable<T>(
  act: () => Promise<T>,
  { note, signal }: RetryOptions,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      const done = await act();
      if (failures > 0) note('the server is back');
      return done;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      const why = error.code === 'server_busy' ? 'the server limits reading' : 'the server does not answer';
      if (failures === 0) note(`${why}; trying again (Ctrl-C leaves)`);
      await delay(restOf(error) ?? Math.min(MOST_MS, FIRST_MS * 2 ** failures), undefined, { signal });
    }
  }
}

/** The state of the inbox, or the reason why it cannot be read at the moment. */
export type InboxLook = { items: readonly InboxItem[] } | { away: string };

/** One item that came into the inbox or left it. */
export interface InboxChange {
  change: 'new' | 'gone';
  item: InboxItem;
}

/**
 * The time between two reads of the inbox, in milliseconds. While the inbox is not read to its end, the reads follow
 * without a pause.
 */
const EVERY_MS = 1000;

/** Reads all waiting items again and again until the signal aborts. Reports an unavailable server and asks again. */
export async function* watchInbox(
  client: Pick<Countersign, 'inboxReader'>,
  filter: Omit<InboxQuery, 'limit'>,
  signal: AbortSignal,
): AsyncGenerator<InboxLook> {
  const stopped = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  const reader = client.inboxReader(filter);
  while (!signal.aborted) {
    const seen = await race([stopped, look(reader)]);
    if (seen === undefined) return;
    yield seen.look;
    if (seen.pauseMs > 0) await delay(seen.pauseMs, undefined, { signal }).catch(() => undefined);
  }
}

async function look(reader: InboxReader): Promise<{ look: InboxLook; pauseMs: number }> {
  try {
    const { items, isComplete } = await reader.next();
    return { look: { items }, pauseMs: isComplete ? EVERY_MS : 0 };
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    const rest = restOf(error);
    if (rest === undefined) return { look: { away: error.message }, pauseMs: EVERY_MS };
    const away = `Temporal limits reading; next try in ${Math.ceil(rest / 1000)} s`;
    return { look: { away }, pauseMs: rest };
  }
}

/** The items that left and the items that came between two reads. The items that left come first. */
export function changesBetween(before: readonly InboxItem[], after: readonly InboxItem[]): InboxChange[] {
  return [
    ...missing(before, after).map((item): InboxChange => ({ change: 'gone', item })),
    ...missing(after, before).map((item): InboxChange => ({ change: 'new', item })),
  ];
}

/** The items of one list that the other does not have. */
function missing(items: readonly InboxItem[], others: readonly InboxItem[]): InboxItem[] {
  const known = new Set(others.map(itemKey));
  return items.filter((item) => !known.has(itemKey(item)));
}

/**
 * A key that identifies an item of the inbox. A call that is asked about again, or becomes in doubt, is a different
 * item.
 */
export function itemKey({ turn, callId, callKey, kind, since }: InboxItem): string {
  return [turn, callId, callKey, kind, since].join(' ');
}
