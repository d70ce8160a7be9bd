import type { InboxItem } from '../../client';
import { digestText } from '../../contract/digest';
import { itemKey } from '../live/item-key';

/** `request.opened` and `call.in_doubt`: something waits; `deadline.near`: a request expires soon. */
export type NoticeType = 'request.opened' | 'call.in_doubt' | 'deadline.near';

/** What a receiver is told. The same notice has the same id and the same content, however often it is sent. */
export interface Notice {
  id: string;
  type: NoticeType;
  /** When it began to wait; ISO 8601. */
  timestamp: string;
  data: Omit<InboxItem, 'callKey'>;
}

/** When a deadline is near. */
export interface NoticeRules {
  /** Milliseconds since 1970. */
  now: number;
  /** Milliseconds before the deadline. */
  beforeMs: number;
}

/** Everything there is to tell of an inbox. */
export function noticesOf(items: readonly InboxItem[], { now, beforeMs }: NoticeRules): Notice[] {
  return items.flatMap((item) => {
    const opened = noticeOf(item, item.kind === 'in_doubt' ? 'call.in_doubt' : 'request.opened');
    const isNear = item.deadline !== null && Date.parse(item.deadline) - now <= beforeMs;
    return isNear ? [opened, noticeOf(item, 'deadline.near')] : [opened];
  });
}

function noticeOf(item: InboxItem, type: NoticeType): Notice {
  const { callKey: _, ...data } = item;
  const id = `msg_${digestText([type, itemKey(item), item.deadline].join(' ')).slice(0, 32)}`;
  return { id, type, timestamp: item.since, data };
}
