import type { InboxItem, InboxSnapshot } from '../../server/api';

/** The filter of the inbox; an empty text matches everything. */
export interface InboxFilter {
  tool: string;
  agent: string;
  /** Only what waits at least this long, in milliseconds. 0: everything. */
  olderThanMs: number;
}

export const NO_FILTER: InboxFilter = { tool: '', agent: '', olderThanMs: 0 };

/** Whether more items wait than were sent. */
export function isCut({ items, total }: Pick<InboxSnapshot, 'items' | 'total'>): boolean {
  return items.length < total;
}

/** How many are listed, out of how many. */
export function countLabel(listed: number, total: number): string {
  return listed >= total ? String(listed) : `${listed} of ${total}`;
}

/** Identifies an item. A call that is asked again gets another key. */
export function keyOf({ turn, callId, callKey }: InboxItem): string {
  return `${turn}/${callId}/${callKey}`;
}

/** The items that match, earliest deadline first. Items without a deadline come last, the longest waiting first. */
export function applyFilter(items: readonly InboxItem[], filter: InboxFilter, now: number): InboxItem[] {
  return items.filter((item) => fits(item, filter, now)).sort(byDeadline);
}

function fits(item: InboxItem, { tool, agent, olderThanMs }: InboxFilter, now: number): boolean {
  if (tool !== '' && item.tool !== tool) return false;
  if (agent !== '' && item.agent !== agent) return false;
  return olderThanMs === 0 || now - Date.parse(item.since) >= olderThanMs;
}

function byDeadline(a: InboxItem, b: InboxItem): number {
  if (a.deadline !== b.deadline) return dueAt(a) < dueAt(b) ? -1 : 1;
  return a.since < b.since ? -1 : a.since > b.since ? 1 : 0;
}

function dueAt({ deadline }: InboxItem): number {
  return deadline === null ? Infinity : Date.parse(deadline);
}

/** The values of one field and how many items have each, most first. */
export function countBy(items: readonly InboxItem[], field: 'tool' | 'agent'): [string, number][] {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item[field], (counts.get(item[field]) ?? 0) + 1);
  return [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1));
}

/** The title of the browser's tab. */
export function titleOf(count: number): string {
  return count === 0 ? 'Countersign' : `(${count}) Countersign`;
}

/** The item to look at once the one with this key is done: the next, else the one before. */
export function neighbour(items: readonly InboxItem[], key: string): InboxItem | undefined {
  const index = items.findIndex((item) => keyOf(item) === key);
  return items[index + 1] ?? items[index - 1];
}

/** The index in a list after a step, kept within the list; -1 in an empty one. */
export function moveTo(index: number, by: number, count: number): number {
  if (count === 0) return -1;
  return Math.min(count - 1, Math.max(0, index + by));
}

/** A long list of rows that are equally high. Pixels. */
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
  /** Not included. */
  to: number;
  before: number;
  after: number;
}

/** Rows beyond each edge, so that a fast scroll shows no gap. */
const OVERSCAN = 8;

/** The rows of a list to draw: thousands of rows cost as much as one screen. */
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

/** Where to scroll to bring a whole row into view; undefined when it is in view. */
export function scrollFor(index: number, { rowHeight, scrollTop, height }: RowViewport): number | undefined {
  const top = index * rowHeight;
  if (top < scrollTop) return top;
  if (top + rowHeight > scrollTop + height) return top + rowHeight - height;
  return undefined;
}

/** The words of a row: its summary without the id and the tool, which stand elsewhere in it. */
export function rowText({ callId, tool, summary }: InboxItem): string {
  return without(`${tool} `, without(`${callId} `, summary));
}

function without(start: string, text: string): string {
  return text.startsWith(start) ? text.slice(start.length) : text;
}
