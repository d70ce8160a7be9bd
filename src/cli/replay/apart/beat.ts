import type { Probe } from '../../../history/replay/replayer';

const STRETCH = 0;
const TASK = 1;

/**
 * Tells another thread what the code is at, in memory that both share: a message would come too late from a thread that
 * does not come to rest, and would cost more than the code itself takes.
 */
export class Beat implements Probe {
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
