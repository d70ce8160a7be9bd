import { setTimeout as delay } from 'node:timers/promises';
import type { Countersign, InboxItem, InboxQuery } from '../client';
import { CountersignError } from '../contract/errors';

const FIRST_MS = 500;
const MOST_MS = 10_000;

/** How to retry while the server does not answer. */
interface RetryOptions {
  /** Called once when the server is gone, and once when it is back. */
  note(text: string): void;
  signal: AbortSignal;
}

/** Whether the server did not answer, so that the same question may be answered later. */
function isUnavailable(error: unknown): error is CountersignError {
  return error instanceof CountersignError && error.code === 'no_server';
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
      if (failures === 0) note('the server does not answer; trying again (Ctrl-C leaves)');
      await delay(Math.min(MOST_MS, FIRST_MS * 2 ** failures), undefined, { signal });
    }
  }
}

/** One look at the inbox, or that the server does not answer at the moment. */
export type InboxLook = { items: InboxItem[] } | { away: string };

/** One thing that came into the inbox or left it. */
export interface InboxChange {
  change: 'new' | 'gone';
  item: InboxItem;
}

/** How often to look, in milliseconds: one query a second costs a server nothing. */
const EVERY_MS = 1000;

/** Reads the inbox every second until the signal aborts. Reports an unavailable server and asks again. */
export async function* watchInbox(
  client: Pick<Countersign, 'inbox'>,
  query: InboxQuery,
  signal: AbortSignal,
): AsyncGenerator<InboxLook> {
  const stopped = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  while (!signal.aborted) {
    const seen = await Promise.race([stopped, look(client, query)]);
    if (seen === undefined) return;
    yield seen;
    await delay(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function look(client: Pick<Countersign, 'inbox'>, query: InboxQuery): Promise<InboxLook> {
  try {
    return { items: await client.inbox(query) };
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    return { away: error.message };
  }
}

/** What came and what left between two looks; what left first. */
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

/** Identifies an item of the inbox. A call that is asked again, or becomes in doubt, is another item. */
export function itemKey({ turn, callId, callKey, kind, since }: InboxItem): string {
  return [turn, callId, callKey, kind, since].join(' ');
}
