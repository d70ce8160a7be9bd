import type { TurnOrigin } from '../../contract/call';
import type { KnownState } from '../../contract/tool';
import { defined } from '../../contract/defined';
import { digestText } from '../../contract/digest';
import { LIMITS } from '../../contract/limits';
import { describeIssues } from '../../contract/read-json';
import { messageCheck, messageGuard } from '../../contract/schema/message';
import {
  SESSION_CONTROL,
  SESSION_MESSAGE,
  type CarriedSession,
  type HeldMessage,
  type MessageTaken,
  type SessionControl,
  type SessionInput,
  type SessionMessage,
  type SessionRefusal,
  type SessionRefused,
  type SessionStates,
  type TurnMemory,
  type TurnRecord,
} from '../../contract/session';
import { addSpent, noSpending, smallerOf } from '../../contract/spending/budget';
import { contentOf } from '../../contract/session/files';
import { jsonBytes, utf8Bytes, withFiles } from '../../contract/text/bytes';
import { originIssues } from '../../contract/turn';
import type { CarriedSpending } from '../../contract/spending/carried';
import type { OldestPart } from './compaction';
import { SessionMemory } from './memory';

/** The turn that runs. */
export interface RunningTurn {
  turn: string;
  message: HeldMessage;
  /** The messages that were sent to the turn. Messages that the turn does not take up are queued when it ends. */
  steering: HeldMessage[];
  cancelling: boolean;
}

/** The state of a session: a pure state machine. Message handlers and the main loop change it. */
export interface Session {
  readonly agent: string;
  /** The id of this run if a reset made it. Shared state of other runs then comes from turns that the reset undid. */
  readonly resetRun: string | undefined;
  readonly origin?: TurnOrigin;
  /** The number of the last turn. */
  turns: number;
  running: RunningTurn | undefined;
  /** The messages that wait. Turns will handle them in this order. */
  waiting: HeldMessage[];
  /** Ids of messages, oldest first, each with the beginning of the digest of its text. */
  known: Map<string, string>;
  paused: boolean;
  closing: boolean;
  memory: SessionMemory;
  /** The budget of the session, as its turns and people have set it, and what the session has spent. */
  spending: CarriedSpending;
  /**
   * See `limits.compactOver` of the agent, as the last turn reported it. Undefined: a summary is made only when
   * somebody asks for one.
   */
  compactOver: number | undefined;
  /**
   * `due`: a turn has ended, so the memory may be too long. `asked`: somebody asked. `running`: a model writes the
   * summary.
   */
  compaction: 'due' | 'asked' | 'running' | undefined;
  /** Which worker holds the state that the calls of the turns share, by `stateKeyOf`. */
  states: [string, KnownState][];
}

/** A session at its start, or as the previous run left it. */
export function makeSession({ agent, origin, budget, carried }: SessionInput, resetRun?: string): Session {
  return {
    agent,
    resetRun,
    ...defined({ origin }),
    turns: carried?.turns ?? 0,
    running: undefined,
    waiting: [...(carried?.waiting ?? [])],
    known: new Map(carried?.known),
    paused: carried?.paused ?? false,
    closing: false,
    memory: new SessionMemory(carried),
    spending: carried?.spending ?? {
      budget: smallerOf(undefined, budget),
      isSet: false,
      spent: noSpending(),
    },
    compactOver: undefined,
    compaction: undefined,
    states: statesIn({ runId: '', known: carried?.states ?? [] }, resetRun),
  };
}

/** The state for the next run. Made only between turns. */
export function carriedSession(session: Session): CarriedSession {
  const { turns, memory, waiting, known, paused, spending, states } = session;
  const held = states.length === 0 ? {} : { states };
  return { turns, waiting, known: [...known], paused, spending, ...held, ...memory.carried };
}

/**
 * The shared state as a turn left it. Where a reset made this run, the state is lost if the turn belonged to another
 * run.
 */
function statesIn({ runId, known }: SessionStates, resetRun: string | undefined): Session['states'] {
  return resetRun === undefined || resetRun === runId ? known : known.map(([key]) => [key, { lost: true }]);
}

/** A judged message. `repeat`: the same message came before. */
export type JudgedMessage =
  | { kind: 'take'; message: SessionMessage }
  | { kind: 'repeat'; message: SessionMessage }
  | { kind: 'refuse'; refused: SessionRefused };

const messageIssues = messageCheck(SESSION_MESSAGE);
const controlIssues = messageCheck(SESSION_CONTROL);
const isMessage = messageGuard(SESSION_MESSAGE);
const isControl = messageGuard(SESSION_CONTROL);

/** Judges a message from any sender. Changes nothing. */
export function judgeMessage(session: Session, value: unknown): JudgedMessage {
  if (!isMessage(value)) return refuse('malformed', `not a message: ${describeIssues(messageIssues(value))}`);
  const wrong = whyUnfit(session, value);
  if (wrong !== undefined) return refuse('malformed', wrong);
  const digest = session.known.get(value.messageId);
  if (digest !== undefined) {
    if (digest === digestOf(value)) return { kind: 'repeat', message: value };
    return refuse('message_changed', `message ${value.messageId} came before, with other content`);
  }
  if (session.closing) return refuse('session_closing', 'this session is closing and takes no more messages');
  if (!hasRoom(session, value)) return refuse('session_full', FULL);
  return { kind: 'take', message: value };
}

function whyUnfit({ agent }: Session, { text, sender, agent: wanted }: SessionMessage): string | undefined {
  if (text.trim() === '') return 'a message needs words';
  if (jsonBytes(text) > LIMITS.sessionTextBytes) return 'the text of a message is over 1 MiB';
  if (wanted !== undefined && wanted !== agent)
    return `this session is of agent ${JSON.stringify(agent)}, not ${JSON.stringify(wanted)}`;
  const issues = originIssues(defined({ requester: sender }));
  return issues.length === 0 ? undefined : `not a sender: ${describeIssues(issues)}`;
}

const FULL = `${LIMITS.sessionWaiting} messages, or 1 MiB of them, wait in this session; send again when some of them are done`;

function hasRoom({ waiting, running }: Session, message: SessionMessage): boolean {
  const held = [...waiting, ...(running?.steering ?? [])];
  if (held.length === 0) return true;
  if (held.length >= LIMITS.sessionWaiting) return false;
  const bytes = held.reduce((sum, one) => sum + bytesOf(one), bytesOf(message));
  return bytes <= LIMITS.sessionWaitingBytes;
}

function bytesOf({ text, files = [] }: Pick<SessionMessage, 'text' | 'files'>): number {
  return jsonBytes(text) + (files.length === 0 ? 0 : utf8Bytes(JSON.stringify(files)));
}

function refuse(code: SessionRefusal, message: string): Extract<JudgedMessage, { kind: 'refuse' }> {
  return { kind: 'refuse', refused: { accepted: false, code, message } };
}

/** Takes a message that `judgeMessage` accepts. `at`: workflow time, ISO 8601. */
export function takeMessage(session: Session, message: SessionMessage, at: string): MessageTaken {
  const { messageId, text, files, mode, sender } = message;
  const held = { messageId, text, mode, at, ...withFiles(files), ...defined({ sender }) };
  remember(session, messageId, digestOf(message));
  const outcome = place(session, held);
  return { accepted: true, messageId, outcome, at };
}

/** The answer to a message that came before. */
export function repeatedMessage(session: Session, { messageId }: SessionMessage, at: string): MessageTaken {
  const isWaiting = session.waiting.some((one) => one.messageId === messageId);
  return { accepted: true, messageId, outcome: isWaiting ? 'queued' : 'started', repeated: true, at };
}

function place(session: Session, held: HeldMessage): MessageTaken['outcome'] {
  const { running, waiting, paused } = session;
  if (held.mode === 'interrupt') {
    waiting.splice(interrupts(waiting), 0, held);
    if (running === undefined) return waiting[0] === held && !paused ? 'started' : 'queued';
    running.cancelling = true;
    return 'interrupting';
  }
  if (held.mode === 'steer' && running?.cancelling === false) {
    running.steering.push(held);
    return 'steering';
  }
  waiting.push(held);
  return running === undefined && waiting.length === 1 && !paused ? 'started' : 'queued';
}

/** The number of messages at the beginning of the queue that are to interrupt a turn. */
function interrupts(waiting: readonly HeldMessage[]): number {
  const first = waiting.findIndex(({ mode }) => mode !== 'interrupt');
  return first === -1 ? waiting.length : first;
}

/**
 * Remembers a message id. An id whose message still waits is never forgotten, because more ids are remembered than
 * messages may wait.
 */
function remember({ known }: Session, messageId: string, digest: string): void {
  known.set(messageId, digest);
  for (const oldest of known.keys()) {
    if (known.size <= LIMITS.sessionIds) break;
    known.delete(oldest);
  }
}

/**
 * The digest of a message's text. Half of it is enough, because nobody gains anything from two texts with the same
 * digest.
 */
function digestOf(message: SessionMessage): string {
  return digestText(contentOf(message)).slice(0, 32);
}

/** Reads a control message, or says why it is refused. Changes nothing. */
export function judgeControl(session: Session, value: unknown): SessionControl | SessionRefused {
  if (!isControl(value))
    return refuse('malformed', `not a control of a session: ${describeIssues(controlIssues(value))}`).refused;
  const { memory, running } = session;
  const turns = memory.turnsKept + (running === undefined ? 0 : 1);
  if (value.action === 'compact' && turns < 2) return refuse('nothing_to_compact', NOTHING).refused;
  return value;
}

const NOTHING =
  'there is nothing to summarize: a summary takes the place of all turns but the last, and there is no other turn word by word';

/** Applies a control message. The same message twice has the same effect as once. */
export function takeControl(session: Session, { action, cancel }: SessionControl): void {
  if (action === 'pause') session.paused = true;
  else if (action === 'resume') session.paused = false;
  else if (action === 'compact') session.compaction = session.compaction === 'running' ? 'running' : 'asked';
  else if (action === 'close') session.closing = true;
  const cancels = action === 'cancel_turn' || (action === 'close' && cancel === true);
  if (cancels && session.running !== undefined) session.running.cancelling = true;
}

/** Takes the next message for a turn. Undefined: no turn starts now. */
export function beginTurn(session: Session, turnId: (n: number) => string): RunningTurn | undefined {
  const { running, paused, closing, waiting } = session;
  if (running !== undefined || paused || closing) return undefined;
  const message = waiting.shift();
  if (message === undefined) return undefined;
  session.turns += 1;
  session.running = { turn: turnId(session.turns), message, steering: [], cancelling: false };
  return session.running;
}

/**
 * Ends the running turn and remembers what it did. Messages that it did not take up are queued, after the messages that
 * interrupted it.
 */
export function endTurn(
  session: Session,
  { entries, took: taken, tokens, compactOver = session.compactOver, spending, states }: TurnRecord,
  status: TurnMemory['status'],
): void {
  const { running, waiting } = session;
  if (running === undefined) return;
  const took = new Set(taken);
  const late = running.steering.filter(({ messageId }) => !took.has(messageId));
  waiting.splice(interrupts(waiting), 0, ...late);
  const { turn, message } = running;
  session.running = undefined;
  session.memory.add({ entries, took: taken, turn, status, messageId: message.messageId }, tokens);
  if (spending !== undefined)
    session.spending = { ...spending, spent: addSpent(session.spending.spent, spending.spent) };
  if (states !== undefined) session.states = statesIn(states, session.resetRun);
  session.compactOver = compactOver;
  session.compaction ??= 'due';
}

/**
 * The turns that a summary is to replace now, and whether somebody asked for the summary. Undefined: no summary is due.
 */
export function beginCompaction(session: Session): { part: OldestPart; isAsked: boolean } | undefined {
  const { memory, compactOver, compaction } = session;
  const isAsked = compaction === 'asked';
  const due = compactOver === undefined ? undefined : memory.oldest(compactOver);
  const part = isAsked ? memory.allButLast : due;
  const isNow = compaction !== undefined && part !== undefined;
  session.compaction = isNow ? 'running' : undefined;
  return isNow ? { part, isAsked } : undefined;
}
