import type { ValidCall } from '../contract/call';
import { type KnownState, stateKeyOf, type StateHolder, type UsedState } from '../contract/tool';

/** What is known of the state of one group of calls. */
interface Known extends KnownState {
  /** The call that is on the queue of its tool: the worker that takes it will hold the state. */
  beginner?: string;
}

type Of = Pick<ValidCall, 'callId' | 'settings'>;

/**
 * Which worker holds the state that calls of a turn share. The first call of a group finds one on the queue of its tool,
 * and the others wait for it; later calls go to the queue of that worker. Where it is gone, the next call finds another.
 */
export class StateHolders {
  private readonly groups: Map<string, Known>;

  /** @param carried what the run before knew. */
  constructor(carried: Iterable<[string, KnownState]> = []) {
    this.groups = new Map(carried);
  }

  /** Whether a call may be scheduled: no other one is about to find who will hold its state. */
  isFree(call: Of): boolean {
    const { holder, beginner } = this.of(call) ?? {};
    return holder !== undefined || beginner === undefined || beginner === call.callId;
  }

  /** Takes the place of the call that finds a holder, where none is known. False: another call has it. */
  reserve(call: Of): boolean {
    if (!this.isFree(call)) return false;
    const known = this.of(call);
    if (known !== undefined && known.holder === undefined)
      this.put(call, { ...known, beginner: call.callId });
    return true;
  }

  /** What a call that is scheduled now has to know; undefined where it shares no state. */
  place(call: Of): KnownState | undefined {
    const known = this.of(call);
    if (known === undefined) return undefined;
    this.reserve(call);
    if (known.holder !== undefined) return { holder: known.holder };
    return known.lost === true ? { lost: true } : {};
  }

  /** The worker did not take a call that was placed there: what it held is lost. */
  leave(call: Of, { queue }: StateHolder): void {
    if (this.of(call)?.holder?.queue === queue) this.put(call, { lost: true });
  }

  /** A call that was placed so has ended. What it says counts unless the group has gone to another worker meanwhile. */
  end(call: Of, placed: KnownState | undefined, { holder }: UsedState): void {
    const known = this.of(call);
    if (known === undefined || placed === undefined) return;
    const isBeginner = known.beginner === call.callId;
    // A call that was placed with a holder ran on its queue; whoever says otherwise was not that worker.
    const queue = placed.holder?.queue;
    const isThere = known.holder?.queue === queue && queue !== undefined && holder?.queue === queue;
    if (holder && (isThere || (isBeginner && queue === undefined))) return this.put(call, { holder });
    if (!isBeginner) return;
    // Where the handler may have run, it has left its state with nobody that is known.
    this.put(call, holder === null || known.lost === true ? { lost: true } : {});
  }

  /**
   * What the next run has to know.
   *
   * @param runId of this run, where a reset made it: what began in other runs is of a turn that went another way.
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

  private put({ settings }: Of, known: Known): void {
    const key = stateKeyOf(settings);
    if (key !== undefined) this.groups.set(key, known);
  }
}
