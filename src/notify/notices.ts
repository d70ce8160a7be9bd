import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { InboxItem } from '../client';
import { digestText } from '../contract/digest';
import { CountersignError } from '../contract/errors';
import { itemKey } from '../client/inbox/live';

/**
 * The types of notices. `request.opened`, `question.opened` and `call.in_doubt`: an item waits. `request.escalated`:
 * nobody decided in time, so more people may decide. `deadline.near`: a request expires soon. `test`: nothing waits;
 * somebody checks whether notices arrive.
 */
const NOTICE_TYPES = [
  'request.opened',
  'request.escalated',
  'question.opened',
  'call.in_doubt',
  'deadline.near',
  'test',
] as const;
export type NoticeType = (typeof NOTICE_TYPES)[number];

/** One message to a receiver. The same notice keeps its id and its content, however often it is sent. */
export interface Notice {
  id: string;
  type: NoticeType;
  /** When the item began to wait, in ISO 8601. */
  timestamp: string;
  data: NoticeData;
}

/** The item of the inbox that a notice is about. */
type NoticeData = Omit<InboxItem, 'callKey'>;

/** A notice in the form in which it is stored with the delivered messages. */
export const noticeForm = z.strictObject({
  id: z.string(),
  type: z.enum(NOTICE_TYPES),
  timestamp: z.string(),
  data: z.object({
    turn: z.string(),
    agent: z.string(),
    callId: z.string(),
    tool: z.string(),
    summary: z.string(),
    prompt: z.string(),
    since: z.string(),
    deadline: z.string().nullable(),
    kind: z.enum(['request', 'question', 'in_doubt']),
  }),
});

/** The part of a notice that is stored. */
export function keptNotice({ data, ...notice }: Notice): z.output<typeof noticeForm> {
  const { lineage: _, session: __, callers: ___, ...kept } = data;
  return { ...notice, data: kept };
}

/** The facts that decide which notices are due. */
interface NoticeRules {
  /** Milliseconds since 1970. */
  now: number;
  /** How long before its deadline a request counts as near it, in milliseconds. */
  beforeMs: number;
}

/** The notices that are due for the items of an inbox. */
export function noticesOf(items: readonly InboxItem[], { now, beforeMs }: NoticeRules): Notice[] {
  return items.flatMap((item) => {
    const isNear = item.deadline !== null && Date.parse(item.deadline) - now <= beforeMs;
    // If everybody could already decide, an escalation adds nobody who could be notified.
    const isEscalated = item.kind === 'request' && item.voting?.escalatedTo !== undefined;
    const later: NoticeType[] = [
      ...(isEscalated ? (['request.escalated'] as const) : []),
      ...(isNear ? (['deadline.near'] as const) : []),
    ];
    return [OPENED[item.kind], ...later].map((type) => noticeOf(item, type));
  });
}

const OPENED: Readonly<Record<InboxItem['kind'], NoticeType>> = {
  request: 'request.opened',
  question: 'question.opened',
  in_doubt: 'call.in_doubt',
};

function noticeOf(item: InboxItem, type: NoticeType): Notice {
  const { callKey: _, ...data } = item;
  const what = [type, itemKey(item), item.deadline];
  const id = `msg_${digestText(what.join(' ')).slice(0, 32)}`;
  return { id, type, timestamp: item.since, data };
}

/** A notice that says that it is a test. Each test has a new id. */
export function testNotice(now: number): Notice {
  const since = new Date(now).toISOString();
  const data = {
    turn: 'test',
    callId: '0',
    tool: 'test',
    agent: 'test',
    prompt: '',
    since,
    deadline: null,
    kind: 'request' as const,
    summary: 'This is a test of notifications. Nothing waits for you.',
  };
  return { id: `msg_${digestText(randomUUID()).slice(0, 32)}`, type: 'test', timestamp: since, data };
}

/**
 * A receiver of notices. Its errors say what went wrong. A `CountersignError` can carry `data.retryInMs`, the least
 * time before the next attempt, and `data.holdsAll` if that time applies to every notice.
 */
export interface Receiver {
  /** The name for output. It holds no secret. */
  name: string;
  /** The targets of a notice. Each gets its own delivery. Absent: there is one receiver without a name. */
  targetsOf?(notice: Notice): Promise<readonly string[]>;
  /** Resolves when the receiver has accepted the notice. */
  deliver(notice: Notice, signal: AbortSignal, target?: string): Promise<void>;
  /** Checks whether the receiver could be reached, without sending a notice. Resolves with the result in words. */
  check?(signal: AbortSignal): Promise<string>;
  /** The delivered messages that need a change now. `open`: the notices about all items that wait. */
  outdated?(open: readonly Notice[], now: number): Promise<readonly Correction[]>;
  /** Takes people's answers until the signal aborts. Rejects only if it cannot continue. */
  listen?(signal: AbortSignal): Promise<void>;
}

/** A change of a message that was delivered. */
export interface Correction {
  /** The key of the change. It stays the same for every attempt. */
  key: string;
  /** What the change is about, for output. */
  about: string;
  act(signal: AbortSignal): Promise<void>;
}

/** An error of a channel. */
export function notifyFailure(message: string, data: Record<string, unknown> = {}): CountersignError {
  return new CountersignError('failed', message, { data });
}
