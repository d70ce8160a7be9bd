import type { InboxItem } from '../../client';

/** What makes an item of the inbox the same one: a call that is asked anew, or gets in doubt, is another. */
export function itemKey({ turn, callId, callKey, kind, since }: InboxItem): string {
  return [turn, callId, callKey, kind, since].join(' ');
}
