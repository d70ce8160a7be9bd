import type { Beat } from './beat';

/** How often the code is looked at until its deadline. */
const LOOKS = 20;
/** The longest that a timer of Node waits. */
const LONGEST_MS = 2 ** 31 - 1;

/**
 * Finds code that does not come to rest. Looks are counted, not time: code that was stopped, or slept along with its
 * machine, has had no time to rest either.
 */
export class Deadline {
  private seen: number | undefined;
  private times = 0;

  constructor(private readonly beat: Pick<Beat, 'read'>) {}

  /** The workflow task that the code has been at for too long, by the id of its started event. */
  look(): number | undefined {
    const now = this.beat.read();
    this.times = now?.stretch === this.seen ? this.times + 1 : 0;
    this.seen = now?.stretch;
    return now !== undefined && this.times >= LOOKS ? now.startedId : undefined;
  }
}

/** Looks until the code has been at one workflow task for so many milliseconds, and tells which. */
export function overdue(beat: Beat, ms: number): Promise<number> {
  const deadline = new Deadline(beat);
  return new Promise((resolve) => {
    const timer = setInterval(
      () => {
        const startedId = deadline.look();
        if (startedId === undefined) return;
        clearInterval(timer);
        resolve(startedId);
      },
      Math.min(ms / LOOKS, LONGEST_MS),
    );
  });
}
