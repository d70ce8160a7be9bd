import type { Countersign, InboxQuery } from '../client';
import { CountersignError } from '../contract/errors';
import { watchInbox } from '../client/inbox/live';
import { type Notice, noticesOf } from './notices';
import type { NoticeOutbox } from './outbox';

/** The inbox that is watched, and the channels for its notices. */
interface NoticeWatch {
  client: Pick<Countersign, 'inbox' | 'inboxReader'>;
  /** The items to watch. All of them are read, because a cut list would leave out the newest. */
  filter: Omit<InboxQuery, 'limit'>;
  /** How long before its expiry a request counts as near its deadline, in milliseconds. */
  beforeMs: number;
  /** One outbox for each channel. */
  outboxes: readonly NoticeOutbox[];
  note(text: string): void;
  signal: AbortSignal;
}

/**
 * Sends the notices that are due now.
 *
 * @throws CountersignError `failed` if a notice could not be delivered.
 */
export async function sendOnce({ client, filter, beforeMs, outboxes }: NoticeWatch): Promise<void> {
  const now = Date.now();
  const items = await client.inbox({ ...filter, limit: Infinity });
  const notices = noticesOf(items, { now, beforeMs });
  const counts = await Promise.all(outboxes.map((outbox) => outbox.send(notices, now)));
  const left = counts.reduce((sum, one) => sum + one, 0);
  if (left === 0) return;
  throw new CountersignError('failed', `${left} notices could not be delivered`, {
    hint: 'They are kept: run it again, and they come with the same ids.',
    data: { left },
  });
}

/**
 * Sends notices about new items of the inbox and about items that expire soon, until the signal aborts. If the server
 * is unavailable, the request is repeated.
 */
export async function keepSending(watch: NoticeWatch): Promise<void> {
  const { client, filter, beforeMs, note, signal, outboxes } = watch;
  // Each channel has its own lane, so that a channel that hangs does not delay the other channels.
  const lanes = outboxes.map(createLane);
  const listening = Promise.all(outboxes.map((outbox) => outbox.listen?.()));
  let isAway = false;
  for await (const look of watchInbox(client, filter, signal)) {
    if ('away' in look) {
      if (!isAway) note(`${look.away}; trying again`);
      isAway = true;
      continue;
    }
    if (isAway) note('the server is back');
    isAway = false;
    const now = Date.now();
    const notices = noticesOf(look.items, { now, beforeMs });
    for (const lane of lanes) lane.offer(notices, now);
  }
  await Promise.all([listening, ...lanes.map((lane) => lane.ended())]);
}

interface Lane {
  /** Sends the notices, unless the lane is still sending earlier notices. Throws the error of an earlier attempt. */
  offer(notices: readonly Notice[], now: number): void;
  /** Resolves when the lane is not sending anything. Rejects with the error of a failed attempt. */
  ended(): Promise<void>;
}

function createLane(outbox: NoticeOutbox): Lane {
  let running: Promise<void> | undefined;
  let failure: { error: unknown } | undefined;
  const check = () => {
    if (failure) throw failure.error;
  };
  const send = async (notices: readonly Notice[], now: number) => {
    try {
      await outbox.send(notices, now);
    } catch (error) {
      failure = { error };
    } finally {
      running = undefined;
    }
  };
  return {
    offer: (notices, now) => {
      check();
      running ??= send(notices, now);
    },
    ended: async () => {
      await running;
      check();
    },
  };
}
