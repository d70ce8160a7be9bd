import type { InboxItem, InboxSnapshot } from '../../server/api';

/** What a person wants to see of the inbox; an empty text is no wish. */
export interface InboxFilter {
  tool: string;
  agent: string;
  /** Only what waits at least this long, in milliseconds. 0: everything. */
  olderThanMs: number;
}

export const NO_FILTER: InboxFilter = { tool: '', agent: '', olderThanMs: 0 };

/** Whether more wait than came. */
export function isCut({ items, total }: Pick<InboxSnapshot, 'items' | 'total'>): boolean {
  return items.length < total;
}

/** How many are listed, of how many. */
export function countWords(listed: number, total: number): string {
  return listed >= total ? String(listed) : `${listed} of ${total}`;
}

/** Tells two items apart; a call that is asked anew has another key. */
export function keyOf({ turn, callId, callKey }: InboxItem): string {
  return `${turn}/${callId}/${callKey}`;
}

/** The items that fit, earliest deadline first; what never expires comes last, the longest waiting of it first. */
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

/** What the browser's tab says. */
export function titleOf(count: number): string {
  return count === 0 ? 'Countersign' : `(${count}) Countersign`;
}

/** The item to look at once the one with this key is done: the next, else the one before. */
export function neighbour(items: readonly InboxItem[], key: string): InboxItem | undefined {
  const index = items.findIndex((item) => keyOf(item) === key);
  return items[index + 1] ?? items[index - 1];
}

/** The place in a list after one step, within its ends; -1 in an empty list. */
export function moveTo(index: number, by: number, count: number): number {
  if (count === 0) return -1;
  return Math.min(count - 1, Math.max(0, index + by));
}
