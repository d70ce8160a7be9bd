import { CancellationScope, condition, isCancellation } from '@temporalio/workflow';
import type { PreparedCall } from '../contract/call';
import type { SignalVerdict } from '../contract/decision';
import type { OpenMemo } from '../contract/turn';
import { type LifeCommand, decide } from '../lifecycle/decide';
import { apply } from '../lifecycle/events';
import type { Decided } from '../lifecycle/messages';
import type { Settlement } from '../lifecycle/outcomes';
import type {
  AllowedCall,
  Approvals,
  CallState,
  DoneCall,
  PreparingCall,
  RunningCall,
} from '../lifecycle/state';

/** The state that decisions and other messages are about. A turn has one, and so does a gate in another workflow. */
export interface ApprovalContext {
  approvals: Approvals;
  /** A call's key is `<stepKey>:<callId>`, for all calls that are open at the same time. */
  stepKey: string;
  /** See `OpenMemo`. Absent in a gate. */
  by?: OpenMemo['by'];
  signalVerdicts: SignalVerdict[];
  /** The number of signals that have had a verdict so far. */
  signalCount: number;
  /** Decisions and resolutions by signal that are not judged yet. */
  signalsWaiting: number;
  /** Grows with each change to which the workflow has to react. */
  revision: number;
}

/** Makes the workflow look again. */
export function markChanged(context: ApprovalContext): void {
  context.revision += 1;
}

/** Throws the error again, unless it is that of a cancellation. */
export function unlessCancelled(error: unknown): void {
  if (!isCancellation(error)) throw error;
}

/** Carries out a command, unless it is refused. */
export function act(context: ApprovalContext, command: LifeCommand): Decided {
  return carryOut(context, decide(context.approvals, command, Date.now()));
}

/** Carries out what was decided, unless it is refused. Nothing else changes the state of calls. */
export function carryOut(context: ApprovalContext, decided: Decided): Decided {
  if (decided.refused !== undefined || decided.events.length === 0) return decided;
  const next = decided.events.reduce(apply, context.approvals);
  if (next !== context.approvals) markChanged(context);
  context.approvals = next;
  return decided;
}

/** An open call as it is now. */
export function callIn({ approvals }: ApprovalContext, callId: string): CallState {
  const state = approvals.calls.get(callId);
  if (state === undefined) throw new Error(`call ${callId} is not open`);
  return state;
}

/** What the life of a call needs from whoever runs the call: a turn, or a gate in another workflow. */
export interface Life {
  readonly context: ApprovalContext;
  readonly callId: string;
  /** Waits, in the scope of the call. */
  until(isTrue: () => boolean): Promise<void>;
  /** Prepares the call anew after an edit, or because an admin asked for it. */
  prepare(state: PreparingCall): Promise<PreparedCall>;
  /** Waits until a call that is allowed may start. Undefined: it may start now. */
  place(): Promise<void> | undefined;
  /** The secret of this start. Undefined: it needs none. */
  secretFor(state: AllowedCall): string | undefined;
  /** Runs the call once, until it has ended in any way. */
  attempt(state: RunningCall): Promise<Settlement>;
  /** Asks in the background for the outcome of a call in doubt. Returns a function that stops asking. */
  verify?(): () => void;
}

/**
 * The life of a call, from its request to its result. A person or a rule allows it; it waits for its place, runs, and
 * ends with a result or in doubt. It starts once more if a person wants to run it again, or if its decision did not
 * hold and it was allowed anew.
 */
export async function liveCall(life: Life): Promise<DoneCall> {
  for (;;) {
    // Each await makes promises, and the SDK keeps a stack of each, so only what is not there yet is awaited.
    const now = stateOf(life);
    const state = now.phase === 'ready' ? now : await allowed(life);
    const placed = state.phase === 'ready' ? life.place() : undefined;
    if (placed !== undefined) await placed;
    // The start spends the decision.
    if (stateOf(life).phase === 'ready') {
      const settlement = await life.attempt(start(life));
      act(life.context, { type: 'settle', callId: life.callId, settlement });
    }
    if (stateOf(life).phase === 'in_doubt') await resolved(life);
    const ended = stateOf(life);
    if (ended.phase === 'done') return ended;
  }
}

/** Waits for a decision or an answer. This is where a workflow waits for people, for days if need be. */
export async function allowed(
  life: Pick<Life, 'context' | 'callId' | 'until' | 'prepare'>,
): Promise<CallState> {
  for (;;) {
    const state = stateOf(life);
    if (state.phase === 'preparing') {
      const prepared = await life.prepare(state);
      act(life.context, { type: 'prepared', callId: life.callId, prepared, at: Date.now() });
    } else if (state.phase === 'request' || state.phase === 'question') {
      await life.until(() => stateOf(life).phase !== state.phase);
    } else return state;
  }
}

/** Starts a call that is allowed. Throws if there is no decision that allows this start. */
export function start(life: Pick<Life, 'context' | 'callId' | 'secretFor'>): RunningCall {
  const { callId, context } = life;
  const state = stateOf(life);
  const secret = state.phase === 'ready' ? life.secretFor(state) : undefined;
  const { refused } = act(context, { type: 'start', callId, secret });
  const started = stateOf(life);
  if (refused !== undefined || started.phase !== 'running') throw new Error(refused?.message);
  return started;
}

/** Waits while the outcome is unknown, also after a cancellation: only a person or a proof ends a doubt. */
async function resolved(life: Life) {
  const stop = life.verify?.();
  await untilTrue(() => stateOf(life).phase !== 'in_doubt');
  stop?.();
}

/**
 * Waits, also in a scope that is cancelled.
 *
 * @param scope One that is not cancelled. A scope stays in memory as long as the one around it, so whoever waits often
 * gives one that is there.
 */
export function untilTrue(
  isTrue: () => boolean,
  scope = new CancellationScope({ cancellable: false }),
): Promise<void> {
  return scope.run(() => condition(isTrue));
}

function stateOf({ context, callId }: Pick<Life, 'context' | 'callId'>): CallState {
  return callIn(context, callId);
}
