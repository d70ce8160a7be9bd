import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Countersign, InboxItem, InboxQuery } from '../client';
import { digestText } from '../contract/digest';
import { itemKey, watchInbox } from './live-inbox';
import { CountersignError, errorMessage } from '../contract/errors';
import { parseJson } from '../contract/json';
import { readIfThere, replaceFile } from '../files';

/** `request.opened`, `question.opened` and `call.in_doubt`: something waits; `deadline.near`: a request expires soon. */
export type NoticeType = 'request.opened' | 'question.opened' | 'call.in_doubt' | 'deadline.near';

/** One message to a receiver. The same notice keeps its id and its content, however often it is sent. */
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

/** The notices that an inbox gives rise to. */
export function noticesOf(items: readonly InboxItem[], { now, beforeMs }: NoticeRules): Notice[] {
  return items.flatMap((item) => {
    const opened = noticeOf(item, OPENED[item.kind]);
    const isNear = item.deadline !== null && Date.parse(item.deadline) - now <= beforeMs;
    return isNear ? [opened, noticeOf(item, 'deadline.near')] : [opened];
  });
}

const OPENED: Readonly<Record<InboxItem['kind'], NoticeType>> = {
  request: 'request.opened',
  question: 'question.opened',
  in_doubt: 'call.in_doubt',
};

function noticeOf(item: InboxItem, type: NoticeType): Notice {
  const { callKey: _, ...data } = item;
  const id = `msg_${digestText([type, itemKey(item), item.deadline].join(' ')).slice(0, 32)}`;
  return { id, type, timestamp: item.since, data };
}

/** Where notices go: a webhook or a command. */
export interface Receiver {
  /** For what is printed; holds no secret. */
  name: string;
  /** Resolves when the receiver took it. Rejects with an Error that says what is wrong. */
  deliver(notice: Notice, signal: AbortSignal): Promise<void>;
}

/** What delivers notices, and what has been delivered. */
interface OutboxParts {
  receiver: Receiver;
  sent: Sent;
  /** Called with one line for each delivery, and for each failure. */
  note(text: string): void;
  signal: AbortSignal;
}

/** Delivers each notice at least once: it is on record only after the receiver took it. */
export interface Outbox {
  /** Sends what is due and was not delivered yet; what failed waits a while. How many are still to be delivered. */
  send(notices: readonly Notice[], now: number): Promise<number>;
}

const FIRST_MS = 1000;
const MOST_MS = 60_000;

/** An outbox that has nothing to wait for yet. */
export function createOutbox(parts: OutboxParts): Outbox {
  const failures = new Map<string, { count: number; nextAt: number }>();
  return {
    send: async (notices, now) => {
      const open = notices.filter(({ id }) => !parts.sent.has(id));
      for (const notice of open) {
        if (parts.signal.aborted || (failures.get(notice.id)?.nextAt ?? 0) > now) continue;
        const why = await deliver(notice, parts);
        if (why === undefined) {
          failures.delete(notice.id);
          continue;
        }
        const count = (failures.get(notice.id)?.count ?? 0) + 1;
        const wait = Math.min(MOST_MS, FIRST_MS * 2 ** (count - 1));
        failures.set(notice.id, { count, nextAt: now + wait });
        if (!parts.signal.aborted)
          parts.note(
            `could not send to ${parts.receiver.name}: ${why}; again in ${wait / 1000} s: ${describe(notice)}`,
          );
      }
      return open.filter(({ id }) => !parts.sent.has(id)).length;
    },
  };
}

/** Undefined when it was delivered and that is on disk; otherwise why not. */
async function deliver(
  notice: Notice,
  { receiver, sent, note, signal }: OutboxParts,
): Promise<string | undefined> {
  try {
    await receiver.deliver(notice, signal);
  } catch (error) {
    return errorMessage(error);
  }
  await sent.add(notice.id, Date.now());
  note(`sent to ${receiver.name}: ${describe(notice)}`);
  return undefined;
}

function describe({ type, data: { turn, callId, tool } }: Notice): string {
  return `${type} ${turn}/${callId} ${tool}`;
}

/** What is watched, and how it is shown. */
interface NoticeWatch {
  client: Pick<Countersign, 'inbox' | 'inboxReader'>;
  query: InboxQuery;
  /** A deadline is near so many milliseconds before it. */
  beforeMs: number;
  outbox: Outbox;
  note(text: string): void;
  signal: AbortSignal;
}

/**
 * Sends what is due now.
 *
 * @throws CountersignError `notify_failed` where something could not be delivered.
 */
export async function sendOnce({ client, query, beforeMs, outbox }: NoticeWatch): Promise<void> {
  const now = Date.now();
  const items = await client.inbox({ limit: Infinity, ...query });
  const left = await outbox.send(noticesOf(items, { now, beforeMs }), now);
  if (left === 0) return;
  throw new CountersignError('notify_failed', `${left} notices could not be delivered`, {
    hint: 'They are kept: run it again, and they come with the same ids.',
    data: { left },
  });
}

/** Sends what comes into the inbox and what expires soon, until the signal aborts. An unavailable server is asked again. */
export async function keepSending(watch: NoticeWatch): Promise<void> {
  const { client, query, beforeMs, outbox, note, signal } = watch;
  const { limit, ...filter } = query;
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
    await outbox.send(noticesOf(look.items.slice(0, limit), { now, beforeMs }), now);
  }
}

/** Which notices were delivered; on disk before the next one is sent. */
interface Sent {
  has(id: string): boolean;
  /** Resolves once it is on disk. */
  add(id: string, now: number): Promise<void>;
}

const fileSchema = z.object({ version: z.literal(1), sent: z.record(z.string(), z.number()) });

/** Hardly anything waits longer. A request that still waits then is sent once more. */
const KEEP_MS = 180 * 24 * 3600 * 1000;

/**
 * Opens the file of what was delivered, in a folder that is there; it is made with the first delivery.
 *
 * @throws CountersignError `config_invalid` for a file that is something else.
 */
export async function openSent(file: string): Promise<Sent> {
  const sent = await readSent(file);
  return {
    has: (id) => sent.has(id),
    add: async (id, now) => {
      sent.set(id, now);
      for (const [old, at] of sent) if (now - at > KEEP_MS) sent.delete(old);
      const content: z.infer<typeof fileSchema> = { version: 1, sent: Object.fromEntries(sent) };
      await replaceFile(file, `${JSON.stringify(content)}\n`);
    },
  };
}

/**
 * Makes the folder of the file.
 *
 * @throws CountersignError `config_invalid` where it cannot be made.
 */
export async function makeFolder(file: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  } catch (cause) {
    const hint = 'Name a file in a folder of your own with --state.';
    const message = `nothing can be kept in ${file}: ${errorMessage(cause)}`;
    throw new CountersignError('config_invalid', message, { hint, cause });
  }
}

async function readSent(file: string): Promise<Map<string, number>> {
  const text = await readIfThere(file);
  if (text === undefined) return new Map();
  const parsed = fileSchema.safeParse(parseJson(text));
  if (parsed.success) return new Map(Object.entries(parsed.data.sent));
  throw new CountersignError('config_invalid', `${file} is not a record of notices`, {
    hint: 'Name another file with --state, or remove it: everything that waits is then sent once more.',
  });
}
