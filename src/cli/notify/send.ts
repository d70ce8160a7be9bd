import type { Countersign, InboxQuery } from '../../client';
import { CountersignError } from '../../contract/errors';
import { watchInbox } from '../live/watch-inbox';
import { noticesOf } from './notices';
import type { Outbox } from './outbox';

/** What is watched, and how it is told. */
export interface NoticeWatch {
  desk: Pick<Countersign, 'inbox'>;
  query: InboxQuery;
  /** A deadline is near so many milliseconds before it. */
  beforeMs: number;
  outbox: Outbox;
  tell(text: string): void;
  signal: AbortSignal;
}

/**
 * Tells what there is to tell now.
 *
 * @throws CountersignError `notify_failed` where something could not be delivered.
 */
export async function sendOnce({ desk, query, beforeMs, outbox }: NoticeWatch): Promise<void> {
  const now = Date.now();
  const left = await outbox.send(noticesOf(await desk.inbox(query), { now, beforeMs }), now);
  if (left === 0) return;
  throw new CountersignError('notify_failed', `${left} notices could not be delivered`, {
    hint: 'They are kept: run it again, and they come with the same ids.',
    data: { left },
  });
}

/** Tells what comes into the inbox and what expires soon, until the signal aborts. A server that is away is asked again. */
export async function sendForever({
  desk,
  query,
  beforeMs,
  outbox,
  tell,
  signal,
}: NoticeWatch): Promise<void> {
  let isAway = false;
  for await (const look of watchInbox(desk, query, signal)) {
    if ('away' in look) {
      if (!isAway) tell('the server does not answer; trying again');
      isAway = true;
      continue;
    }
    if (isAway) tell('the server is back');
    isAway = false;
    const now = Date.now();
    await outbox.send(noticesOf(look.items, { now, beforeMs }), now);
  }
}
