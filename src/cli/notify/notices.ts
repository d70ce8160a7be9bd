import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { InboxItem } from '../../client';
import { isPlaceOf } from '../../contract/authority/open-votes';
import type { StandIn } from '../../contract/authority/places';
import { defined } from '../../contract/defined';
import { digestText } from '../../contract/digest';
import { itemKey } from '../live-inbox';
import { NOBODY_AWAY, type WhoIsAway } from '../../client/control/who-is-away';

/** The file of channels: looked for in the current directory where none is named. */
export const CHANNELS_FILE = 'notify.yaml';

/**
 * `request.opened`, `question.opened` and `call.in_doubt`: something waits; `request.escalated`: nobody decided in time, so
 * more people may; `request.delegated`: somebody who may decide is away since then, so another may in their place;
 * `deadline.near`: a request expires soon; `test`: nothing waits, somebody looks whether notices arrive.
 */
export const NOTICE_TYPES = [
  'request.opened',
  'request.escalated',
  'request.delegated',
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
  /** When it began to wait; ISO 8601. */
  timestamp: string;
  data: NoticeData;
}

/** What a notice is about. */
export interface NoticeData extends Omit<InboxItem, 'callKey'> {
  /** Who may decide in whose place, where the notice is of that. */
  delegated?: Delegated | undefined;
}

/** Who stands in for whom, until when, and by which out-of-office. */
export type Delegated = Omit<StandIn, 'since'>;

/** A notice as it is kept beside what was sent. */
export const noticeForm = z.strictObject({
  id: z.string(),
  type: z.enum(NOTICE_TYPES),
  timestamp: z.string(),
  data: z.object({
    ...{ turn: z.string(), agent: z.string(), callId: z.string(), tool: z.string(), summary: z.string() },
    ...{ prompt: z.string(), since: z.string(), deadline: z.string().nullable() },
    kind: z.enum(['request', 'question', 'in_doubt']),
    delegated: z
      .object({ voter: z.string(), person: z.string(), entry: z.string(), until: z.string() })
      .optional(),
  }),
});

/** What is kept of a notice. */
export function keptNotice({ data, ...notice }: Notice): z.output<typeof noticeForm> {
  const { lineage: _, session: __, callers: ___, ...kept } = data;
  return { ...notice, data: kept };
}

/** When a deadline is near. */
export interface NoticeRules {
  /** Milliseconds since 1970. */
  now: number;
  /** Milliseconds before the deadline. */
  beforeMs: number;
  /** Who stands in for whom now, and among whom they are. */
  away?: WhoIsAway;
}

/** The notices that an inbox gives rise to. */
export function noticesOf(items: readonly InboxItem[], { now, beforeMs, away }: NoticeRules): Notice[] {
  return items.flatMap((item) => {
    const isNear = item.deadline !== null && Date.parse(item.deadline) - now <= beforeMs;
    // Where everybody could decide before, there is nobody to be notified of it.
    const isEscalated = item.kind === 'request' && item.voting?.escalatedTo !== undefined;
    const later: NoticeType[] = [
      ...(isEscalated ? (['request.escalated'] as const) : []),
      ...(isNear ? (['deadline.near'] as const) : []),
    ];
    const notices = [OPENED[item.kind], ...later].map((type) => noticeOf(item, type));
    return [...notices, ...delegatedOf(item, away)];
  });
}

/** Who was away before it waited is thought of when it opens. */
function delegatedOf(item: InboxItem, { standIns, people }: WhoIsAway = NOBODY_AWAY): Notice[] {
  const { kind, voting } = item;
  if (kind !== 'request' || voting === undefined) return [];
  return standIns.flatMap(({ since, ...one }) => {
    const whom = { person: one.voter, standIns, ...defined({ people }) };
    const isLater = since > Date.parse(item.since);
    return isLater && isPlaceOf(whom, one.person, voting) ? [noticeOf(item, 'request.delegated', one)] : [];
  });
}

const OPENED: Readonly<Record<InboxItem['kind'], NoticeType>> = {
  request: 'request.opened',
  question: 'question.opened',
  in_doubt: 'call.in_doubt',
};

function noticeOf(item: InboxItem, type: NoticeType, delegated?: Delegated): Notice {
  const { callKey: _, ...data } = item;
  const what = [type, itemKey(item), item.deadline, ...(delegated === undefined ? [] : [delegated.entry])];
  const id = `msg_${digestText(what.join(' ')).slice(0, 32)}`;
  return { id, type, timestamp: item.since, data: { ...data, ...defined({ delegated }) } };
}

/** A notice that says that it is a test. Each one has an id of its own. */
export function testNotice(now: number): Notice {
  const since = new Date(now).toISOString();
  const data = {
    ...{ turn: 'test', callId: '0', tool: 'test', agent: 'test', prompt: '', since, deadline: null },
    ...{ kind: 'request' as const, summary: 'This is a test of notifications. Nothing waits for you.' },
  };
  return { id: `msg_${digestText(randomUUID()).slice(0, 32)}`, type: 'test', timestamp: since, data };
}

/**
 * Where notices go. What it throws says what is wrong. An error of ours can carry `data.retryInMs`, before which nothing
 * is tried again, and `data.holdsAll` where that goes for every notice.
 */
export interface Receiver {
  /** For what is printed; holds no secret. */
  name: string;
  /** Each of these is sent the notice on its own. Absent: there is one receiver, and it has no name. */
  targetsOf?(notice: Notice): Promise<readonly string[]>;
  /** Resolves when the receiver took it. */
  deliver(notice: Notice, signal: AbortSignal, target?: string): Promise<void>;
  /** Looks whether it could be reached, and sends nothing. In words what was found. */
  check?(signal: AbortSignal): Promise<string>;
  /** What was delivered before and has to be changed by now, where these are the notices of all that waits. */
  outdated?(open: readonly Notice[], now: number): Promise<readonly Correction[]>;
  /** Takes what people answer, until the signal aborts. Rejects with nothing but what it cannot go on from. */
  listen?(signal: AbortSignal): Promise<void>;
}

/** A change of something that was delivered. */
export interface Correction {
  /** The same for each try. */
  key: string;
  /** For what is printed. */
  about: string;
  act(signal: AbortSignal): Promise<void>;
}
