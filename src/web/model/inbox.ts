import type { InboxItem, InboxPage } from '../../server/api';
import { parametersOf, queryOf } from './route';

/** What the list shows, as in its address; an empty text matches everything. */
export interface InboxFilter {
  text: string;
  tool: string;
  agent: string;
  /** `1`: only calls in doubt. */
  doubt: string;
  /** Only what waits at least this long, in milliseconds. */
  olderThan: string;
  /** `newest`, or empty: the earliest deadline first. */
  sort: string;
}

const NAMES = ['text', 'tool', 'agent', 'doubt', 'olderThan', 'sort'] as const;

export const NO_FILTER: InboxFilter = parametersOf('', NAMES);

/** The filter of an address. A value that the server would refuse has no effect. */
export function filterOf(query: string): InboxFilter {
  const { doubt, olderThan, sort, ...rest } = parametersOf(query, NAMES);
  return {
    ...rest,
    doubt: doubt === '1' ? doubt : '',
    olderThan: /^\d{1,12}$/.test(olderThan) ? olderThan : '',
    sort: sort === 'newest' ? sort : '',
  };
}

/** The address of a filter. */
export function filterQuery(filter: InboxFilter): string {
  return queryOf({ ...filter });
}

/** Whether it leaves anything out. */
export function isFiltering({ sort: _, ...filter }: InboxFilter): boolean {
  return Object.values(filter).some((value) => value !== '');
}

/** How many match, out of how many: `100 of 1,980`. */
export function countLabel({ matching, waiting }: Pick<InboxPage, 'matching' | 'waiting'>): string {
  return matching === waiting ? grouped(waiting) : `${grouped(matching)} of ${grouped(waiting)}`;
}

/** A number that can be read at a glance: `1,980`. */
export function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** Identifies an item. A call that is asked again gets another key. */
export function keyOf({ turn, callId, callKey }: InboxItem): string {
  return `${turn}/${callId}/${callKey}`;
}

/** The title of the browser's tab. */
export function titleOf(count: number): string {
  return count === 0 ? 'Countersign' : `(${count}) Countersign`;
}

/** The index in a list after a step, kept within the list; -1 in an empty one. */
export function moveTo(index: number, by: number, count: number): number {
  if (count === 0) return -1;
  return Math.min(count - 1, Math.max(0, index + by));
}

/** The most rows that the server sends at once. */
export const MOST_ROWS = 200;
/** Rows are read from a multiple of it on, so that a little scrolling reads nothing. */
const STEP = 50;

/** The first row to read, so that those around the first visible one are there. */
export function offsetFor(firstVisible: number): number {
  return Math.max(0, Math.floor((firstVisible - STEP) / STEP) * STEP);
}
