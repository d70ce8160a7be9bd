import type { RawValue } from '@temporalio/common';
import { isObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { SESSION_CONTROL, SESSION_MESSAGE, type TurnWords } from '../../contract/session';
import { areFiles, contentOf } from '../../contract/session/files';
import { withFiles } from '../../contract/text/bytes';
import { originIssues } from '../../contract/turn';
import { wordsEntry } from '../../contract/transcript';
import type { CallBasics } from '../../lifecycle/state';
import { bounds, readMessage } from '../messages';
import type { StepHook, Turn } from '../turn-state';
import { withRequesters } from '../../authority/votes/requesters';

/** The most words that wait in a running turn until it takes them up. */
const TURN_WORDS = 100;

/** The limits of the messages to a session, and of those that it hands to its turn as words. */
export const SESSION_BOUNDS = {
  send: bounds('message', SESSION_MESSAGE, LIMITS.sessionMessageBytes),
  control: bounds('control of a session', SESSION_CONTROL),
  words: {
    what: 'message of a session',
    bytes: LIMITS.sessionMessageBytes,
    fields: ['messageId', 'text', 'files', 'sender'],
  },
};

/** New words that arrived in time keep the turn open if it may take more steps. */
export const WORDS: StepHook = {
  goesOn: ({ words, step, maxSteps }) => words.waiting.length > 0 && step < maxSteps,
  carry: ({ words }) => (words.waiting.length + words.took.length === 0 ? {} : { words }),
};

/**
 * Keeps new words for the next `think`. Each message id counts once. Words that do not fit are left to the session,
 * which queues them.
 */
export function addWords(turn: Turn, added: TurnWords | undefined): void {
  const { words, transcript } = turn;
  if (added === undefined || words.waiting.length >= TURN_WORDS || !mayJoin(turn, added)) return;
  // The ids go along to the next run.
  if (words.waiting.length + words.took.length >= LIMITS.sessionIds) return;
  const { messageId } = added;
  if (words.took.includes(messageId) || words.waiting.some((one) => one.messageId === messageId)) return;
  const waiting = [...words.waiting, added].map(contentOf);
  if (transcript.hasRoomFor(waiting.join(' '))) words.waiting.push(added);
}

/** Reads new words for a turn. Undefined: they cannot be read. Never throws. */
export function readWords(message: RawValue | undefined): TurnWords | undefined {
  const read = readMessage(message, SESSION_BOUNDS.words);
  const value = read.ok ? read.value : undefined;
  if (!isObject(value)) return undefined;
  const { messageId, text, sender, files } = value;
  const isId = typeof messageId === 'string' && messageId !== '' && messageId.length <= 64;
  if (!isId || typeof text !== 'string' || text.trim() === '') return undefined;
  const isName = typeof sender === 'string' && originIssues({ requester: sender }).length === 0;
  return {
    messageId,
    text,
    sender: isName ? sender : undefined,
    ...(areFiles(files) ? withFiles(files) : {}),
  };
}

/** Takes up the words that arrived since the model was last asked. False: there are none. */
export function takeUpWords(turn: Turn): boolean {
  const { words, transcript } = turn;
  const taken = words.waiting.splice(0);
  noteRequesters(
    turn,
    taken.flatMap(({ sender }) => sender ?? []),
  );
  words.took.push(...taken.map(({ messageId }) => messageId));
  transcript.add(...taken.map(wordsEntry));
  return taken.length > 0;
}

/**
 * Whether the sender of new words can still be noted as a requester. Otherwise the words are left to the next turn of the
 * session: whoever is not noted could decide on what they asked for.
 */
function mayJoin({ origin, words }: Turn, { sender }: TurnWords) {
  const { requester, others = [] } = origin ?? {};
  // Words without a sender are the requester's.
  const noted = new Set([undefined, requester, ...others, ...words.waiting.map((one) => one.sender)]);
  return noted.has(sender) || noted.size <= LIMITS.turnSenders;
}

/** Notes people whose words the model reads as requesters of everything that the turn does from now on. */
export function noteRequesters(turn: Pick<Turn, 'origin'>, names: Iterable<string>): void {
  const origin = withRequesters(turn.origin, names);
  if (Object.keys(origin).length > 0) turn.origin = origin;
}

/** Who asked for a call: whoever asked for its turn, and whoever edited it. */
export function originOfCall({ origin }: Pick<Turn, 'origin'>, { editors }: CallBasics): Turn['origin'] {
  return editors === undefined ? origin : withRequesters(origin, editors);
}
