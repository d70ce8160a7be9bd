/** Lets at most `size` jobs run at the same time. Further jobs wait in the order in which they came. */
export class JobLimiter {
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

  get isFull(): boolean {
    return this.running >= this.size;
  }

  get isIdle(): boolean {
    return this.running === 0;
  }

  private leave() {
    // The place goes to the job that waits longest, so that no later job can take it first.
    const next = this.waiting.shift();
    if (next === undefined) this.running -= 1;
    else next();
  }
}

/** Lets at most `size` jobs of one key run at the same time, and of all keys no more than `all` lets. */
export class KeyedLimiter {
  private readonly limiters = new Map<string, JobLimiter>();

  constructor(
    private readonly size: number,
    private readonly all?: JobLimiter,
  ) {}

  isFull(key: string): boolean {
    return this.limiters.get(key)?.isFull === true;
  }

  async run<T>(key: string, job: () => Promise<T>): Promise<T> {
    const { all } = this;
    const own = this.limiters.get(key) ?? new JobLimiter(this.size);
    this.limiters.set(key, own);
    try {
      // A job waits for its key first. So many jobs of one key do not hold the places of others while they wait.
      return await own.run(all === undefined ? job : () => all.run(job));
    } finally {
      if (own.isIdle && this.limiters.get(key) === own) this.limiters.delete(key);
    }
  }
}
