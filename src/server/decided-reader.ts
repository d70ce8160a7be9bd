import { LRUCache } from 'lru-cache';
import { type DecidedAnswer, type DecidedCall, readDecided } from '../client/decided';
import type { Countersign } from '../client/types';
import type { Permit } from '../contract/authority/permits';

/** Reads what people decided, and how it ended. */
export interface DecidedReader {
  /**
   * What a user decided in the newest turns that they see, and in those that they decided in here. The answer is at most 3
   * seconds old.
   *
   * @throws CountersignError as `Countersign.list` and `timeline`.
   */
  read(user: string, permit: Pick<Permit, 'agents'>): Promise<DecidedAnswer>;
  /** A user decided in a turn: it is looked at however old it is. */
  note(user: string, turn: string): void;
}

/** A reload does not read again. */
const FRESH_MS = 3_000;
const USERS = 100;
/** Turns of one user that are looked at beside the newest. */
const OWN_TURNS = 100;
/** A reset can open a turn again, so what is known of one that ended is not kept for good. */
const ENDED_MS = 5 * 60_000;
const ENDED_TURNS = 2_000;

/** A reader that reads a turn that has ended once, and the others anew. */
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
      // The next look tries again.
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
