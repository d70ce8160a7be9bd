import type { InboxItem, InboxPage } from '../../server/api';
import { parametersOf, queryOf } from './route';

/** The filter of the list, as in its address. An empty text matches everything. */
export interface InboxFilter {
  text: string;
  tool: string;
  agent: string;
  /** `1`: shows only calls in doubt. */
  doubt: string;
  /** `1`: shows only requests that the user may decide and has not voted on. */
  mine: string;
  /** Shows only items that have waited at least this long, in milliseconds. */
  olderThan: string;
  /** `newest`, or empty for the earliest deadline first. */
  sort: string;
}

const NAMES = ['text', 'tool', 'agent', 'doubt', 'mine', 'olderThan', 'sort'] as const;

export const NO_FILTER: InboxFilter = parametersOf('', NAMES);

/** The filter of an address. A value that the server would refuse is ignored. */
export function filterOf(query: string): InboxFilter {
  const { doubt, mine, olderThan, sort, ...rest } = parametersOf(query, NAMES);
  return {
    ...rest,
    doubt: doubt === '1' ? doubt : '',
    mine: mine === '1' ? mine : '',
    olderThan: /^\d{1,12}$/.test(olderThan) ? olderThan : '',
    sort: sort === 'newest' ? sort : '',
  };
}

/** The address of a filter. */
export function filterQuery(filter: InboxFilter): string {
  return queryOf({ ...filter });
}

/** Whether the filter leaves anything out. */
export function isFiltering({ sort: _, ...filter }: InboxFilter): boolean {
  return Object.values(filter).some((value) => value !== '');
}

/** The number of matching items and the number of all items: `100 of 1,980`. */
export function countLabel({ matching, waiting }: Pick<InboxPage, 'matching' | 'waiting'>): string {
  return matching === waiting ? grouped(waiting) : `${grouped(matching)} of ${grouped(waiting)}`;
}

/** A number that can be read at a glance: `1,980`. */
export function grouped(count: number): string {
  return count.toLocaleString('en');
}

/** The approvals of an item that needs several: `1 of 2`. Empty: it needs one. */
export function votesText({ voting }: Pick<InboxItem, 'voting'>): string {
  const given = voting?.votes.filter(({ decision }) => decision === 'approved').length ?? 0;
  const all = given + (voting?.needs.approvals ?? 0);
  return all > 1 ? `${given} of ${all}` : '';
}

/** Identifies an item. A call that is asked again gets another key. */
export function keyOf({ turn, callId, callKey }: InboxItem): string {
  return `${turn}/${callId}/${callKey}`;
}

/** The title of the browser's tab: what its screen shows, and how many items wait. */
export function tabTitle(count: number, shown: string): string {
  return `${count === 0 ? '' : `(${grouped(count)}) `}${shown} · Countersign`;
}

/** The index in a list after a step, kept within the list. -1 in an empty list. */
export function moveTo(index: number, by: number, count: number): number {
  if (count === 0) return -1;
  return Math.min(count - 1, Math.max(0, index + by));
}
/** The first row to read is a multiple of this number, so that a small scroll reads nothing. */
const STEP = 50;

/** The first row to read. Rows before and after the visible rows are then read, too. */
export function offsetFor(firstVisible: number): number {
  return Math.max(0, Math.floor((firstVisible - STEP) / STEP) * STEP);
}

/** A long list of rows of equal height, in pixels. */
interface RowViewport {
  count: number;
  rowHeight: number;
  scrollTop: number;
  /** Height of the visible part. */
  height: number;
}

/** The rows to draw, and the space of the rows that are left out. */
interface RowWindow {
  from: number;
  /** The index after the last row. */
  to: number;
  before: number;
  after: number;
}

/** The number of rows that are drawn beyond each edge, so that a fast scroll shows no gap. */
const OVERSCAN = 8;

/** The rows of a list that are drawn: a list of thousands of rows costs as much as one screen. */
export function rowWindow({ count, rowHeight, scrollTop, height }: RowViewport): RowWindow {
  const first = Math.floor(Math.max(0, scrollTop) / rowHeight) - OVERSCAN;
  const from = Math.min(Math.max(0, first), Math.max(0, count - 1));
  const to = Math.min(count, Math.ceil((Math.max(0, scrollTop) + height) / rowHeight) + OVERSCAN);
  return {
    from,
    to: Math.max(from, to),
    before: from * rowHeight,
    after: (count - Math.max(from, to)) * rowHeight,
  };
}

/** The scroll position that brings a whole row into view. Undefined if the row is in view. */
export function scrollFor(index: number, { rowHeight, scrollTop, height }: RowViewport): number | undefined {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  if (top + rowHeight > scrollTop + height) return top + rowHeight - height;
  return undefined;
}
