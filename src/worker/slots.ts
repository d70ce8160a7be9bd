import type {
  ActivitySlotInfo,
  CustomSlotSupplier,
  SlotPermit,
  SlotReserveContext,
  TunerHolder,
  WorkerOptions,
} from '@temporalio/worker';

/** As many activities at the same time as in the SDK, and more workflow tasks, as each decision makes one. */
const WORKFLOW_TASKS = 60;
const ACTIVITIES = 100;

/** This many decisions in a row are a burst if none comes later than `GAP_MS` after the one before. */
const BURST = 10;
const GAP_MS = 100;

/** A burst ends when there was no decision for this time, in milliseconds. */
const CALM_MS = 500;

/** How often a worker looks whether a burst has ended, in milliseconds. */
const LOOK_EVERY_MS = 20;

/**
 * The longest rest, and the least time between two rests, in milliseconds. A worker that gets many messages all day
 * also has to run its activities.
 */
const LONGEST_MS = 10_000;

/**
 * Keeps a worker from starting activities during a burst of decisions, so that each approver gets an answer before the
 * calls of the others run.
 */
class ActivityRest {
  private inARow = 0;
  private latest = -Infinity;
  private longEndedAt = -Infinity;
  private timer: NodeJS.Timeout | undefined;

  /** `onEnd` is called when activities may start again. */
  constructor(private readonly onEnd: () => void) {}

  get isOn(): boolean {
    return this.timer !== undefined;
  }

  /** Notes that a call no longer waits for a decision. */
  note(): void {
    const now = performance.now();
    this.inARow = now - this.latest < GAP_MS ? this.inARow + 1 : 1;
    this.latest = now;
    if (this.inARow >= BURST && !this.isOn && now - this.longEndedAt >= LONGEST_MS) this.begin(now);
  }

  private begin(began: number) {
    this.timer = setInterval(() => {
      const now = performance.now();
      const isLong = now - began >= LONGEST_MS;
      if (!isLong && now - this.latest < CALM_MS) return;
      if (isLong) this.longEndedAt = now;
      clearInterval(this.timer);
      this.timer = undefined;
      this.onEnd();
    }, LOOK_EVERY_MS).unref();
  }
}

/** Slots for activities. They are given in the order of the requests, and no slots are given while `isClosed` is true. */
export class ActivitySlots implements CustomSlotSupplier<ActivitySlotInfo> {
  readonly type = 'custom';
  private readonly waiting = new Set<() => void>();

  constructor(
    private free: number,
    private readonly isClosed: () => boolean,
  ) {}

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
    // A slot counts from when it is given, also while its poll waits for a task.
  }

  releaseSlot(): void {
    this.free += 1;
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

/**
 * How a worker that takes turns shares its time between workflow tasks and activities. `rest` wants to know of each
 * decision. Slots of ours for workflow tasks would cost a step 3 % of the worker's processor time.
 */
export function makeTuner(): { tuner: TunerHolder; rest: ActivityRest } {
  const rest = new ActivityRest(() => activities.giveToWaiting());
  const activities = new ActivitySlots(ACTIVITIES, () => rest.isOn);
  const others = { type: 'fixed-size', numSlots: ACTIVITIES } as const;
  const tuner: TunerHolder = {
    workflowTaskSlotSupplier: { type: 'fixed-size', numSlots: WORKFLOW_TASKS },
    activityTaskSlotSupplier: activities,
    localActivityTaskSlotSupplier: others,
    nexusTaskSlotSupplier: others,
  };
  return { tuner, rest };
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
