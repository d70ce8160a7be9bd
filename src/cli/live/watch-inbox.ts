import { setTimeout as delay } from 'node:timers/promises';
import type { Countersign, InboxItem, InboxQuery } from '../../client';
import { isAway } from './insist';
import { itemKey } from './item-key';

/** One look at the inbox, or that the server does not answer at the moment. */
export type InboxLook = { items: InboxItem[] } | { away: string };

/** One thing that came into the inbox or left it. */
export interface InboxChange {
  change: 'new' | 'gone';
  item: InboxItem;
}

/** How often to look, in milliseconds: one query a second costs a server nothing. */
const EVERY_MS = 1000;

/** Looks at the inbox every second until the signal aborts. A server that is away is told and asked again. */
export async function* watchInbox(
  desk: Pick<Countersign, 'inbox'>,
  query: InboxQuery,
  signal: AbortSignal,
): AsyncGenerator<InboxLook> {
  const stopped = new Promise<undefined>((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  while (!signal.aborted) {
    const seen = await Promise.race([stopped, look(desk, query)]);
    if (seen === undefined) return;
    yield seen;
    await delay(EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function look(desk: Pick<Countersign, 'inbox'>, query: InboxQuery): Promise<InboxLook> {
  try {
    return { items: await desk.inbox(query) };
  } catch (error) {
    if (!isAway(error)) throw error;
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
