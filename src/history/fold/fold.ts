import type { DecodedEvent, EventOf } from '../decode/events';
import type { TurnEnded, TurnEvent, TurnStarted } from '../events';
import {
  activityCanceled,
  activityCompleted,
  activityFailed,
  activityScheduled,
  activityStarted,
} from './activities';
import { judgeEnds, localActivity, lostByReset } from './calls';
import { childChanged } from './child-turns';
import { memoChanged } from './requests';
import { signaled, updateAccepted, updateAdmitted, updateCompleted } from './messages';
import { happen, openCall } from './lives';
import { type FoldState, eventHeader, makeState } from './state';
import { makeApprovals } from '../../lifecycle/state';
import { originOf } from '../../contract/fork';
import { isObject } from '../../contract/json';
import { ORIGIN, type PreparedCall, type TurnOrigin } from '../../contract/call';
import { lastReplyText } from '../../contract/transcript';
import { rootOf } from '../decode/failure';
import { closeRest } from './results';
import { type CarriedState, is, readCarried } from './guards';
import { guard } from '../../contract/schema/message';
import { isLineage, readThinkOutput } from '../../contract/payloads';
import { BUDGET } from '../../contract/spending/budget';
import { stepOfGiven } from '../../contract/turn';
import { stepTaken } from './think';

/**
 * Makes the fold of a turn's history. Pass it every event of a turn in order, the runs of a chain one after the other.
 * `push` returns the turn events that the next history event makes. Most make none. It reads no clock and never throws
 * because of a payload. It does not matter whether events are pushed one by one or all together.
 */
export function createFold(): { push(event: DecodedEvent): TurnEvent[] } {
  const state = makeState();
  return { push: (event) => foldEvent(state, event) };
}

/** Takes the next event of a turn into its state. See `createFold`. */
export function foldEvent(state: FoldState, event: DecodedEvent): TurnEvent[] {
  switch (event.kind) {
    case 'started':
      return runStarted(state, event);
    case 'task_scheduled':
      state.reapplying = undefined;
      return [];
    case 'task_started':
      state.taskTime = Date.parse(event.at);
      return judgeEnds(state, event);
    case 'activity_scheduled':
      state.isMoving = false;
      return activityScheduled(state, event);
    case 'activity_started':
      return activityStarted(state, event);
    case 'activity_completed':
      return activityCompleted(state, event);
    case 'activity_failed':
      return activityFailed(state, event);
    case 'activity_canceled':
      return activityCanceled(state, event);
    case 'local_activity':
      return localActivity(state, event);
    case 'signaled':
      return signaled(state, event);
    case 'update_admitted':
      return updateAdmitted(state, event);
    case 'update_accepted':
      return updateAccepted(state, event);
    case 'update_completed':
      return updateCompleted(state, event);
    case 'child_started':
    case 'child_ended':
      return childChanged(state, event);
    case 'memo':
      return memoChanged(state, event);
    default:
      return foldEdge(state, event);
  }
}

/** Folds the events that concern the run as a whole. */
function foldEdge(state: FoldState, event: DecodedEvent): TurnEvent[] {
  const head = eventHeader(event);
  switch (event.kind) {
    case 'task_failed':
      return [{ type: 'task_failed', ...head, message: event.message }];
    case 'reset':
      state.runId = event.newRunId;
      state.reapplying = { ...head, reason: event.message };
      return [
        { type: 'reset', ...head, baseRunId: event.baseRunId, newRunId: state.runId, reason: event.message },
        ...lostByReset(state, event),
      ];
    case 'cancel_requested':
      happen(state, { type: 'cancelled' });
      return [{ type: 'cancel_requested', ...head, identity: event.identity, reason: event.reason }];
    case 'continued_as_new':
      return [
        {
          type: 'continued_as_new',
          ...head,
          newRunId: event.newRunId,
          moved: state.isMoving ? (true as const) : undefined,
        },
      ];
    default:
      return runEnded(state, event);
  }
}

/**
 * A run starts: the first run of a turn, or the next run if a run continued as new. For a workflow that is not a
 * turn, its type is used as the agent.
 */
function runStarted(state: FoldState, event: EventOf<'started'>): TurnEvent[] {
  const { turn, runId, taskQueue, continuedFrom } = event;
  const input = is.turnInput(event.input)
    ? event.input
    : { agent: state.agent || (event.workflowType ?? ''), prompt: state.prompt, files: state.files };
  const isNext = continuedFrom !== undefined && continuedFrom === state.runId;
  const carried = carriedIn(event.input);
  const messages = carried?.transcript;
  const first = messages?.find((entry) => entry.kind === 'words');
  const prompt = input.prompt || state.prompt || (first?.text ?? '');
  const files = input.files ?? state.files ?? first?.files;
  const before = isNext ? state.calls : undefined;
  const approvals = isNext ? state.approvals : makeApprovals();
  // A decision of the run before that is sent again is a repeat here, too.
  const acceptedIds = isNext ? state.acceptedIds : new Set<string>();
  const known = { turn, runId, agent: input.agent, prompt, files, acceptedIds, approvals };
  Object.assign(state, makeState(), known, originIn(event));
  const { agent } = input;
  const started: TurnEvent = {
    type: 'turn_started',
    ...eventHeader(event),
    turn,
    runId,
    agent,
    prompt,
    taskQueue,
    files,
    origin: originGiven(event.input),
    ...limitsGiven(event.input),
    schedule: event.schedule,
    session: is.turnInput(event.input) ? event.input.session?.sessionId : undefined,
    continuedFrom,
    carried: isNext || state.fork !== undefined ? undefined : messages,
  };
  const taken = isNext ? [] : forked(state, event);
  return [started, ...taken, ...stepMoved(state, event, { carried, before })];
}

/**
 * Takes up the step that was taken along from another build. If the previous run is among the events, the events of
 * the step are there already.
 */
function stepMoved(
  state: FoldState,
  event: EventOf<'started'>,
  { carried, before }: { carried: CarriedState | undefined; before: FoldState['calls'] | undefined },
): TurnEvent[] {
  if (carried?.moved === undefined) return [];
  const reply = carried.moved;
  state.step = (carried.step ?? 0) + 1;
  if (before !== undefined) {
    for (const call of reply.calls) {
      const known = call.kind === 'remote' ? undefined : before.get(call.callId);
      if (known !== undefined) state.calls.set(call.callId, known);
      else openMoved(state, call);
    }
    return [];
  }
  const text = lastReplyText(carried.transcript);
  return stepTaken(state, event, { step: state.step, output: { ...reply, text }, given: true });
}

/** A call that is prepared anew on another build. */
function openMoved(state: FoldState, call: PreparedCall) {
  happen(state, { type: 'left', callId: call.callId });
  openCall(state, call);
}

/** What a fork is made from. Every run of a fork has this in its input. */
function originIn({ input }: EventOf<'started'>): Pick<FoldState, 'fork'> {
  return is.turnInput(input) && is.forkInput(input.fork) ? { fork: originOf(input.fork) } : {};
}

/**
 * Takes up the state with which a fork, or a turn that was started with its call, begins. If the first run is not among the events, this is the state that a later
 * run took along.
 */
function forked(state: FoldState, event: EventOf<'started'>): TurnEvent[] {
  if (!is.turnInput(event.input)) return [];
  const { call } = event.input;
  if (is.givenCall(call) && carriedIn(event.input) === undefined) {
    state.step = 1;
    const { replyId: _, ...output } = stepOfGiven(call, { replyId: '', taskQueue: event.taskQueue });
    return stepTaken(state, event, { step: state.step, output, given: true });
  }
  if (state.fork === undefined) return [];
  const { transcript: taken = [], step = 0 } = carriedIn(event.input) ?? {};
  const { fork } = event.input;
  const given = isObject(fork) ? readThinkOutput(fork['given']) : undefined;
  const made: TurnEvent = { type: 'forked', ...eventHeader(event), ...state.fork, taken };
  if (given === undefined) return [made];
  state.step = step + 1;
  return [made, ...stepTaken(state, event, { step: state.step, output: given, given: true })];
}

const isOrigin = guard(ORIGIN);
const isBudget = guard(BUDGET);

function originGiven(input: unknown): TurnOrigin | undefined {
  const origin = isObject(input) ? input['origin'] : undefined;
  return isOrigin(origin) ? origin : undefined;
}

/** The calls that led to a turn, and the turn's budget. */
function limitsGiven(input: unknown): {
  lineage: TurnStarted['lineage'] | undefined;
  budget: TurnStarted['budget'] | undefined;
} {
  const { lineage, budget, cap } = isObject(input) ? input : {};
  return {
    lineage: isLineage(lineage) ? lineage : undefined,
    budget: [cap, budget].find((one) => isBudget(one)),
  };
}

/** The state that the run before handed over. Undefined for the first run, except in a fork. */
function carriedIn(input: unknown) {
  return readCarried(isObject(input) ? input['carried'] : undefined);
}

/** A run ends. Calls that the turn closed get their results first. */
function runEnded(state: FoldState, event: DecodedEvent): TurnEvent[] {
  const ending = endingOf(event);
  if (ending === undefined) return [];
  const ended: TurnEnded = { type: 'turn_ended', ...eventHeader(event), ...ending };
  return [...closeRest(state, event), ended];
}

type Ending = Pick<TurnEnded, 'status' | 'answer' | 'result' | 'error'>;

function endingOf(event: DecodedEvent): Ending | undefined {
  switch (event.kind) {
    case 'completed':
      return completedWith(event.result);
    case 'failed':
      return { status: 'failed', error: errorOf(event) };
    case 'canceled':
      return { status: 'cancelled', error: { message: 'the turn was cancelled' } };
    case 'timed_out':
      return { status: 'timed_out', error: { message: 'the turn ran out of time' } };
    case 'terminated':
      return { status: 'terminated', error: { message: terminatedBy(event) } };
    default:
      return undefined;
  }
}

function completedWith(result: unknown): Ending {
  if (!is.turnResult(result)) return { status: 'answered' };
  const { status, answer, why } = result;
  return { status, answer, result, error: why === undefined ? undefined : { message: why } };
}

function errorOf({ failure }: EventOf<'failed'>): { message: string; type?: string } {
  const { message, type } = rootOf(failure);
  return { message, type };
}

function terminatedBy({ reason, identity }: EventOf<'terminated'>) {
  const why = reason === '' ? '' : `: ${reason}`;
  return identity === '' ? `terminated${why}` : `terminated by ${identity}${why}`;
}
