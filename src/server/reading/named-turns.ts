import type { Countersign } from '../../client/countersign';
import type { SendNews, TurnNews } from '../../contract/streamed-text';

/** The functions that read named turns. */
interface NamedParts {
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
    const dueNamed = named && named.dueAt <= now ? named.turn : undefined;
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
