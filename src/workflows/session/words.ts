import { LIMITS } from '../../contract/limits';
import type { TurnWords } from '../../contract/session';
import { contentOf } from '../../contract/session/files';
import { wordsEntry } from '../../contract/transcript';
import type { CallBasics } from '../../lifecycle/state';
import type { StepHook, Turn } from '../turn-state';
import { withRequesters } from '../../authority/votes/requesters';

/** The most words that wait in a running turn until it takes them up. */
const TURN_WORDS = 100;

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
function mayJoin({ origin, words }: Turn, { sender }: TurnWords): boolean {
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
