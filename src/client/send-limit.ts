/** Lets at most `size` jobs run at the same time. Further jobs wait in the order in which they came. */
class JobLimiter {
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly size: number) {}

  async run<T>(job: () => Promise<T>): Promise<T> {
    if (this.running >= this.size) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running += 1;
    try {
      return await job();
    } finally {
      this.leave();
    }
  }

  get isIdle(): boolean {
    return this.running === 0;
  }

  private leave(): void {
    // The place goes to the job that waits longest, so that no later job can take it first.
    const next = this.waiting.shift();
    if (next === undefined) this.running -= 1;
    else next();
  }
}

/**
 * The most messages that one client sends at the same time. Further messages would wait at the server and count as
 * unanswered.
 */
const AT_ONCE = 50;

/**
 * The most messages that go to one turn at the same time. The server takes ten updates of a run at a time, and other
 * clients may send some, too.
 */
const AT_ONCE_PER_TURN = 8;

/** Limits the sending of one client's messages: at most 50 at the same time, and at most 8 to the same turn. */
export class SendLimit {
  private readonly all = new JobLimiter(AT_ONCE);
  private readonly turns = new Map<string, JobLimiter>();

  async run<T>(turn: string, job: () => Promise<T>): Promise<T> {
    const own = this.turns.get(turn) ?? new JobLimiter(AT_ONCE_PER_TURN);
    this.turns.set(turn, own);
    try {
      // A message waits for its turn first. So many messages to one turn do not hold the places of others while they
      // wait.
      return await own.run(() => this.all.run(job));
    } finally {
      if (own.isIdle) this.turns.delete(turn);
    }
  }
}
