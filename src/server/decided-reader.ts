import { LRUCache } from 'lru-cache';
import { type DecidedAnswer, type DecidedCall, readDecided } from '../client/decided';
import type { Countersign } from '../client/types';
import type { Permit } from '../contract/authority/permits';

/** Reads what people decided, and how it ended. */
export interface DecidedReader {
  /**
   * What a user decided in the newest turns that they see, and in the turns in which they decided through this web
   * inbox. The answer is at most 3 seconds old.
   *
   * @throws CountersignError as `Countersign.list` and `timeline`.
   */
  read(user: string, permit: Pick<Permit, 'agents'>): Promise<DecidedAnswer>;
  /** Notes that a user decided in a turn, so that this turn is read however old it is. */
  note(user: string, turn: string): void;
}

/** How long an answer is kept, so that a reload does not read again. */
const FRESH_MS = 3_000;
const USERS = 100;
/** How many turns of one user are read apart from the newest. */
const OWN_TURNS = 100;
/** How long a turn that has ended is remembered: a reset can open it again. */
const ENDED_MS = 5 * 60_000;
const ENDED_TURNS = 2_000;

/** Makes a reader that reads turns that have ended once, and the other turns each time. */
export function createDecidedReader(
  readerOf: (permit: Pick<Permit, 'agents'>) => Pick<Countersign, 'list' | 'timeline'>,
): DecidedReader {
  const known = new LRUCache<string, readonly DecidedCall[]>({ max: ENDED_TURNS, ttl: ENDED_MS });
  const own = new LRUCache<string, LRUCache<string, true>>({ max: USERS });
  const answers = new LRUCache<string, { of: string; answer: Promise<DecidedAnswer> }>({
    max: USERS,
    ttl: FRESH_MS,
  });
  return {
    read: (user, permit) => {
      const of = JSON.stringify(permit.agents);
      const fresh = answers.get(user);
      if (fresh?.of === of) return fresh.answer;
      const also = [...(own.get(user)?.keys() ?? [])];
      const answer = readDecided(readerOf(permit), { approver: user, also }, known);
      answers.set(user, { of, answer });
      // After a failure the next request reads again.
      answer.catch(() => answers.delete(user));
      return answer;
    },
    note: (user, turn) => {
      const turns = own.get(user) ?? new LRUCache<string, true>({ max: OWN_TURNS });
      turns.set(turn, true);
      own.set(user, turns);
      answers.delete(user);
    },
  };
}
