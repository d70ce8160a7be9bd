import type { WorkflowBundleOption } from '@temporalio/worker';
import type { Observed } from '../../history/replay/explain';
import type { PackedHistory } from './sdk';
import type { Probe } from '../../history/replay/replayer';

/** With which code a process of its own replays, and how long that may take. */
export interface Setup {
  workflowBundle: WorkflowBundleOption;
  /** How long the code may work on one workflow task, in milliseconds. */
  taskTimeoutMs: number;
  /** Keys of the workers; without, those of the environment. */
  keyFile?: string;
}

/** A run to replay. */
export interface Ask {
  turn: string;
  history: PackedHistory;
}

/** The result of one run, or why nothing can be replayed. `isLast`: the process cannot replay another run. */
export type Answer = { observed: Observed; error?: Error; isLast?: boolean } | { broken: string };

/** What the thread is given. */
export interface ThreadData {
  setup: Setup;
  /** Of a `ProgressCounter`. */
  counter: SharedArrayBuffer;
}

/** The answer to a run that the process does not survive. */
export function stuckAnswer(stuck: NonNullable<Observed['stuck']>): Answer {
  return { observed: { done: new Map(), stuck }, isLast: true };
}

const STRETCH = 0;
const TASK = 1;

/**
 * Tells another thread what the code is at, in memory that both share: a message would come too late from a thread that
 * does not come to rest, and would cost more than the code itself takes.
 */
export class ProgressCounter implements Probe {
  private readonly cells: Int32Array;

  constructor(readonly shared: SharedArrayBuffer = new SharedArrayBuffer(8)) {
    this.cells = new Int32Array(shared);
  }

  /** The code begins to work on a workflow task, by the id of its started event. */
  busy(startedId: number): void {
    Atomics.store(this.cells, TASK, startedId);
    Atomics.add(this.cells, STRETCH, 1);
  }

  /** It has come to rest. */
  idle(): void {
    Atomics.add(this.cells, STRETCH, 1);
  }

  /** The workflow task that the code is at, and a number that is another one each time; undefined at rest. */
  read(): { startedId: number; stretch: number } | undefined {
    const stretch = Atomics.load(this.cells, STRETCH);
    return stretch % 2 === 0 ? undefined : { startedId: Atomics.load(this.cells, TASK), stretch };
  }
}

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

  constructor(private readonly counter: Pick<ProgressCounter, 'read'>) {}

  /** The workflow task that the code has been at for too long, by the id of its started event. */
  look(): number | undefined {
    const now = this.counter.read();
    this.times = now?.stretch === this.seen ? this.times + 1 : 0;
    this.seen = now?.stretch;
    return now !== undefined && this.times >= LOOKS ? now.startedId : undefined;
  }
}

/** Resolves with the workflow task that the code has been at for `ms` milliseconds. */
export function overdue(counter: ProgressCounter, ms: number): Promise<number> {
  const deadline = new Deadline(counter);
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
