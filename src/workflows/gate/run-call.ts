import { defaultPayloadConverter } from '@temporalio/common';
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow';
import type { NotHere, Paused, SpentDecision } from '../../contract/call';
import { ENDINGS, STARTED_BEFORE, UNREADABLE } from '../../contract/call-texts';
import { errorMessage } from '../../contract/errors';
import type { GateHeader } from '../../contract/gate';
import type { LostCall } from '../../contract/lost-activity';
import { activityIds } from '../../contract/names';
import { type FailureText, reportOfWorker, settleOwn } from '../../lifecycle/own-activity';
import { failureOf, successOf } from '../../lifecycle/results';
import type { Settlement } from '../../lifecycle/outcomes';
import { type CallState, type DoneCall, resultOf, type RunningCall } from '../../lifecycle/state';
import { act, liveCall, unlessCancelled } from '../call-life';
import { freshIn, lostActivity, type Rounds, commonInput, waitGivenBack } from '../call-rounds';
import { askVerify } from '../verify-call';
import { close, GateCall } from './asked';
import type { CallToAsk } from './call-to-ask';
import type { GateState } from './the-gate';

/** One start of a call as an activity: what runs, under which id. */
export interface Start {
  state: RunningCall;
  activityId: string;
  /** The start is the first one. */
  isFirst: boolean;
}

/** How the activity of a call ended: with a value, with what a worker said, or with a failure and what that means. */
export type Ended<R> = { value: R } | { said: Settlement } | (LostCall & { thrown: unknown });

/** A call that ended, and how its last start ended. Undefined: it never started. */
export interface Ran<R> {
  state: DoneCall;
  ended: Ended<R> | undefined;
}

/** Runs an open call as an activity when it is allowed, and waits for a person if the outcome is unknown. */
export async function runOpen<R>(
  gate: GateState,
  asked: CallToAsk,
  { callId, schedule }: { callId: string; schedule(start: Start): Promise<R> },
): Promise<Ran<R>> {
  const unwatch = watchCancellation(gate, callId);
  const call = new RunCall<R>(gate, callId, asked, schedule);
  try {
    const state = await liveCall(call);
    if (state.result.error?.code === 'cancelled') throw new CancelledFailure(state.result.error.message);
    return { state, ended: call.ended };
  } catch (error) {
    if (isCancellation(error)) act(gate, { type: 'withdraw', callId });
    throw error;
  } finally {
    unwatch();
    close(gate, callId);
  }
}

/**
 * Marks a call whose scope is cancelled. It does not run again, and it can be abandoned. A scope may see thousands of
 * calls, so it gets one listener, which knows only the calls that are open. Returns a function that ends the watch.
 */
function watchCancellation(gate: GateState, callId: string): () => void {
  const scope = CancellationScope.current();
  const calls = gate.watched.get(scope) ?? new Set();
  calls.add(callId);
  if (!gate.watched.has(scope)) {
    gate.watched.set(scope, calls);
    void scope.cancelRequested.catch(() => {
      for (const one of calls) act(gate, { type: 'scope_cancelled', callId: one });
    });
  }
  return () => void calls.delete(callId);
}

/** A call that runs as an activity of the user. */
class RunCall<R> extends GateCall {
  /** How its last start ended. */
  ended: Ended<R> | undefined;
  private starts = 0;
  /** The workflow task in which the call was opened. */
  private readonly task = workflowInfo().historyLength;

  constructor(
    gate: GateState,
    callId: string,
    asked: CallToAsk,
    private readonly schedule: (start: Start) => Promise<R>,
  ) {
    super(gate, callId, asked);
  }

  async place() {
    // Temporal schedules nothing in a cancelled scope.
    if (!CancellationScope.current().consideredCancelled) return;
    act(this.context, { type: 'withdraw', callId: this.callId });
    const message = resultOf(this.state)?.error?.message ?? ENDINGS.neverStarted.message;
    throw new CancelledFailure(message);
  }

  verify(): () => void {
    const scope = new CancellationScope({
      cancellable: true,
      parent: new CancellationScope({ cancellable: false }),
    });
    scope.run(() => askVerify(this.context, this.callId)).catch(unlessCancelled);
    return () => scope.cancel();
  }

  async attempt(): Promise<Settlement> {
    const rounds: Rounds = { scheduledAt: 0, pauses: 0 };
    for (;;) {
      const ended = await this.once(rounds);
      // After a reset, the end of one start says nothing about the start before the reset.
      if (this.state.phase !== 'running') return this.settled({ doubt: STARTED_BEFORE, thrown: undefined });
      if (!('givenBack' in ended)) return this.settled(ended);
      const said = await waitGivenBack(this.context, this.callId, { rounds, said: ended.givenBack });
      if (said !== undefined) return this.settled({ said });
    }
  }

  private settled(ended: Ended<R>): Settlement {
    this.ended = ended;
    const { state } = this;
    if ('said' in ended) return ended.said;
    if ('doubt' in ended) return { inDoubt: { message: ended.doubt } };
    if ('failure' in ended) return { result: failureOf(state, ended.failure, Date.now()) };
    return { result: successOf(state, '', Date.now()) };
  }

  /** Schedules the call once. */
  private async once(rounds: Rounds): Promise<Ended<R> | { givenBack: NotHere | Paused }> {
    const { context, callId } = this;
    // History has to hold the decision before the call that it allows.
    context.changes.look();
    const { state } = this;
    if (state.phase !== 'running') return { doubt: STARTED_BEFORE, thrown: undefined };
    const activityId = activityIds.call(callId, state.generation);
    const { gated, hasKey } = this.asked;
    const isInherited = context.queue.isBeforeReset(this.task);
    const { decision, ...common } = commonInput(context, state, rounds);
    const start: GateHeader = {
      ...common,
      decision: decision && withoutWords(decision),
      ...freshIn(state, isInherited),
      timeoutMs: state.call.settings.timeoutMs,
      gated,
      hasKey,
    };
    context.headers.set(activityId, defaultPayloadConverter.toPayload(start));
    rounds.scheduledAt = Date.now();
    try {
      const value = await this.schedule({ state, activityId, isFirst: this.starts++ === 0 });
      const said = reportOfWorker(value, state);
      if (said === undefined) return { value };
      if ('notHere' in said || 'paused' in said) return { givenBack: said };
      return { said: 'child' in said ? { inDoubt: { message: UNREADABLE } } : said };
    } catch (error) {
      return { ...endedBy(this.state, error, Date.now() - rounds.scheduledAt), thrown: error };
    } finally {
      context.headers.delete(activityId);
    }
  }
}

/** No codec encrypts a header, so what people wrote is in it only where a signature covers it. */
function withoutWords({ reason: _reason, edit, votes, ...decision }: SpentDecision): SpentDecision {
  const cast = votes?.map((vote) =>
    vote.signature === undefined ? { ...vote, reason: undefined, suggestion: undefined } : vote,
  );
  return { ...decision, votes: cast, edit: edit && { approver: edit.approver } };
}

/** What the activity's failure means for the call, `openMs` after it was scheduled. */
export function endedBy(state: CallState, error: unknown, openMs: number): LostCall {
  const { settings } = state.call;
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const activity = lostActivity(cause, isCancellation(error));
  return settleOwn(settings, { activity, causes: causesOf(cause), openMs });
}

function causesOf(error: unknown): FailureText[] {
  if (!(error instanceof Error)) return [];
  const type = error instanceof ApplicationFailure ? (error.type ?? undefined) : undefined;
  return [{ type, message: errorMessage(error) }, ...causesOf(error.cause)];
}
