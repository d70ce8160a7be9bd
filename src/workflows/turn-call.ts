import {
  ActivityCancellationType,
  ActivityFailure,
  type ActivityOptions,
  ApplicationFailure,
  CancellationScope,
  condition,
  isCancellation,
  scheduleActivity,
  scheduleLocalActivity,
  uuid4,
  workflowInfo,
} from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import type { CallInput, CallOutput, NotHere, Paused, PreparedCall, ValidCall } from '../contract/call';
import { isDry } from '../contract/dry-run';
import { TIMES } from '../contract/limits';
import { startWithin } from '../contract/lost-activity';
import { activityIds } from '../contract/names';
import type { KnownState, PlacedState, UsedState } from '../contract/tool';
import { lastResult, outcomeIn, outcomeOfLost, type Settlement } from '../lifecycle/outcomes';
import { type AllowedCall, type CallState, leaveOf, type PreparingCall } from '../lifecycle/state';
import { callIn, type Life, unlessCancelled, untilTrue } from './call-life';
import { prepareCall } from './prepare-call';
import { commonInput, freshIn, lostActivity, retryOf, type Rounds, waitGivenBack } from './call-rounds';
import { askedChild, releaseChild, reserveChild, runChild } from './child-turn';
import { decodedValueOf, rawResult } from './messages';
import type { placesIn } from './next-to-start';
import { askVerify } from './verify-call';
import { closeQuestions } from './questions';
import { originOfCall } from './session/words';
import { summaryOf } from './summary';
import type { Turn, TurnRuntime } from './turn-state';

/** What is known of one start of a call. */
export interface CallAttempt extends Rounds {
  /** What the turn knew about the shared state when it was last scheduled. Only if the call shares state. */
  placed?: KnownState;
}

/** A call of a turn: it has a place in the order of its step, and runs as an activity of a worker or as a child turn. */
export class TurnCall implements Life {
  constructor(
    readonly context: Turn,
    readonly callId: string,
    private readonly runtime: TurnRuntime,
    /** Whether a ready call has its place in the order of the step. */
    private readonly mayStart: ReturnType<typeof placesIn>,
  ) {}

  async until(isTrue: () => boolean): Promise<void> {
    await untilTrue(isTrue, this.runtime.nonCancellable);
  }

  prepare(state: PreparingCall): Promise<PreparedCall> {
    return prepareCall(this.context, state);
  }

  place(): Promise<void> | undefined {
    return this.takesPlace() ? undefined : this.untilPlaced();
  }

  secretFor({ call: { settings } }: AllowedCall): string | undefined {
    return settings.effect === 'unsafe' || settings.askMs !== undefined ? uuid4() : undefined;
  }

  /** Schedules the call until a worker has taken it. */
  async attempt(): Promise<Settlement> {
    const { context: turn, callId, runtime } = this;
    const attempt: CallAttempt = { scheduledAt: 0, pauses: 0 };
    let settlement: Settlement | undefined;
    while (settlement === undefined) {
      // Asked first: it may note a reset, which makes the decision one of an earlier run.
      const isInherited = runtime.queue.isBeforeReset(turn.stepTask);
      const running = scheduleCall(turn, this.state, attempt, isInherited);
      const said = await outcomeOf(this.state, attempt, running);
      if ('child' in said) settlement = { result: await runChild(turn, this.state, said) };
      else if ('notHere' in said || 'paused' in said) settlement = await this.givenBack(attempt, said);
      else {
        releaseChild(turn, callId);
        settlement = said;
      }
    }
    turn.states.end(this.state.call, attempt.placed, usedIn(settlement));
    closeQuestions(turn, callId);
    return settlement;
  }

  verify(): () => void {
    this.context.counts.inDoubt += 1;
    const scope = new CancellationScope({ cancellable: true, parent: this.runtime.nonCancellable });
    scope.run(() => askVerify(this.context, this.callId)).catch(unlessCancelled);
    return () => scope.cancel();
  }

  private get state(): CallState {
    return callIn(this.context, this.callId);
  }

  /** Calls that become ready together may want the same place. The first of them takes it. */
  private takesPlace() {
    return this.mayStart(this.state) && this.context.states.reserve(this.state.call);
  }

  private async untilPlaced() {
    const isReady = () => this.state.phase === 'ready';
    do await this.until(() => !isReady() || this.mayStart(this.state));
    while (isReady() && !this.takesPlace());
  }

  /** If the worker that held the state of the call did not take the call, that state is lost. */
  private givenBack(attempt: CallAttempt, said: NotHere | Paused): Promise<Settlement | undefined> {
    const { states } = this.context;
    const { call } = this.state;
    const holder = attempt.placed?.holder;
    if (holder === undefined || 'paused' in said)
      return waitGivenBack(this.context, this.callId, { rounds: attempt, said });
    states.leave(call, holder);
    return waitGivenBack(this.context, this.callId, {
      rounds: attempt,
      said,
      // Other calls may have lost the same state. The first of them finds the worker that will hold the state.
      until: async () => {
        while (!states.reserve(call)) await condition(() => states.isFree(call));
      },
    });
  }
}

/**
 * Schedules a started call as an activity whose type is the tool's name. `isInherited`: a run before a reset may know
 * the call.
 */
export function scheduleCall(
  turn: Turn,
  state: CallState,
  attempt: CallAttempt,
  isInherited = false,
): Promise<RawValue> {
  const known = turn.states.place(state.call);
  if (known !== undefined) attempt.placed = known;
  reserveChild(turn, state);
  const leave = leaveOf(state);
  const input: CallInput = { ...inputOf(turn, state, attempt), ...freshIn(state, isInherited) };
  attempt.scheduledAt = Date.now();
  const { tool, settings } = state.call;
  // A local call leaves only one marker in history, when it ends. After a reset that marker cannot show whether a
  // decision came before it, so a call with a decision is never local. A call that a worker gave back is not run
  // locally either, because the same worker would get it.
  return settings.local === true && leave?.by === 'nobody' && attempt.absent === undefined
    ? scheduleLocalActivity<RawValue>(
        tool,
        [input],
        {
          startToCloseTimeout: state.call.settings.timeoutMs + TIMES.closeMargin,
          retry: retryOf(state),
          summary: summaryOf(state),
        },
        rawResult,
      )
    : scheduleActivity<RawValue>(tool, [input], activityOptions(state, attempt), rawResult);
}

/** Where the shared state is. A turn outside a session and a fork have the state of scope `session` to themselves. */
function placedIn(
  { session, fork }: Turn,
  call: ValidCall,
  placed: KnownState | undefined,
): PlacedState | undefined {
  const isSessions = call.settings.state?.scope === 'session' && session !== undefined && fork === undefined;
  if (placed === undefined || !isSessions) return placed;
  // Anybody may start a turn with the name of a session, but the server says which workflow is the parent.
  return workflowInfo().parent?.workflowId === session.sessionId
    ? { ...placed, session: session.sessionId }
    : placed;
}

function inputOf(turn: Turn, state: CallState, attempt: CallAttempt): CallInput {
  const { call } = state;
  const leave = leaveOf(state);
  return {
    ...commonInput(turn, state, attempt),
    arguments: state.effective,
    timeoutMs: call.settings.timeoutMs,
    dry: isDry(turn) ? true : undefined,
    child: askedChild(turn, state),
    origin: originOfCall(turn, state),
    grant: leave?.by === 'grant' ? leave.grant : undefined,
    plan: call.preview?.plan,
    askMs: call.settings.askMs,
    state: placedIn(turn, call, attempt.placed),
    proposed: state.edit === undefined ? undefined : state.proposed,
  };
}

function activityOptions(state: CallState, { placed, absent }: CallAttempt): ActivityOptions {
  const { callId, settings } = state.call;
  const holder = placed?.holder;
  return {
    activityId: activityIds.call(callId, state.generation),
    startToCloseTimeout: settings.timeoutMs + (settings.askMs ?? 0) + TIMES.closeMargin,
    scheduleToStartTimeout: startWithin(settings, holder !== undefined),
    heartbeatTimeout: settings.heartbeatMs,
    retry: retryOf(state),
    // A cancelled turn waits for the outcome of a running call: the outcome must be known, not assumed.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: summaryOf(state),
    allowEagerDispatch: absent === undefined ? undefined : false,
    // A call that a person just decided on overtakes other tasks in the queue.
    priority: leaveOf(state)?.by === 'decision' ? { priorityKey: 1 } : undefined,
    taskQueue: holder?.queue ?? settings.taskQueue,
  };
}

/** What the end of a call's activity means: how the call ended, that it did not start, or that it is a child turn. */
function outcomeOf(
  state: CallState,
  attempt: CallAttempt,
  running: Promise<RawValue>,
): Promise<CallOutput | ReturnType<typeof outcomeOfLost>> {
  return running.then(
    (result) => outcomeIn(state, decodedValueOf(result), Date.now()),
    (error: unknown) => settlementOf(state, attempt, { error, now: Date.now() }),
  );
}

/** Decides what a failed activity means for its call. */
export function settlementOf(
  state: CallState,
  { placed, scheduledAt }: CallAttempt,
  { error, now }: { error: unknown; now: number },
): ReturnType<typeof outcomeOfLost> {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  const last = cause instanceof ApplicationFailure ? lastResult(cause, state.call.callId) : undefined;
  const isHeld = placed?.holder !== undefined;
  const times = { openMs: now - scheduledAt, now };
  return outcomeOfLost(state, lostActivity(cause, isCancellation(error)), { isHeld, last, ...times });
}

/**
 * What is known about the worker that holds the shared state. Null: a call in doubt may have made state on an unknown
 * worker.
 */
function usedIn(settlement: Settlement): UsedState {
  if ('inDoubt' in settlement) return { holder: settlement.holder ?? null };
  return 'result' in settlement && settlement.holder !== undefined ? { holder: settlement.holder } : {};
}
