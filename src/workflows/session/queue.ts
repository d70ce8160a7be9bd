import { digestText } from '../../contract/digest';
import { LIMITS } from '../../contract/limits';
import { describeIssues } from '../../contract/read-json';
import { guard, soundCheck } from '../../contract/schema/message';
import {
  SESSION_MESSAGE,
  type HeldMessage,
  type MessageTaken,
  type SessionMessage,
  type SessionRefusal,
  type SessionRefused,
  textIssue,
} from '../../contract/session';
import { contentOf } from '../../contract/session/files';
import { jsonBytes, limitText, utf8Bytes, withFiles } from '../../contract/text/bytes';
import { originIssues } from '../../contract/turn';

/** The turn that runs. */
export interface RunningTurn {
  turn: string;
  message: HeldMessage;
  /** The messages that were sent to the turn. Messages that the turn does not take up are queued when it ends. */
  steering: HeldMessage[];
  cancelling: boolean;
}

/** The messages of a session: those that wait for a turn, and those that the running turn got. */
export interface MessagesOf {
  readonly agent: string;
  running: RunningTurn | undefined;
  /** The messages that wait. Turns will handle them in this order. */
  waiting: HeldMessage[];
  /** Ids of messages, oldest first, each with the beginning of the digest of its text. */
  known: Map<string, string>;
  paused: boolean;
  closing: boolean;
}

/** A judged message. `repeat`: the same message came before. */
export type JudgedMessage =
  | { kind: 'take'; message: SessionMessage }
  | { kind: 'repeat'; message: SessionMessage }
  | { kind: 'refuse'; refused: SessionRefused };

const messageIssues = soundCheck(SESSION_MESSAGE);
const isMessage = guard(SESSION_MESSAGE);

/** Judges a message from any sender. Changes nothing. */
export function judgeMessage(session: MessagesOf, value: unknown): JudgedMessage {
  if (!isMessage(value))
    return refuseMessage('malformed', `not a message: ${describeIssues(messageIssues(value))}`);
  const wrong = whyUnfit(session, value);
  if (wrong !== undefined) return refuseMessage('malformed', wrong);
  const digest = session.known.get(value.messageId);
  if (digest !== undefined) {
    if (digest === digestOf(value)) return { kind: 'repeat', message: value };
    return refuseMessage('exists', `message ${value.messageId} came before, with other content`);
  }
  if (session.closing) return refuseMessage('refused', 'this session is closing and takes no more messages');
  if (!hasRoom(session, value)) return refuseMessage('full', FULL);
  return { kind: 'take', message: value };
}

function whyUnfit({ agent }: MessagesOf, { text, sender, agent: wanted }: SessionMessage) {
  const unfit = textIssue(text);
  if (unfit !== undefined) return unfit;
  if (wanted !== undefined && wanted !== agent)
    return `this session is of agent ${JSON.stringify(agent)}, not ${JSON.stringify(wanted)}`;
  const issues = originIssues({ requester: sender });
  return issues.length === 0 ? undefined : `not a sender: ${describeIssues(issues)}`;
}

const FULL = `${LIMITS.sessionWaiting} messages, or ${limitText(LIMITS.sessionWaitingBytes)} of them, wait in this session; send again when some of them are done`;

function hasRoom({ waiting, running }: MessagesOf, message: SessionMessage) {
  const held = [...waiting, ...(running?.steering ?? [])];
  if (held.length === 0) return true;
  if (held.length >= LIMITS.sessionWaiting) return false;
  const bytes = held.reduce((sum, one) => sum + bytesOf(one), bytesOf(message));
  return bytes <= LIMITS.sessionWaitingBytes;
}

function bytesOf({ text, files = [] }: Pick<SessionMessage, 'text' | 'files'>) {
  return jsonBytes(text) + (files.length === 0 ? 0 : utf8Bytes(JSON.stringify(files)));
}

/** The verdict on a message that is refused. */
export function refuseMessage(
  code: SessionRefusal,
  message: string,
): Extract<JudgedMessage, { kind: 'refuse' }> {
  return { kind: 'refuse', refused: { accepted: false, code, message } };
}

/** Takes a message that `judgeMessage` accepts. `at`: workflow time, ISO 8601. */
export function takeMessage(session: MessagesOf, message: SessionMessage, at: string): MessageTaken {
  const { messageId, text, files, mode, sender } = message;
  const held = { messageId, text, mode, at, ...withFiles(files), sender };
  remember(session, messageId, digestOf(message));
  const outcome = enqueue(session, held);
  return { accepted: true, messageId, outcome, at };
}

/** The answer to a message that came before. */
export function repeatedMessage(
  session: MessagesOf,
  { messageId }: SessionMessage,
  at: string,
): MessageTaken {
  const isWaiting = session.waiting.some((one) => one.messageId === messageId);
  return { accepted: true, messageId, outcome: isWaiting ? 'queued' : 'started', repeated: true, at };
}

/**
 * Puts a message where its mode says: into the running turn, or into the queue. There, messages that interrupt come
 * first.
 */
function enqueue(session: MessagesOf, held: HeldMessage): MessageTaken['outcome'] {
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
function interrupts(waiting: readonly HeldMessage[]) {
  const first = waiting.findIndex(({ mode }) => mode !== 'interrupt');
  return first === -1 ? waiting.length : first;
}

/**
 * Remembers a message id. An id whose message still waits is never forgotten, because more ids are remembered than
 * messages may wait.
 */
function remember({ known }: MessagesOf, messageId: string, digest: string) {
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
function digestOf(message: SessionMessage) {
  return digestText(contentOf(message)).slice(0, 32);
}

/** Queues the messages that a turn got and did not take up, after the messages that interrupted the turn. */
export function queueLate(
  { waiting }: Pick<MessagesOf, 'waiting'>,
  { steering }: RunningTurn,
  taken: readonly string[],
): void {
  const took = new Set(taken);
  const late = steering.filter(({ messageId }) => !took.has(messageId));
  waiting.splice(interrupts(waiting), 0, ...late);
}
