import type { TurnOrigin } from '../../contract/call';
import { isTranscriptEntry } from '../../contract/transcript';
import type { Budget } from '../../contract/spending/budget';
import type { Usage } from '../../contract/spending/usage';
import type { CarriedSpending } from '../../contract/spending/carried';
import { readCompactOutput, readRecord } from '../../contract/session/conversation';
import type { FileRef } from '../../contract/session/files';
import { isObject } from '../../contract/json';
import { TURN_ENDS, type TurnEnd } from '../../contract/turn-states';
import { ACTIVITIES, SIGNALS, UPDATES, WORKFLOWS, MEMO } from '../../contract/names';
import {
  type HeldMessage,
  type ConversationSummary,
  SESSION_REFUSALS,
  type SessionControl,
  type SessionRefusal,
} from '../../contract/session';
import type { DecodedEvent, EventOf } from '../decode/events';
import { rootOf } from '../decode/failure';
import { is } from '../fold/guards';
import { sessionIs } from './guards';
import { KeptTurns } from './kept-turns';

/** One turn of a session. */
export interface SessionTurn {
  turn: string;
  status: TurnEnd | 'running' | 'not_started';
  /** The message that the turn handles. */
  messageId: string;
  /**
   * The person's words. Absent if only the memory that the next run took along is left, and that has no words of
   * this turn.
   */
  prompt?: string;
  /** The files that came with the prompt. Absent if there were none. */
  files?: FileRef[];
  answer?: string;
  /** The messages that the turn took up while it ran. */
  took: string[];
  error?: string;
  /** ISO 8601. Absent if the start is in an earlier run of the session whose history is gone. */
  startedAt?: string;
  endedAt?: string;
}

/** Where a session event comes from. */
interface Head {
  /** The history event in the session's run. */
  eventId: number;
  /** ISO 8601. */
  at: string;
}

/** A run of a session begins: the first run, or a run that continues another. */
export interface SessionStarted extends Head {
  type: 'session_started';
  session: string;
  runId: string;
  agent: string;
  taskQueue: string;
  origin?: TurnOrigin;
  /** Turns of earlier runs, whose events may be gone. */
  earlier: SessionTurn[];
  /** The summary in place of turns whose words the session no longer has. */
  summary?: ConversationSummary;
  /** The messages that waited when the run began. */
  waiting: HeldMessage[];
  /** No turn starts before somebody resumes it. */
  paused?: true;
  /** The budget that the session was started with. */
  budget?: Budget;
  /** What the session may spend and has spent, if an earlier run says this. */
  spending?: CarriedSpending;
}

/** A person sent a message. If the session refused it, a `message_refused` event follows. */
export interface MessageReceived extends Head, HeldMessage {
  type: 'message';
}

interface SessionTurnStarted extends Head {
  type: 'turn_started';
  turn: string;
  messageId: string;
  prompt: string;
  /** The files that come with the prompt. Absent if there are none. */
  files?: FileRef[];
}

interface SessionTurnEnded extends Head {
  type: 'turn_ended';
  turn: string;
  status: TurnEnd | 'not_started';
  answer?: string;
  /** The messages that the turn took up while it ran. */
  took: string[];
  /** Why the turn failed. */
  error?: string;
  /** What the session may spend from then on, and what this turn has spent. */
  spending?: CarriedSpending;
}

/** A turn without a result was asked what it had done. */
interface SessionTurnRecalled extends Head {
  type: 'turn_recalled';
  turn: string;
  /** The messages that the turn took up while it ran. */
  took: string[];
  /** What the session may spend from then on, and what the turn has spent. */
  spending?: CarriedSpending;
}

/** A model wrote a summary. The summary replaced the oldest turns that the session still had word by word. */
export interface SessionCompacted extends Head {
  type: 'compacted';
  /** The number of turns that the summary replaced, apart from turns that were summarized before. */
  turns: number;
  text: string;
  model: string;
  usage?: Usage;
}

/** No model wrote a summary. If one is needed, the oldest outputs are dropped instead. */
export interface SessionNotCompacted extends Head {
  type: 'compaction_failed';
  turns: number;
  error: string;
}

export interface SessionEnded extends Head {
  type: 'session_ended';
  status: 'closed' | 'cancelled' | 'failed' | 'terminated' | 'timed_out';
  error?: string;
}

/** What happens in a session, from its history. */
export type SessionEvent =
  | SessionStarted
  | MessageReceived
  | MessageRefused
  | SessionTurnStarted
  | SessionTurnEnded
  | SessionTurnRecalled
  | SessionCompacted
  | SessionNotCompacted
  | SessionControlled
  | SessionEnded;

/**
 * Makes a function that takes the events of a session's history in order, and returns the session event that each
 * makes. It returns undefined for an event that makes none, and it never throws.
 */
export function createSessionFold(): (event: DecodedEvent) => SessionEvent | undefined {
  const asked = new Map<number, (end: EndOfActivity) => SessionEvent | undefined>();
  const refusals = new Refusals();
  const kept = new KeptTurns();
  const meaning = (event: DecodedEvent): SessionEvent | undefined => {
    if (event.kind === 'started') {
      asked.clear();
      refusals.begin();
    }
    if (event.kind === 'activity_scheduled') {
      const read = readerOf(event);
      if (read !== undefined) asked.set(event.eventId, read);
      return undefined;
    }
    if (event.kind !== 'activity_completed' && event.kind !== 'activity_failed')
      return refusals.of(event) ?? sessionEvent(event, kept);
    return asked.get(event.scheduledEventId)?.(event);
  };
  return (event) => {
    const found = meaning(event);
    if (found !== undefined) kept.follow(found);
    return found;
  };
}

/** The event of an activity that completed or failed. */
type EndOfActivity = EventOf<'activity_completed' | 'activity_failed'>;

/** The reader for the end of an activity of the session. Undefined if the activity is not one of ours. */
function readerOf({
  activityType,
  input,
}: EventOf<'activity_scheduled'>): ((end: EndOfActivity) => SessionEvent | undefined) | undefined {
  if (!isObject(input)) return undefined;
  const { turn, turns } = input;
  if (activityType === ACTIVITIES.recall && typeof turn === 'string') return (end) => recalled(turn, end);
  if (activityType === ACTIVITIES.compact && typeof turns === 'number') return (end) => compacted(turns, end);
  return undefined;
}

function recalled(turn: string, end: EndOfActivity): SessionTurnRecalled | undefined {
  const record = end.kind === 'activity_completed' ? readRecord(end.result) : undefined;
  if (record === undefined) return undefined;
  const { took, spending } = record;
  return { type: 'turn_recalled', eventId: end.eventId, at: end.at, turn, took, spending };
}

function compacted(turns: number, end: EndOfActivity): SessionCompacted | SessionNotCompacted {
  const head = { eventId: end.eventId, at: end.at, turns };
  const output = end.kind === 'activity_completed' ? readCompactOutput(end.result) : undefined;
  if (output !== undefined) return { type: 'compacted', ...head, ...output };
  const error = end.kind === 'activity_failed' ? rootOf(end.failure).message : 'its result cannot be read';
  return { type: 'compaction_failed', ...head, error };
}

function sessionEvent(event: DecodedEvent, kept: KeptTurns): SessionEvent | undefined {
  const { eventId, at } = event;
  const head = { eventId, at };
  switch (event.kind) {
    case 'started':
      return startedOf(event);
    case 'update_accepted':
      if (event.name === UPDATES.send) return messageOf(head, event.input);
      return event.name === UPDATES.control ? controlOf(head, event.input) : undefined;
    case 'signaled':
      if (event.name === SIGNALS.send) return messageOf(head, event.input);
      return event.name === SIGNALS.control ? controlOf(head, event.input, kept) : undefined;
    case 'child_initiated':
      return turnStarted(head, event);
    case 'child_not_started':
      return { type: 'turn_ended', ...head, turn: event.child, status: 'not_started', took: [] };
    case 'child_ended':
      return turnEnded(head, event);
    default:
      return endedOf(head, event);
  }
}

function startedOf({ eventId, at, turn, runId, taskQueue, workflowType, input }: EventOf<'started'>) {
  if (workflowType !== WORKFLOWS.session || !sessionIs.input(input)) return undefined;
  const { agent, origin, budget, carried } = input;
  const earlier = (carried?.memory ?? []).map(
    ({ turn: id, status, messageId, took, entries }): SessionTurn => {
      const known = entries.filter((entry) => isTranscriptEntry(entry));
      const prompt = known.find((entry) => entry.kind === 'words');
      const answer = known.findLast((entry) => entry.kind === 'reply');
      return {
        turn: id,
        status,
        messageId,
        took,
        prompt: prompt?.text,
        files: prompt?.files,
        answer: status === 'answered' ? answer?.text : undefined,
      };
    },
  );
  const started: SessionStarted = {
    type: 'session_started',
    eventId,
    at,
    session: turn,
    runId,
    agent,
    taskQueue,
    origin,
    budget,
    spending: carried?.spending,
    earlier,
    summary: carried?.summary,
    paused: carried?.paused === true ? (true as const) : undefined,
    waiting: carried?.waiting ?? [],
  };
  return started;
}

function messageOf(head: Head, input: unknown): MessageReceived | undefined {
  if (!sessionIs.message(input) || input.text.trim() === '') return undefined;
  const { messageId, text, files, mode, sender } = input;
  return { type: 'message', ...head, messageId, text, mode, files, sender };
}

function turnStarted(
  head: Head,
  { child, input }: EventOf<'child_initiated'>,
): SessionTurnStarted | undefined {
  if (!is.turnInput(input)) return undefined;
  return {
    type: 'turn_started',
    ...head,
    turn: child,
    messageId: input.session?.messageId ?? '',
    prompt: input.prompt,
    files: input.files,
  };
}

function turnEnded(head: Head, { child, end }: EventOf<'child_ended'>): SessionTurnEnded {
  const result = end.kind === 'completed' && is.turnResult(end.result) ? end.result : undefined;
  const status = TURN_ENDS.find((one) => one === (result?.status ?? end.kind)) ?? 'answered';
  const error = end.kind === 'failed' || end.kind === 'foreign' ? end.message : undefined;
  const { took = [], spending } = readRecord(result?.conversation) ?? {};
  return {
    type: 'turn_ended',
    ...head,
    turn: child,
    status,
    took,
    answer: result?.answer,
    error,
    spending,
  };
}

function endedOf(head: Head, event: DecodedEvent): SessionEnded | undefined {
  const ended = { type: 'session_ended', ...head } as const;
  switch (event.kind) {
    case 'completed':
      return { ...ended, status: 'closed' };
    case 'canceled':
      return { ...ended, status: 'cancelled' };
    case 'failed':
      return { ...ended, status: 'failed', error: rootOf(event.failure).message };
    case 'terminated':
      return { ...ended, status: 'terminated', error: event.reason };
    case 'timed_out':
      return { ...ended, status: 'timed_out' };
    default:
      return undefined;
  }
}

/**
 * The session refused a message that is on record. The message came by signal, or together with other messages that
 * left no room for it.
 */
export interface MessageRefused {
  type: 'message_refused';
  eventId: number;
  /** ISO 8601. */
  at: string;
  messageId: string;
  code: SessionRefusal;
}

/** Somebody paused, resumed, compacted or closed the session, or cancelled its turn. */
export interface SessionControlled {
  type: 'control';
  /** The history event in the session's run. */
  eventId: number;
  /** ISO 8601. */
  at: string;
  action: SessionControl['action'];
  cancel?: true;
  sender?: string;
  reason?: string;
  /** Why the session refused to do it, if the control came by signal. */
  refused?: SessionRefusal;
}

type Refused = Pick<MessageRefused, 'messageId' | 'code'>;

/**
 * Finds the messages that a run refused. The memo names each refused message that came by signal. A message that its
 * validator let through and its handler then refused has an update that fails.
 */
class Refusals {
  private readonly updates = new Map<string, string>();
  private noted = '';

  /** A run begins. */
  begin() {
    this.updates.clear();
    this.noted = '';
  }

  /**
   * The refusal that an event shows. Undefined if it shows none. It must be called with the events of a run in
   * order.
   */
  of(event: DecodedEvent): MessageRefused | undefined {
    const { eventId, at } = event;
    const refused = this.refusedBy(event);
    return refused && { type: 'message_refused', eventId, at, ...refused };
  }

  private refusedBy(event: DecodedEvent): Refused | undefined {
    if (event.kind === 'memo') return this.newest(event.fields[MEMO.session]);
    if (event.kind === 'update_accepted' && event.name === UPDATES.send && sessionIs.message(event.input))
      this.updates.set(event.updateId, event.input.messageId);
    if (event.kind !== 'update_completed' || event.failure === undefined) return undefined;
    const messageId = this.updates.get(event.updateId);
    const { type } = event.failure;
    const code = SESSION_REFUSALS.find((one) => one === type);
    return messageId === undefined || code === undefined ? undefined : { messageId, code };
  }

  /** The refusal that a memo adds. The session adds them one at a time, at the end of the list. */
  private newest(memo: unknown): Refused | undefined {
    const list = sessionIs.memo(memo) ? (memo.refused ?? []) : [];
    const text = JSON.stringify(list);
    const last = text === this.noted ? undefined : list.at(-1);
    this.noted = text;
    return last?.messageId === undefined ? undefined : { messageId: last.messageId, code: last.code };
  }
}

/**
 * Reads what somebody did with a session. Undefined if the input cannot be read.
 * @param kept Only for a control by signal, because an update that is refused is not on record.
 */
function controlOf(
  head: Pick<SessionControlled, 'eventId' | 'at'>,
  input: unknown,
  kept?: KeptTurns,
): SessionControlled | undefined {
  if (!sessionIs.control(input)) return undefined;
  const { action, cancel, sender, reason } = input;
  const refused = kept?.refuses(action);
  return { type: 'control', ...head, action, cancel, sender, reason, refused };
}
