import type { Countersign } from '../../client/types';
import type { InboxSnapshot } from '../api';

/** What a snapshot is narrowed to. */
export interface InboxFilter {
  tool?: string;
  agent?: string;
  /** Only what waits for at least so many milliseconds. */
  olderThan?: number;
}

/** More than anybody works through before it is read again; keeps a snapshot under some 200 KB. */
const MOST = 500;

/** Reads the inbox once. Errors: as `Countersign.inbox`. */
export async function readSnapshot(
  desk: Pick<Countersign, 'inbox' | 'countWaiting'>,
  { olderThan, ...query }: InboxFilter = {},
): Promise<InboxSnapshot> {
  const items = await desk.inbox({ ...query, limit: MOST });
  const isWhole = Object.keys(query).length === 0 && items.length < MOST;
  const total = isWhole ? items.length : await desk.countWaiting();
  const now = Date.now();
  const wanted = items.filter(({ since }) => olderThan === undefined || now - Date.parse(since) >= olderThan);
  return { items: wanted, total, at: new Date(now).toISOString() };
}
