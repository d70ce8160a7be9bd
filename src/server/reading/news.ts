import { CountersignError } from '../../contract/errors';
import type { Countersign } from '../../client/types';
import { NEWS, type SendNews, type TurnNews } from '../../contract/streamed-text';

/** The result of a read of visibility. */
export interface PastRead {
  error?: unknown;
  /** Whether there is more to read. */
  isPart?: boolean;
  /** Whether more items wait than one read returns. */
  isLong?: boolean;
  /** The time that the read took, in milliseconds. */
  tookMs: number;
}

/** Milliseconds between two reads of visibility. */
export interface PaceTimes {
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

export const PACE: PaceTimes = { usual: 500, told: 5_000, toldOfMany: 1_000 };

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
    return this.past === undefined ? 0 : Math.max(0, this.past.at + this.restMs(this.past.read) - this.now());
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
function forget(times: Map<string, number>, before: number): void {
  for (const [turn, at] of times) {
    if (at >= before && times.size <= MOST_KEPT) return;
    times.delete(turn);
  }
}

/** The functions that read named turns. */
export interface NamedParts {
  /** Reads one turn. False: nothing has changed in it yet. Rejects if the turn cannot be read. */
  read(turn: string): Promise<boolean>;
  /** Called if a turn will not be read, or could not be read. */
  onLost(turn: string): void;
  /** Called if turns wait longer than they should. */
  onLate(): void;
}

/** The most turns of each kind that wait to be read. */
const MOST_WAITING = 500;
/** The number of reads that are allowed immediately, and the number that is added each second. */
const READS = { atFirst: 40, aSecond: 20 } as const;
const AT_ONCE = 8;
/**
 * If nothing has changed in a turn, it is read again after these times, in milliseconds. A worker reports a turn before
 * the server has the change.
 */
const AGAIN_MS = [50, 200, 1_000] as const;
/** A named turn that has waited this long counts as late, in milliseconds. */
const NAMED_MS = 1_000;
/** After this time a doubted turn is left to visibility, which has caught up by then. In milliseconds. */
const DOUBTED_MS = 2_000;

interface Named {
  dueAt: number;
  /** The number of further attempts to read the turn. */
  triesLeft: number;
}

/**
 * Reads two kinds of turns: named turns, a few times until something has changed in them, and doubted turns, once.
 * Named turns may come from anybody. Doubted turns are turns for which visibility and our own reads differ. The two
 * kinds alternate, so that many named turns do not delay doubted turns. A turn is never read twice at the same time,
 * because the older answer could arrive last. The number of reads is limited, however many turns are named.
 */
export class NamedTurns {
  private readonly named = new Map<string, Named>();
  /** The doubted turns, and the time since which each waits. */
  private readonly doubted = new Map<string, number>();
  private readonly reading = new Set<string>();
  private wasDoubted = false;
  private round = 0;
  private spare: number = READS.atFirst;
  private filledAt = performance.now();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: NamedParts) {}

  /** Reads a turn that has changed or is about to change. */
  add(turn: string): void {
    const { dueAt = Infinity } = this.named.get(turn) ?? {};
    if (dueAt === Infinity && this.named.size >= MOST_WAITING) return this.parts.onLost(turn);
    // A turn that is named again keeps its place.
    this.named.set(turn, { dueAt: Math.min(dueAt, performance.now()), triesLeft: AGAIN_MS.length });
    this.plan();
  }

  /** Reads a turn once, because visibility and our own reads of the turn differ. */
  doubt(turn: string): void {
    if (this.doubted.has(turn) || this.reading.has(turn)) return;
    if (this.doubted.size >= MOST_WAITING) return this.parts.onLost(turn);
    this.doubted.set(turn, performance.now());
    this.plan();
  }

  clear(): void {
    this.round += 1;
    this.named.clear();
    this.doubted.clear();
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private plan(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.reading.size >= AT_ONCE) return;
    const now = performance.now();
    const dueAt = Math.min(this.nextDoubted()?.dueAt ?? Infinity, this.nextNamed()?.dueAt ?? Infinity);
    if (dueAt === Infinity) return;
    const wait = Math.max(dueAt - now, this.spareMs(now));
    this.timer = setTimeout(() => this.readDue(), Math.max(0, wait)).unref();
  }

  /** The time until another read is allowed. */
  private spareMs(now: number): number {
    this.spare = Math.min(READS.atFirst, this.spare + ((now - this.filledAt) / 1_000) * READS.aSecond);
    this.filledAt = now;
    return this.spare >= 1 ? 0 : ((1 - this.spare) / READS.aSecond) * 1_000;
  }

  private readDue(): void {
    const now = performance.now();
    this.giveUp(now);
    while (this.reading.size < AT_ONCE && this.spareMs(now) === 0) {
      const turn = this.nextDue(now);
      if (turn === undefined) break;
      this.spare -= 1;
      void this.readOne(turn);
    }
    this.plan();
  }

  /** Reports that turns are late, and leaves doubted turns that waited too long to visibility. */
  private giveUp(now: number): void {
    if ((this.nextNamed()?.dueAt ?? now) < now - NAMED_MS) this.parts.onLate();
    for (const [turn, since] of this.doubted) {
      if (since > now - DOUBTED_MS) return;
      this.doubted.delete(turn);
      this.parts.onLost(turn);
    }
  }

  /** The turn to read now. */
  private nextDue(now: number): string | undefined {
    const [named, doubted] = [this.nextNamed(), this.nextDoubted()];
    const dueNamed = named !== undefined && named.dueAt <= now ? named.turn : undefined;
    this.wasDoubted = doubted !== undefined && (dueNamed === undefined || !this.wasDoubted);
    return this.wasDoubted ? doubted?.turn : dueNamed;
  }

  /** The named turn that has been due for the longest time. */
  private nextNamed(): { turn: string; dueAt: number } | undefined {
    let next: { turn: string; dueAt: number } | undefined;
    for (const [turn, { dueAt }] of this.named)
      if (dueAt < (next?.dueAt ?? Infinity) && !this.reading.has(turn)) next = { turn, dueAt };
    return next;
  }

  /** The turn that has been doubted for the longest time. */
  private nextDoubted(): { turn: string; dueAt: number } | undefined {
    for (const [turn, dueAt] of this.doubted) if (!this.reading.has(turn)) return { turn, dueAt };
    return undefined;
  }

  private async readOne(turn: string): Promise<void> {
    const { round } = this;
    const { triesLeft = 0 } = this.named.get(turn) ?? {};
    this.named.delete(turn);
    this.doubted.delete(turn);
    this.reading.add(turn);
    const isChanged = await this.parts.read(turn).catch(() => undefined);
    this.reading.delete(turn);
    // A turn that was named again meanwhile is read again.
    if (round === this.round && !this.named.has(turn)) this.note(turn, triesLeft, isChanged);
    this.plan();
  }

  private note(turn: string, triesLeft: number, isChanged: boolean | undefined): void {
    const wait = AGAIN_MS[AGAIN_MS.length - triesLeft];
    if (isChanged === true || (wait === undefined && isChanged === false)) return;
    if (wait === undefined) return this.parts.onLost(turn);
    this.named.set(turn, { dueAt: performance.now() + wait, triesLeft: triesLeft - 1 });
  }
}

/** Passes on reports of workers in the same namespace. */
export function newsFor(
  { namespace }: Pick<Countersign, 'namespace'>,
  feed: { hear(news: TurnNews): void },
): SendNews {
  return async (news) => {
    if (news.namespace === namespace) feed.hear(news);
  };
}

/** An event that wakes all of its waiters. */
export interface AsyncEvent {
  fire(): void;
  /** Resolves when the event fires, or after this many milliseconds. */
  wait(ms?: number): Promise<void>;
}

/** An event without waiters yet. */
export function createAsyncEvent(): AsyncEvent {
  const waiting = new Set<() => void>();
  return {
    fire: () => [...waiting].forEach((wake) => wake()),
    wait: (ms) =>
      new Promise((resolve) => {
        const timer = ms === undefined ? undefined : setTimeout(() => wake(), ms);
        const wake = (): void => {
          clearTimeout(timer);
          waiting.delete(wake);
          resolve();
        };
        waiting.add(wake);
      }),
  };
}
