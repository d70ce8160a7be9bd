import { CountersignError } from '../../contract/errors';
import { NEWS, type TurnNews } from '../../contract/streamed-text';

/** The result of a read of visibility. */
interface PastRead {
  error?: unknown;
  /** Whether there is more to read. */
  isPart?: boolean;
  /** Whether more items wait than one read returns. */
  isLong?: boolean;
  /** The time that the read took, in milliseconds. */
  tookMs: number;
}

/** Milliseconds between two reads of visibility. */
interface PaceTimes {
  /**
   * If workers may have requests that they do not report. Visibility lags a little, so a request is seen within a
   * second.
   */
  usual: number;
  /**
   * If workers report every request. Visibility then only finds requests that workers cannot know, and reports that
   * were lost.
   */
  told: number;
  /** If workers report every request, and one read returns only a part of the items that wait. */
  toldOfMany: number;
}

const PACE: PaceTimes = { usual: 500, told: 5_000, toldOfMany: 1_000 };

/**
 * A wait lasts at least this many times as long as the read before it, so a busy server spends at most half of its time
 * on us.
 */
const IDLE_RATIO = 1;
/** A server that does not answer is asked less often. Its waits are longer by this factor. */
const TROUBLE_FACTOR = 4;
/**
 * The largest random addition to a wait, as a share of the wait. It makes two web inboxes that started together drift
 * apart.
 */
const JITTER = 0.1;

/** A worker that has not reported for this long counts as gone: two of its beats, and a little more. */
const SILENT_MS = NEWS.beatMs * 2.5;
/** The time after which a report about a turn counts as lost. */
const LATE_MS = 2_000;
/** The time for which a report about a turn is remembered. */
const KEPT_MS = 60_000;
const MOST_KEPT = 5_000;
/** The time for which visibility is read at the usual pace after it showed a request that no worker reported. */
const UNTOLD_MS = 5 * 60_000;
/**
 * The time for which visibility is read at the usual pace after an incomplete report, or a report that could not be
 * followed up.
 */
const PART_MS = 15_000;

/** Decides when visibility is read again. It is read less often while workers report their requests. */
export class Pace {
  private heardAt = -Infinity;
  private usualUntil = -Infinity;
  private jitter = 1;
  private isHurried = false;
  private past: { read: PastRead; at: number } | undefined;
  /** The turns that workers reported, and the turns that only visibility showed, each with its time. */
  private readonly told = new Map<string, number>();
  private readonly untold = new Map<string, number>();

  constructor(
    private readonly times: PaceTimes = PACE,
    /** The clock of the process. It does not go back when somebody sets the time of day back. */
    private readonly now: () => number = () => performance.now(),
  ) {}

  hear({ turns, isPart }: TurnNews): void {
    this.heardAt = this.now();
    if (isPart === true) this.doubt();
    for (const turn of turns) {
      this.untold.delete(turn);
      this.told.delete(turn);
      this.told.set(turn, this.heardAt);
    }
    forget(this.told, this.heardAt - KEPT_MS);
  }

  /**
   * Notes the turns in which visibility showed a new request. If workers do not name them in time, visibility is read at
   * the usual pace again.
   */
  found(turns: readonly string[]): void {
    const now = this.now();
    forget(this.told, now - KEPT_MS);
    for (const turn of turns) if (!this.told.has(turn) && !this.untold.has(turn)) this.untold.set(turn, now);
    for (const [turn, at] of this.untold) {
      if (at > now - LATE_MS) break;
      this.untold.delete(turn);
      this.usualUntil = Math.max(this.usualUntil, now + UNTOLD_MS);
    }
    forget(this.untold, -Infinity);
  }

  /** Notes that a report could not be followed up. */
  doubt(): void {
    this.usualUntil = Math.max(this.usualUntil, this.now() + PART_MS);
  }

  /** Whether workers seem to report all requests. */
  get isTold(): boolean {
    return this.now() < this.heardAt + SILENT_MS && this.now() >= this.usualUntil;
  }

  /** Notes that a read begins. */
  begin(): void {
    this.isHurried = false;
  }

  /** Notes that a read has ended. */
  end(read: PastRead): void {
    this.jitter = 1 + Math.random() * JITTER;
    // A read that began before the call of `hurry` may have missed the change that `hurry` was called for.
    this.past = this.isHurried ? undefined : { read, at: this.now() };
  }

  /** Makes the next read due now. */
  hurry(): void {
    this.isHurried = true;
    this.past = undefined;
  }

  /** The time until the next read is due. */
  dueInMs(): number {
    return this.past ? Math.max(0, this.past.at + this.restMs(this.past.read) - this.now()) : 0;
  }

  /** The wait after a read. Its random part stays the same until the next read. */
  private restMs({ error, isPart, isLong = false, tookMs }: PastRead): number {
    // The next part is read immediately: the client itself waits between its requests.
    if (isPart === true) return 0;
    if (error instanceof CountersignError && typeof error.data['retryInMs'] === 'number')
      return error.data['retryInMs'];
    const { usual, told, toldOfMany } = this.times;
    // A failed read took long because we waited, so the wait after it does not grow with its length.
    if (error !== undefined) return usual * TROUBLE_FACTOR * this.jitter;
    const rest = this.isTold ? (isLong ? toldOfMany : told) : usual;
    return Math.max(rest, tookMs * IDLE_RATIO) * this.jitter;
  }
}

/** Forgets entries that are too old. If there are still too many entries, forgets the oldest ones. */
function forget(times: Map<string, number>, before: number) {
  for (const [turn, at] of times) {
    if (at >= before && times.size <= MOST_KEPT) return;
    times.delete(turn);
  }
}
