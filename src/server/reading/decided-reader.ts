import { LRUCache } from 'lru-cache';
import { type DecidedAnswer, type DecidedCall, readDecided } from '../../client/decided';
import type { Permit } from '../../authority/rules/permits';
import type { Countersign } from '../../client/countersign';
import { SharedRead } from './shared-read';

/** The time for which an answer is kept, in milliseconds, so that a reload does not read again. */
const FRESH_MS = 3_000;
const USERS = 100;
/** The most turns of one user that are read in addition to the newest turns. */
const OWN_TURNS = 100;
/**
 * The time for which a turn that has ended is remembered, in milliseconds. The time is limited because a reset can open
 * the turn again.
 */
const ENDED_MS = 5 * 60_000;
const ENDED_TURNS = 2_000;

/**
 * Reads the decisions of people, and how the calls ended. It reads a turn that has ended only once, and the other turns
 * each time.
 */
export class DecidedReader {
  private readonly ended = new LRUCache<string, readonly DecidedCall[]>({ max: ENDED_TURNS, ttl: ENDED_MS });
  private readonly own = new LRUCache<string, LRUCache<string, true>>({ max: USERS });
  private readonly reads = new LRUCache<string, { of: string; read: SharedRead<DecidedAnswer> }>({
    max: USERS,
  });

  constructor(
    private readonly readerOf: (permit: Pick<Permit, 'agents'>) => Pick<Countersign, 'list' | 'timeline'>,
  ) {}

  /**
   * The decisions of a user in the newest turns that they see, and in the turns in which they decided through this web
   * inbox. Without a user, the decisions of everybody. A read that goes on is shared, and its answer is kept for 3
   * seconds.
   *
   * @throws CountersignError as `Countersign.list` and `timeline`.
   */
  read(approver: string | undefined, permit: Pick<Permit, 'agents'>): Promise<DecidedAnswer> {
    const of = JSON.stringify(permit.agents);
    const user = approver ?? '';
    const known = this.reads.get(user);
    if (known?.of === of && known.read.isFresh) return known.read.answer;
    const also = [...(this.own.get(user)?.keys() ?? [])];
    const answer = readDecided(this.readerOf(permit), { approver, also }, this.ended);
    const read = new SharedRead(answer, FRESH_MS);
    this.reads.set(user, { of, read });
    return read.answer;
  }

  /** Notes that a user decided in a turn, so that this turn is read even if it is old. */
  note(user: string, turn: string): void {
    const turns = this.own.get(user) ?? new LRUCache<string, true>({ max: OWN_TURNS });
    turns.set(turn, true);
    this.own.set(user, turns);
    this.reads.delete(user);
  }
}
