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

  private leave(): void {
    // The place goes to the job that waits longest, so that no later job can take it first.
    const next = this.waiting.shift();
    if (next === undefined) this.running -= 1;
    else next();
  }
}
