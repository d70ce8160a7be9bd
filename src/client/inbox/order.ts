import { NEVER } from '../../contract/names';
import type { InboxItem } from '../types';

/** Calls in doubt first, then the earliest deadline. Items that never expire come last, oldest first. */
export function mostUrgentFirst(items: readonly InboxItem[]): InboxItem[] {
  return inDoubtFirst(items, (some) => {
    const keyed = some.map((item) => ({ item, key: urgencyOf(item) }));
    return keyed.sort((a, b) => (a.key < b.key ? -1 : 1)).map(({ item }) => item);
  });
}

function urgencyOf({ deadline, since, turn, callId }: InboxItem): string {
  return `${deadline ?? NEVER} ${since} ${turn} ${callId}`;
}

/** Calls in doubt first, then the newest. */
export function newestFirst(items: readonly InboxItem[]): InboxItem[] {
  return inDoubtFirst(items, (some) =>
    [...some].sort((a, b) => (a.since === b.since ? 0 : a.since > b.since ? -1 : 1)),
  );
}

/** Whatever the order: calls in doubt come before all others, because something may have happened already. */
function inDoubtFirst(
  items: readonly InboxItem[],
  ordered: (some: readonly InboxItem[]) => InboxItem[],
): InboxItem[] {
  const others = items.filter((item) => !isInDoubt(item));
  return [...ordered(items.filter(isInDoubt)), ...ordered(others)];
}

/** Whether an item is a call in doubt. */
export function isInDoubt({ kind }: Pick<InboxItem, 'kind'>): boolean {
  return kind === 'in_doubt';
}
