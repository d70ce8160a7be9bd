import { decisionNote, STARTED_BEFORE, unreadable, UNREADABLE } from '../../contract/call-texts';
import {
  endedUntaken,
  goesElsewhere,
  HOLDER_GONE,
  type OpenTimes,
  timeoutsOf,
} from '../../contract/lost-activity';
import { isHolderQueue } from '../../contract/names';
import type { DecodedFailure, EventOf } from '../decode/events';
import { rootOf } from '../decode/failure';
import { defined } from '../../contract/defined';
import type { CallLost, CallStarted, EventHeader, TurnEvent } from '../events';
import { isCallOutput, readCallOutput } from '../../contract/payloads';
import { type CallStart, is } from './guards';
import {
  unhandledResult,
  gateActivity,
  grantIn,
  lose,
  lostInHistory,
  returnedResult,
  settleFailure,
  settleOwnFailure,
  rosterIn,
} from './results';
import { decidedBySignal } from './messages';
import {
  type ActivityFold,
  type CallFold,
  endCall,
  type FoldState,
  eventHeader,
  type UnjudgedFailure,
} from './state';
import { newCall } from './think';
import { readAuthority } from '../../contract/authority';
import { joinedAuthority } from '../../authority/votes/authority-in-force';
import { isValidCall, type StartedBy, type Paused, type AskAgain, isAskable } from '../../contract/call';
import type { GrantUse } from '../../contract/policy-rule';

/** A call's activity is scheduled. If a signal allowed the call, the event of that signal comes first. */
export function callScheduled(
  state: FoldState,
  event: EventOf<'activity_scheduled'>,
  at: { callId: string; generation: number },
): TurnEvent[] {
  const held = ensureCall(state, at.callId, event.activityType);
  // A user's own activity gets the plain arguments, which may look like an input of ours.
  const isOurs = gateActivity(held) === undefined;
  const input = isOurs && is.callInput(event.input) ? event.input : undefined;
  const decision = input?.decision;
  const decided = decision === undefined ? [] : decidedBySignal(state, event, { held, decision });
  held.phase = 'running';
  held.isHeld = isHolderQueue(event.taskQueue);
  const wasGivenBack = held.absent !== undefined || held.isPaused === true;
  const isRound = wasGivenBack && held.generation === at.generation;
  if (!isRound) delete held.absent;
  if (!isRound) delete held.isPaused;
  held.generation = at.generation;
  delete held.secret;
  delete held.reported;
  if (input !== undefined) held.callKey = input.callKey;
  const grant = grantIn(input);
  delete held.grant;
  if (grant !== undefined) Object.assign(held, { grant, approved: true });
  delete held.remark;
  const remark = input && decisionNote(input);
  if (remark !== undefined) held.remark = remark;
  if (input?.secret !== undefined) held.secret = input.secret;
  held.effective = input?.arguments ?? held.effective;
  held.startedAt = event.at;
  return isRound ? decided : [...decided, startedEvent(event, held, { input, taskQueue: event.taskQueue })];
}

/** The call with an id. It is made up if the step that asked for it could not be read. */
export function ensureCall(state: FoldState, callId: string, tool: string): CallFold {
  const known = state.calls.get(callId);
  if (known !== undefined) return known;
  const made = newCall({ kind: 'remote', callId, id: callId, tool, taskQueue: '', raw: '' });
  state.calls.set(callId, made);
  return made;
}

/** The event of a call that starts. */
function startedEvent(
  head: EventHeader,
  held: CallFold,
  facts: { input: CallStart | undefined; taskQueue: string },
): CallStarted {
  const { callId, tool } = held.call;
  return {
    type: 'call_started',
    ...eventHeader(head),
    callId,
    tool,
    generation: held.generation,
    arguments: held.effective,
    effect: facts.input?.effect ?? effectOf(held),
    taskQueue: facts.taskQueue,
    decision: spentBy(facts.input),
    grant: grantIn(facts.input),
  };
}

function spentBy(input: CallStart | undefined): CallStarted['decision'] {
  if (input?.decision === undefined) return undefined;
  const { decision, approver, reason } = input.decision;
  return { decision: input.generation > 0 ? 'run-again' : decision, approver, reason };
}

/** The unsafe calls of a gate that were decided on before a reset: the run before may have started them. */
export function lostByReset({ calls }: FoldState, head: EventHeader): TurnEvent[] {
  return [...calls.values()].flatMap((held) => {
    const isAllowed = held.phase === 'decided' || held.phase === 'running';
    const isDoubted = isAllowed && gateActivity(held) !== undefined && effectOf(held) === 'unsafe';
    return isDoubted ? lose(head, held, { message: STARTED_BEFORE }) : [];
  });
}

/** The effect of a call. A call that cannot be read may have any effect, so the worst is assumed. */
function effectOf({ call }: CallFold): CallStarted['effect'] {
  return isValidCall(call) ? call.settings.effect : 'unsafe';
}

export function callCompleted(
  held: CallFold,
  event: EventOf<'activity_completed'>,
  activity: ActivityFold,
): TurnEvent[] {
  if (gateActivity(held) !== undefined) {
    // After a reset, the end of one start says nothing about the start before the reset.
    if (held.phase !== 'running') return [];
    const result = returnedResult(held, event.result, event.at);
    return endCall(event, held, { result, ...factsOf(activity, event.at), origin: 'handler' });
  }
  const output = readCallOutput(event.result, { callId: held.call.callId, secret: held.secret });
  if (output !== undefined && 'inDoubt' in output) return lose(event, held, output.inDoubt, leaveOf(output));
  if (output !== undefined && 'askAgain' in output) return voidDecision(event, held, output);
  if (output !== undefined && 'notHere' in output) return givenBack(event, held, output.notHere);
  if (output !== undefined && 'paused' in output) return pausedBy(event, held, output);
  delete held.absent;
  delete held.isPaused;
  // From now on, the call runs as a child turn. The child turn brings the result.
  if (
    output !== undefined &&
    'child' in output &&
    isValidCall(held.call) &&
    held.call.settings.child !== undefined
  ) {
    held.leave = leaveOf(output);
    return [];
  }
  // If this reader lacks the key of an output, the call is not in doubt, because the workflow may have had the key. If
  // the output could be decoded but has no result, an unsafe call is in doubt.
  const wasRead = event.result !== undefined;
  const outcome = output !== undefined && 'result' in output ? output : undefined;
  if (outcome === undefined && wasRead && effectOf(held) === 'unsafe')
    return lose(event, held, { message: UNREADABLE });
  const result = outcome?.result ?? unhandledResult(held, unreadable(), event.at);
  const leave = outcome === undefined ? {} : leaveOf(outcome);
  const facts = { ...factsOf(activity, event.at), ...leave };
  return endCall(event, held, { result, ...facts, origin: 'handler' });
}

/** The grant and the roster by which a call started, if they can be read. */
function leaveOf({ grant, roster }: { grant?: GrantUse; roster?: unknown }): StartedBy {
  return { grant, roster: rosterIn(roster) };
}

/** The worker that took the call lacks its agent or tool. One event is made, however often that happens. */
function givenBack(head: EventHeader, held: CallFold, message: string): TurnEvent[] {
  const isFirst = held.absent === undefined;
  held.absent = message;
  const { callId, tool } = held.call;
  return isFirst ? [{ type: 'call_waits', ...eventHeader(head), callId, tool, message }] : [];
}

/** A pause holds the call. The message says which pause. */
function pausedBy(head: EventHeader, held: CallFold, { paused, mayHaveRun }: Paused): TurnEvent[] {
  held.isPaused = true;
  if (mayHaveRun === true) held.runsAgain = true;
  const { callId, tool } = held.call;
  return [{ type: 'call_held', ...eventHeader(head), callId, tool, message: paused }];
}

/** No pause holds the call any more, and it is scheduled again. */
export function callResumed(head: EventHeader, held: CallFold): TurnEvent[] {
  const { callId, tool } = held.call;
  return [{ type: 'call_resumed', ...eventHeader(head), callId, tool }];
}

/**
 * The activity of a call failed, timed out or was cancelled. If this may prove that the call never started, the next
 * workflow task judges it.
 */
export function callFailed(
  state: FoldState,
  event: EventOf<'activity_failed'>,
  of: { held: CallFold; activity: ActivityFold },
): TurnEvent[] {
  if (gateActivity(of.held) !== undefined && of.held.phase !== 'running') return [];
  const failed = { ...of, event };
  if (!endedUntaken(lostInHistory(event.failure))) return judge(failed, event);
  state.unjudged.push(failed);
  return [];
}

/** A workflow task begins, and judges the activities that failed before it. */
export function judgeFailures(state: FoldState, event: EventOf<'task_started'>): TurnEvent[] {
  return state.unjudged.splice(0).flatMap((failed) => judge(failed, event));
}

function judge({ held, activity, event }: UnjudgedFailure, by: EventHeader): TurnEvent[] {
  const openMs = Date.parse(by.at) - activity.scheduledIn;
  const times = { openMs, ...timesOf(held) };
  const effect = effectOf(held);
  const lost = lostInHistory(event.failure);
  const moved = held.isHeld === true ? goesElsewhere(lost, { effect, times }) : undefined;
  if (moved !== undefined) {
    if (moved.mayHaveRun) held.runsAgain = true;
    return givenBack(by, held, HOLDER_GONE);
  }
  const settled =
    gateActivity(held) === undefined
      ? settleFailure(event.failure, { effect, times })
      : settleOwnFailure(event.failure, { effect, times });
  if ('doubt' in settled) return lose(by, held, settled.doubt, startedBy(held, event.failure));
  const result = 'result' in settled ? settled.result : unhandledResult(held, settled.failure, event.at);
  const origin = 'result' in settled ? 'handler' : 'failure';
  const roster = 'result' in settled ? settled.roster : undefined;
  return endCall(by, held, { result, ...factsOf(activity, event.at), origin, roster });
}

/** The use of a grant by which a lost call had started. Its worker put the use into its heartbeats. */
function startedBy({ grant }: CallFold, failure: DecodedFailure): Pick<CallLost, 'grant'> {
  if (grant === undefined) return {};
  const { beat } = rootOf(failure);
  const use = is.grantBeat(beat) && beat.grant.id === grant.id ? beat.grant : undefined;
  return { grant: { ...grant, ...use } };
}

function timesOf({ call, isHeld = false }: CallFold): Omit<OpenTimes, 'openMs'> {
  if (!isValidCall(call)) return { heartbeatMs: 0, startWithinMs: 0, maximumAttempts: 1 };
  return timeoutsOf(call.settings, isHeld);
}

/**
 * Voids a decision, as the workflow does. Only our own worker may say that a decision does not hold. For an unsafe
 * call, the secret of the call proves that our worker said so.
 */
function voidDecision(head: EventHeader, held: CallFold, said: AskAgain): TurnEvent[] {
  const { call } = held;
  const { askAgain: message, struck } = said;
  const authority = readAuthority(said.authority);
  const proof = { authority, secret: said.secret };
  if (!isValidCall(call) || !isAskable(call, held.secret, proof)) return lose(head, held, { message });
  const joined = joinedAuthority({ authority: readAuthority(call.authority) }, { authority });
  held.call = { ...call, kind: 'ask', ...defined({ authority: joined }) };
  if (said.mayHaveRun === true) held.runsAgain = true;
  held.phase = 'replanning';
  held.planned = true;
  held.approved = false;
  held.effective = call.arguments;
  held.note = message;
  delete held.remark;
  const { callId, tool } = call;
  return [{ type: 'decision_void', ...eventHeader(head), callId, tool, message, struck }];
}

function factsOf(activity: ActivityFold, at: string): { durationMs: number; attempts: number } {
  return { durationMs: Date.parse(at) - Date.parse(activity.scheduledAt), attempts: activity.attempts };
}

/**
 * A call of a `local` tool ended. History has one marker for it, when it is over. The id of the call is in the result
 * and at the beginning of the marker's summary. An attempt that will be repeated does not end the call.
 */
export function localActivity(state: FoldState, event: EventOf<'local_activity'>): TurnEvent[] {
  const callId = localCallId(event);
  if (event.backsOff || callId === undefined) return [];
  const held = ensureCall(state, callId, event.activityType);
  if (isCallOutput(event.result) && 'notHere' in event.result)
    return givenBack(event, held, event.result.notHere);
  const started = startedEvent(event, held, { input: undefined, taskQueue: '' });
  const settled = outcomeOf(event);
  const result = 'result' in settled ? settled.result : undefined;
  const failure =
    'failure' in settled ? settled.failure : { code: 'unknown' as const, message: 'it was lost' };
  const ending = endCall(event, held, {
    result: result ?? unhandledResult(held, failure, event.at),
    durationMs: result?.metadata.execution_time_ms ?? 0,
    attempts: event.attempt,
    origin: result === undefined ? 'failure' : 'handler',
  });
  return [started, ...ending];
}

/** The times of a local activity. It is not on the server, so only its own failure can end it. */
const NOT_OPEN = { openMs: 0, heartbeatMs: 1, startWithinMs: 0, maximumAttempts: 1 };

function outcomeOf(event: EventOf<'local_activity'>): ReturnType<typeof settleFailure> {
  if (event.failure !== undefined) return settleFailure(event.failure, { effect: 'pure', times: NOT_OPEN });
  const output = isCallOutput(event.result) ? event.result : undefined;
  if (output !== undefined && 'result' in output) return { result: output.result };
  return { failure: { code: 'unknown', message: 'the result cannot be read' } };
}

function localCallId({ result, summary }: EventOf<'local_activity'>): string | undefined {
  if (isCallOutput(result) && 'result' in result) return result.result.callId;
  return summary?.split(' ', 1)[0];
}
