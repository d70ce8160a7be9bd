import { JobLimiter } from '../contract/job-limiter';

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
