import type { TurnOrigin } from '../../contract/call';
import { readRecord } from '../../contract/session/conversation';
import { defined } from '../../contract/defined';
import { isObject } from '../../contract/json';
import { ACTIVITIES, SIGNALS, UPDATES, WORKFLOWS } from '../../contract/names';
import {
  CONTROLS,
  type HeldMessage,
  MODES,
  SESSION_TURN_ENDS,
  type SessionControl,
  type SessionTurnEnd,
} from '../../contract/session';
import type { DecodedEvent, EventOf } from '../decode/events';
import { rootOf } from '../decode/failure';
import { is } from '../fold/guards';
import { sessionIs } from './guards';
import { type HistorySource, nextRun, readChain, type ReadOptions, readRun } from '../read';

/** One turn of a session. */
export interface SessionTurn {
  turn: string;
  status: SessionTurnEnd | 'running' | 'not_started';
  /** The message that it is about. */
  messageId: string;
  /** Words of a person; absent where only the next run's memory of it is left and has none. */
  prompt?: string;
  answer?: string;
  /** Messages that it took up while it ran. */
  took: string[];
  error?: string;
  /** ISO 8601; absent where the run that had it is gone. */
  startedAt?: string;
  endedAt?: string;
}

/** Where an event of a session stands. */
interface Head {
  /** Of the session's run. */
  eventId: number;
  /** ISO 8601. */
  at: string;
}

/** A run of a session begins: its first one, or one that goes on from another. */
export interface SessionStarted extends Head {
  type: 'session_started';
  session: string;
  runId: string;
  agent: string;
  taskQueue: string;
  origin?: TurnOrigin;
  /** Turns of earlier runs, whose events may be gone. */
  earlier: SessionTurn[];
  /** Messages that still waited. */
  waiting: HeldMessage[];
}

/** A person said something. A signal that the session refused is among them. */
export interface MessageReceived extends Head, HeldMessage {
  type: 'message';
}

export interface SessionTurnStarted extends Head {
  type: 'turn_started';
  turn: string;
  messageId: string;
  prompt: string;
}

export interface SessionTurnEnded extends Head {
  type: 'turn_ended';
  turn: string;
  status: SessionTurnEnd | 'not_started';
  answer?: string;
  /** Messages that it took up while it ran. */
  took: string[];
  /** Why it failed. */
  error?: string;
}

/** A turn that gave no result was asked what it had done. */
export interface SessionTurnRecalled extends Head {
  type: 'turn_recalled';
  turn: string;
  /** Messages that it took up while it ran. */
  took: string[];
}

/** Somebody paused, resumed or closed the session, or cancelled its turn. */
export interface SessionControlled extends Head {
  type: 'control';
  action: SessionControl['action'];
  cancel?: true;
  sender?: string;
  reason?: string;
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
  | SessionTurnStarted
  | SessionTurnEnded
  | SessionTurnRecalled
  | SessionControlled
  | SessionEnded;

/**
 * The events of a session, through every run it continued in.
 *
 * @throws CountersignError as `readTurn`.
 */
export async function* readSession(
  source: HistorySource,
  session: string,
  { live = false, signal = new AbortController().signal, onCaughtUp }: ReadOptions = {},
): AsyncGenerator<SessionEvent> {
  const owner = { type: 'workflow', namespace: source.namespace, workflowId: session } as const;
  const fold = createSessionFold();
  const runs = await readChain(source, session);
  for (let runId = runs.shift(); runId !== undefined;) {
    let next: string | undefined;
    const caughtUp = runs.length === 0 ? onCaughtUp : undefined;
    const run = { turn: session, runId, live, signal, ...defined({ onCaughtUp: caughtUp }) };
    for await (const raw of readRun(source, run)) {
      const event = await source.decode(raw, owner);
      next = (await nextRun(source, { turn: session, runId, event }))?.runId ?? next;
      const made = fold(event);
      if (made !== undefined && !(made.type === 'session_ended' && next !== undefined)) yield made;
    }
    if (signal.aborted) return;
    runId = next;
  }
}

/** Makes what tells what one event of a session's history after the other means; undefined: nothing. It never throws. */
export function createSessionFold(): (event: DecodedEvent) => SessionEvent | undefined {
  const recalls = new Map<number, string>();
  return (event) => {
    if (event.kind === 'started') recalls.clear();
    if (event.kind === 'activity_scheduled' && event.activityType === ACTIVITIES.recall) {
      const { input } = event;
      if (isObject(input) && typeof input['turn'] === 'string') recalls.set(event.eventId, input['turn']);
    }
    if (event.kind !== 'activity_completed') return sessionEvent(event);
    const turn = recalls.get(event.scheduledEventId);
    const took = readRecord(event.result)?.took;
    if (turn === undefined || took === undefined) return undefined;
    return { type: 'turn_recalled', eventId: event.eventId, at: event.at, turn, took };
  };
}

function sessionEvent(event: DecodedEvent): SessionEvent | undefined {
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
      return event.name === SIGNALS.control ? controlOf(head, event.input) : undefined;
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
  const { agent, origin, carried } = input;
  const earlier = (carried?.memory ?? []).map(
    ({ turn: id, status, messageId, took, entries }): SessionTurn => {
      const prompt = entries.find((entry) => entry.kind === 'words');
      const answer = entries.findLast((entry) => entry.kind === 'reply');
      return {
        ...{ turn: id, status, messageId, took },
        ...defined({ prompt: prompt?.text, answer: status === 'answered' ? answer?.text : undefined }),
      };
    },
  );
  const started: SessionStarted = {
    type: 'session_started',
    ...{ eventId, at, session: turn, runId, agent, taskQueue },
    ...defined({ origin }),
    earlier,
    waiting: carried?.waiting ?? [],
  };
  return started;
}

function messageOf(head: Head, input: unknown): MessageReceived | undefined {
  if (!sessionIs.message(input)) return undefined;
  const { messageId, text, sender } = input;
  const mode = MODES.find((one) => one === input.mode);
  return mode && { type: 'message', ...head, messageId, text, mode, ...defined({ sender }) };
}

function controlOf(head: Head, input: unknown): SessionControlled | undefined {
  if (!sessionIs.control(input)) return undefined;
  const { cancel, sender, reason } = input;
  const action = CONTROLS.find((one) => one === input.action);
  return action && { type: 'control', ...head, action, ...defined({ cancel, sender, reason }) };
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
  };
}

function turnEnded(head: Head, { child, end }: EventOf<'child_ended'>): SessionTurnEnded {
  const result = end.kind === 'completed' && is.turnResult(end.result) ? end.result : undefined;
  const status = SESSION_TURN_ENDS.find((one) => one === (result?.status ?? end.kind)) ?? 'answered';
  const error = end.kind === 'failed' || end.kind === 'foreign' ? end.message : undefined;
  return {
    ...{ type: 'turn_ended', ...head, turn: child, status, took: result?.conversation?.took ?? [] },
    ...defined({ answer: result?.answer, error }),
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
