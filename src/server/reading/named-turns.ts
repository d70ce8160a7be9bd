/** How the turns that somebody named are read. */
export interface NamedParts {
  /** Reads one turn. False: nothing has changed in it yet. Rejects where it cannot be read. */
  read(turn: string): Promise<boolean>;
  /** Called where a turn that was named will not be read, or could not be. */
  onLost(): void;
}

/** The most turns that wait to be read. */
const MOST_WAITING = 500;
/** So many reads at once at first, and then so many a second. */
const READS = { atFirst: 40, aSecond: 20 } as const;
const AT_ONCE = 8;
/**
 * Milliseconds after which a turn in which nothing has changed yet is read again. Its worker names it before the server
 * has the change.
 */
const AGAIN_MS = [50, 200, 1_000] as const;

interface Named {
  dueAt: number;
  /** How often it may be read again. */
  triesLeft: number;
}

/**
 * Reads the turns that somebody named, each a few times until something has changed in it. Whoever names turns costs
 * the server a bounded number of reads, however many they name.
 */
export class NamedTurns {
  private readonly waiting = new Map<string, Named>();
  private spare: number = READS.atFirst;
  private filledAt = performance.now();
  private reading = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: NamedParts) {}

  /** `once`: the turn is read only once. */
  add(turn: string, once = false): void {
    const before = this.waiting.get(turn);
    if (once && before !== undefined) return;
    if (before === undefined && this.waiting.size >= MOST_WAITING) return this.parts.onLost();
    this.waiting.set(turn, { dueAt: performance.now(), triesLeft: once ? 0 : AGAIN_MS.length });
    this.plan();
  }

  clear(): void {
    this.waiting.clear();
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private plan(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.reading >= AT_ONCE || this.waiting.size === 0) return;
    const now = performance.now();
    const next = Math.min(...[...this.waiting.values()].map(({ dueAt }) => dueAt));
    if (next === Infinity) return;
    const wait = Math.max(next - now, this.spareMs(now));
    this.timer = setTimeout(() => this.readDue(), Math.max(0, wait)).unref();
  }

  /** How long until another read is allowed. */
  private spareMs(now: number): number {
    this.spare = Math.min(READS.atFirst, this.spare + ((now - this.filledAt) / 1_000) * READS.aSecond);
    this.filledAt = now;
    return this.spare >= 1 ? 0 : ((1 - this.spare) / READS.aSecond) * 1_000;
  }

  private readDue(): void {
    const now = performance.now();
    for (const [turn, named] of this.waiting) {
      if (this.reading >= AT_ONCE || this.spareMs(now) > 0) break;
      if (named.dueAt > now) continue;
      this.spare -= 1;
      void this.readOne(turn, named);
    }
    this.plan();
  }

  private async readOne(turn: string, named: Named): Promise<void> {
    this.reading += 1;
    // Until its read has ended it is not due.
    named.dueAt = Infinity;
    const isChanged = await this.parts.read(turn).catch(() => undefined);
    this.reading -= 1;
    // It may have been named again meanwhile, and is then read again.
    if (this.waiting.get(turn) === named) this.note(turn, named, isChanged);
    this.plan();
  }

  private note(turn: string, { triesLeft }: Named, isChanged: boolean | undefined): void {
    this.waiting.delete(turn);
    const wait = AGAIN_MS[AGAIN_MS.length - triesLeft];
    if (isChanged === true || (wait === undefined && isChanged === false)) return;
    if (wait === undefined) return this.parts.onLost();
    this.waiting.set(turn, { dueAt: performance.now() + wait, triesLeft: triesLeft - 1 });
  }
}
