import type { WorkflowBundleOption } from '@temporalio/worker';
import type { Observed } from '../../history/replay/explain';
import type { packHistory } from './sdk';
import type { Probe } from '../../history/replay/replayer';
import { LONGEST_TIMER_MS } from '../../tools/wait-within';

/** The code that a separate process uses to replay, and the most time that it may take. */
export interface Setup {
  workflowBundle: WorkflowBundleOption;
  /** The most time that the code may work on one workflow task, in milliseconds. */
  taskTimeoutMs: number;
  /** The file of the workers' keys. Absent: the keys of the environment are used. */
  keyFile?: string;
}

/** A run to replay. */
export interface Ask {
  turn: string;
  history: ReturnType<typeof packHistory>;
}

/**
 * The result of one run, or the reason why nothing can be replayed. `isLast`: the process cannot replay another run.
 */
export type ReplayAnswer = { observed: Observed; error?: Error; isLast?: boolean } | { broken: string };

/** The data that the thread gets when it starts. */
export interface ThreadData {
  setup: Setup;
  /** The shared memory of a `ProgressCounter`. */
  counter: SharedArrayBuffer;
}

/** The answer to a run that the process does not survive. */
export function stuckAnswer(stuck: NonNullable<Observed['stuck']>): ReplayAnswer {
  return { observed: { done: new Map(), stuck }, isLast: true };
}

const STRETCH = 0;
const TASK = 1;

/**
 * Shows another thread what the code is working on, in memory that both threads share. We do not send messages: a
 * thread that never rests would send them too late, and they would cost more time than the code itself.
 */
export class ProgressCounter implements Probe {
  private readonly cells: Int32Array;

  constructor(readonly shared: SharedArrayBuffer = new SharedArrayBuffer(8)) {
    this.cells = new Int32Array(shared);
  }

  /** Called when the code begins to work on a workflow task, with the id of the task's started event. */
  busy(startedId: number): void {
    Atomics.store(this.cells, TASK, startedId);
    Atomics.add(this.cells, STRETCH, 1);
  }

  /** Called when the code has come to rest. */
  idle(): void {
    Atomics.add(this.cells, STRETCH, 1);
  }

  /**
   * The workflow task that the code is working on, and a number that differs for each stretch of work. Undefined at
   * rest.
   */
  read(): { startedId: number; stretch: number } | undefined {
    const stretch = Atomics.load(this.cells, STRETCH);
    return stretch % 2 === 0 ? undefined : { startedId: Atomics.load(this.cells, TASK), stretch };
  }
}

/** The number of looks at the code until its deadline. */
const LOOKS = 20;

/**
 * Finds code that does not come to rest. It counts its looks and does not measure time: code that was stopped, or whose
 * machine slept, had no time to come to rest.
 */
export class RestCheck {
  private seen: number | undefined;
  private times = 0;

  constructor(private readonly counter: Pick<ProgressCounter, 'read'>) {}

  /** The workflow task that the code has been working on for too long, by the id of the task's started event. */
  look(): number | undefined {
    const now = this.counter.read();
    this.times = now?.stretch === this.seen ? this.times + 1 : 0;
    this.seen = now?.stretch;
    return now && this.times >= LOOKS ? now.startedId : undefined;
  }
}

/** Resolves with the workflow task that the code has been working on for `ms` milliseconds. */
export function overdue(counter: ProgressCounter, ms: number): Promise<number> {
  const deadline = new RestCheck(counter);
  return new Promise((resolve) => {
    const timer = setInterval(
      () => {
        const startedId = deadline.look();
        if (startedId === undefined) return;
        clearInterval(timer);
        resolve(startedId);
      },
      Math.min(ms / LOOKS, LONGEST_TIMER_MS),
    );
  });
}
