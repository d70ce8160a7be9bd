import type { InboxItem } from '../../client';
import { itemKey } from '../live/item-key';

/** The inbox as a person goes through it. */
export interface Queue {
  readonly items: readonly InboxItem[];
  /** The place of the item that is looked at; `items.length` at the end. */
  readonly at: number;
}

/** A queue at its beginning. */
export function startQueue(items: readonly InboxItem[]): Queue {
  return { items, at: 0 };
}

/** The item that is looked at; undefined at the end. */
export function currentItem({ items, at }: Queue): InboxItem | undefined {
  return items[at];
}

/** The next item, or the end. */
export function goNext({ items, at }: Queue): Queue {
  return { items, at: Math.min(items.length, at + 1) };
}

/** The item before; the first stays the first. */
export function goBack({ items, at }: Queue): Queue {
  return { items, at: Math.max(0, at - 1) };
}

/**
 * The queue with what waits now. What waits still keeps its place, what is new comes after it, what is decided is gone;
 * the place stays at the same item, or at the one that followed it.
 */
export function refreshQueue({ items, at }: Queue, now: readonly InboxItem[]): Queue & { fresh: number } {
  const waiting = new Map(now.map((item) => [itemKey(item), item]));
  const known = new Set(items.map(itemKey));
  const still = (some: readonly InboxItem[]): InboxItem[] =>
    some.flatMap((item) => waiting.get(itemKey(item)) ?? []);
  const fresh = now.filter((item) => !known.has(itemKey(item)));
  const before = still(items.slice(0, at));
  return { items: [...before, ...still(items.slice(at)), ...fresh], at: before.length, fresh: fresh.length };
}
