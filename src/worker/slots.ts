import type {
  ActivitySlotInfo,
  CustomSlotSupplier,
  SlotInfo,
  SlotPermit,
  SlotReleaseContext,
  SlotReserveContext,
  TunerHolder,
  WorkerOptions,
  WorkflowSlotInfo,
} from '@temporalio/worker';

/**
 * The most tasks at the same time: as many activities as in the SDK, and more workflow tasks, so that a burst can be
 * noticed.
 */
const WORKFLOW_TASKS = 60;
const ACTIVITIES = 100;

/** This many workflow tasks at the same time are a burst. 32 turns that only take their steps cannot make so many. */
const BURST = 36;

/** A burst ends when there are fewer tasks than this. */
const CALM = 4;

/**
 * The longest rest, and the least time between two rests, in milliseconds. A worker that gets many messages all day
 * also has to run its activities.
 */
const LONGEST_MS = 10_000;

/**
 * Keeps a worker from starting activities during a burst of workflow tasks. If many decisions arrive together, each
 * approver gets an answer before the calls of the others run.
 */
export class ActivityRest {
  private tasks = 0;
  private longEndedAt = -Infinity;
  private timer: NodeJS.Timeout | undefined;

  /** `onEnd` is called when activities may start again. */
  constructor(private readonly onEnd: () => void) {}

  get isOn(): boolean {
    return this.timer !== undefined;
  }

  /** Notes that a workflow task began (1) or ended (-1). */
  count(by: 1 | -1): void {
    this.tasks += by;
    if (this.isOn) {
      if (this.tasks < CALM) this.end();
    } else if (this.tasks >= BURST && performance.now() - this.longEndedAt >= LONGEST_MS) this.begin();
  }

  private begin() {
    this.timer = setTimeout(() => {
      this.longEndedAt = performance.now();
      this.end();
    }, LONGEST_MS).unref();
  }

  private end() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.onEnd();
  }
}

/** Slots of one kind. They are given in the order of the requests, and no slots are given while `isClosed` is true. */
export class Slots<I extends SlotInfo> implements CustomSlotSupplier<I> {
  readonly type = 'custom';
  private free: number;
  private readonly waiting = new Set<() => void>();

  constructor(
    size: number,
    private readonly isClosed: () => boolean,
    private readonly count: (by: 1 | -1) => void = () => undefined,
  ) {
    this.free = size;
  }

  async reserveSlot(_context: SlotReserveContext, signal: AbortSignal): Promise<SlotPermit> {
    signal.throwIfAborted();
    const permit = this.tryReserveSlot();
    if (permit !== null) return permit;
    return new Promise<SlotPermit>((resolve, reject) => {
      const take = () => {
        signal.removeEventListener('abort', leave);
        this.waiting.delete(take);
        resolve(this.give());
      };
      const leave = () => {
        this.waiting.delete(take);
        // If the SDK itself asked for the abort, the SDK accepts only its own reason.
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      this.waiting.add(take);
    });
  }

  tryReserveSlot(): SlotPermit | null {
    return this.canGive() ? this.give() : null;
  }

  markSlotUsed(): void {
    this.count(1);
  }

  releaseSlot({ slotInfo }: Pick<SlotReleaseContext<I>, 'slotInfo'>): void {
    this.free += 1;
    // A poll that brought no task gives its slot back unused.
    if (slotInfo !== undefined) this.count(-1);
    this.giveToWaiting();
  }

  /** Gives free slots to the waiting requests. */
  giveToWaiting(): void {
    for (const take of this.waiting) {
      if (!this.canGive()) return;
      take();
    }
  }

  private give(): SlotPermit {
    this.free -= 1;
    return {};
  }

  private canGive() {
    return this.free > 0 && !this.isClosed();
  }
}

/** How a worker that takes turns shares its time between workflow tasks and activities. */
export function makeTuner(): TunerHolder {
  const rest = new ActivityRest(() => activities.giveToWaiting());
  const activities = new Slots<ActivitySlotInfo>(ACTIVITIES, () => rest.isOn);
  const workflowTasks = new Slots<WorkflowSlotInfo>(
    WORKFLOW_TASKS,
    () => false,
    (by) => rest.count(by),
  );
  return {
    workflowTaskSlotSupplier: workflowTasks,
    activityTaskSlotSupplier: activities,
    localActivityTaskSlotSupplier: { type: 'fixed-size', numSlots: ACTIVITIES },
    nexusTaskSlotSupplier: { type: 'fixed-size', numSlots: ACTIVITIES },
  };
}

/** The options of the SDK that say how many tasks a worker takes. The SDK takes either a tuner or such numbers. */
const SLOT_OPTIONS = [
  'tuner',
  'maxConcurrentWorkflowTaskExecutions',
  'maxConcurrentActivityTaskExecutions',
  'maxConcurrentLocalActivityExecutions',
  'maxConcurrentNexusTaskExecutions',
] as const;

/** Whether the options of a worker say how many tasks it takes at the same time. */
export function hasOwnSlots(own: Partial<WorkerOptions>): boolean {
  return SLOT_OPTIONS.some((name) => own[name] !== undefined);
}
