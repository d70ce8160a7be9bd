import type { ValidCall } from '../contract/call';
import { type KnownState, stateKeyOf, type StateHolder, type UsedState } from '../contract/tool';

/** What is known about the shared state of one group of calls. */
interface Known extends KnownState {
  /** The call that waits on the task queue of its tool. The worker that takes this call will hold the state. */
  beginner?: string;
}

type Of = Pick<ValidCall, 'callId' | 'settings'>;

/**
 * Knows which worker holds the state that calls of a turn share. The first call of a group finds a worker on the task
 * queue of its tool, and the other calls wait for that. Later calls go to the task queue of that worker alone. If
 * that worker is gone, the next call finds another worker.
 */
export class StateHolders {
  private readonly groups: Map<string, Known>;

  /** @param carried The state from the previous run. */
  constructor(carried: Iterable<[string, KnownState]> = []) {
    this.groups = new Map(carried);
  }

  /** Whether a call may be scheduled now. False: another call is about to find the worker that will hold its state. */
  isFree(call: Of): boolean {
    const { holder, beginner } = this.of(call) ?? {};
    return holder !== undefined || beginner === undefined || beginner === call.callId;
  }

  /**
   * If no holder is known, marks this call as the call that finds a holder. False: another call is about to find
   * one.
   */
  reserve(call: Of): boolean {
    if (!this.isFree(call)) return false;
    const known = this.of(call);
    if (known !== undefined && known.holder === undefined)
      this.put(call, { ...known, beginner: call.callId });
    return true;
  }

  /** What a call needs to know about its state when it is scheduled. Undefined if it shares no state. */
  place(call: Of): KnownState | undefined {
    const known = this.of(call);
    if (known === undefined) return undefined;
    this.reserve(call);
    if (known.holder !== undefined) return { holder: known.holder };
    return known.lost === true ? { lost: true } : {};
  }

  /** Notes that the worker did not take a call that was placed with it: the state that the worker held is lost. */
  leave(call: Of, { queue }: StateHolder): void {
    if (this.of(call)?.holder?.queue === queue) this.put(call, { lost: true });
  }

  /**
   * Notes where a call reports that its state is, when the call ends. The report counts unless the group has moved to
   * another worker meanwhile.
   */
  end(call: Of, placed: KnownState | undefined, { holder }: UsedState): void {
    const known = this.of(call);
    if (known === undefined || placed === undefined) return;
    const isBeginner = known.beginner === call.callId;
    // A call that was placed with a holder ran on the task queue of that holder. So a report that names another queue
    // does not come from that worker.
    const queue = placed.holder?.queue;
    const isThere = known.holder?.queue === queue && queue !== undefined && holder?.queue === queue;
    if (holder && (isThere || (isBeginner && queue === undefined))) return this.put(call, { holder });
    if (!isBeginner) return;
    // If the handler may have run, its state is on an unknown worker.
    this.put(call, holder === null || known.lost === true ? { lost: true } : {});
  }

  /**
   * The state for the next run.
   *
   * @param runId The id of this run if a reset made it. State of other runs then comes from turns that the reset undid.
   */
  carried(runId?: string): [string, KnownState][] {
    return [...this.groups].flatMap<[string, KnownState]>(([key, { holder, lost }]) => {
      const isOurs = runId === undefined || holder?.runId === runId;
      if (holder !== undefined && isOurs) return [[key, { holder }]];
      return holder !== undefined || lost === true ? [[key, { lost: true }]] : [];
    });
  }

  private of({ settings }: Of): Known | undefined {
    const key = stateKeyOf(settings);
    return key === undefined ? undefined : (this.groups.get(key) ?? {});
  }

  private put({ settings }: Of, known: Known) {
    const key = stateKeyOf(settings);
    if (key !== undefined) this.groups.set(key, known);
  }
}
