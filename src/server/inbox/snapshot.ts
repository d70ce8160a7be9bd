import type { Countersign, InboxQuery } from '../../client/types';
import type { InboxSnapshot } from '../api';

/** More than anybody works through before it is read again; keeps a snapshot under some 200 KB. */
const MOST = 500;

/** Reads the inbox once. Errors: as `Countersign.inbox`. */
export async function readSnapshot(
  desk: Pick<Countersign, 'inbox' | 'countWaiting'>,
  filter: Omit<InboxQuery, 'limit'> = {},
): Promise<InboxSnapshot> {
  const items = await desk.inbox({ ...filter, limit: MOST });
  const isWhole = Object.keys(filter).length === 0 && items.length < MOST;
  const total = isWhole ? items.length : await desk.countWaiting();
  return { items, total, at: new Date().toISOString() };
}
