import { unreadable, UNREADABLE } from '../../contract/call-texts';
import { endedUntaken } from '../../contract/lost-activity';
import { lastResult, outcomeIn, outcomeOfLost, settle } from '../../lifecycle/outcomes';
import { failureOf } from '../../lifecycle/results';
import { takeReset } from '../../lifecycle/reset';
import { reportOfWorker } from '../../lifecycle/own-activity';
import { isObject } from '../../contract/json';
import type { CallState } from '../../lifecycle/state';
import type { DecodedFailure, EventOf } from '../decode/events';
import { rootOf } from '../decode/failure';
import type { CallLost, CallStarted, EventHeader, TurnEvent } from '../events';
import { isCallOutput } from '../../contract/call-payloads';
import { type CallStart, is } from './guards';
import {
  gateActivity,
  grantIn,
  heardIn,
  lose,
  lostInHistory,
  returnedResult,
  settleOwnFailure,
  rosterIn,
} from './results';
import { decidedBySignal } from './messages';
import { callHeader, endCall, happen, lifeOf, openCall, timeOf } from './lives';
import type { ActivityFold, CallFold, FoldState, UnjudgedFailure, UnjudgedVoid } from './state';
import type { CallBase, NotHere, Paused, StartedBy } from '../../contract/call';
import { SOMEBODY } from '../../contract/authority';
import type { GrantUse } from '../../contract/policy-rule';
import { HOLDER_QUEUE } from '../../contract/names';

/** A call's activity is scheduled. If a signal allowed the call, the event of that signal comes first. */
export function callScheduled(
  state: FoldState,
  event: EventOf<'activity_scheduled'>,
  at: { callId: string; generation: number },
): TurnEvent[] {
  const held = ensureCall(state, at.callId, event.activityType);
  const life = lifeOf(state, held);
  const sent = gateActivity(life) === undefined ? event.input : gateInput(event.gate, life);
  const input = is.callInput(sent) ? sent : undefined;
  const decision = input?.decision;
  const decided = decision === undefined ? [] : decidedBySignal(state, event, { life, decision });
  held.isHeld = isHolderQueue(event.taskQueue);
  held.startedAt = event.at;
  if (isObject(event.gate) && event.gate['hasKey'] !== true) held.isKeyless = true;
  if (input !== undefined) held.callKey = input.callKey;
  // A worker gave it back, and it is scheduled once more.
  if (life.phase === 'running' && life.generation === at.generation) return decided;
  delete held.absent;
  delete held.proof;
  start(state, lifeOf(state, held), input);
  const { taskQueue } = event;
  return [...decided, startedEvent(state, event, lifeOf(state, held), { input, taskQueue, ...at })];
}

/** The call as which a user's own activity runs. The activity itself gets the plain arguments. */
function gateInput(header: unknown, { effective }: CallState): unknown {
  return isObject(header) ? { ...header, arguments: effective } : undefined;
}

/** Starts a call. It was allowed, also where the record does not show the verdict. */
function start(state: FoldState, life: CallState, input: CallStart | undefined) {
  const { callId } = life.call;
  const { secret, decision: said, proposed } = input ?? {};
  const { decision = 'approved', decisionId = '', approver = SOMEBODY, reason, edit } = said ?? {};
  const { seenDigest } = life;
  if (life.phase === 'request' && input !== undefined && proposed !== undefined && edit !== undefined)
    happen(state, {
      type: 'edited',
      callId,
      arguments: input.arguments,
      digest: '',
      isPrepared: false,
      ...edit,
    });
  // Only a call that was in doubt starts once more.
  if (life.phase === 'running')
    happen(state, { type: 'lost', callId, doubt: { message: UNREADABLE }, at: 0 });
  const runsAgain = life.phase === 'running' || life.phase === 'in_doubt' ? (true as const) : undefined;
  if (life.phase === 'request' || runsAgain) {
    const spent = { decisionId, decision, approver, reason, edit, seenDigest };
    const standing = { decision, approver, at: '' };
    happen(state, { type: 'allowed', callId, decision: spent, standing, isOld: false, runsAgain });
  }
  happen(state, { type: 'started', callId, secret });
}

/** The call with an id. It is made up if the step that asked for it could not be read. */
export function ensureCall(state: FoldState, callId: string, tool = ''): CallFold {
  const known = state.calls.get(callId);
  return known ?? openCall(state, { kind: 'remote', callId, id: callId, tool, taskQueue: '', raw: '' });
}

/** The event of a call that starts. */
function startedEvent(
  state: FoldState,
  head: EventHeader,
  life: CallState,
  { input, taskQueue, generation }: { input: CallStart | undefined; taskQueue: string; generation: number },
): CallStarted {
  const { callId, tool, settings } = life.call;
  return {
    type: 'call_started',
    ...callHeader(state, head, callId),
    tool,
    generation,
    arguments: input?.arguments ?? life.effective,
    effect: input?.effect ?? settings.effect,
    taskQueue,
    decision: spentBy(input),
    grant: grantIn(input),
  };
}

function spentBy(input: CallStart | undefined): CallStarted['decision'] {
  if (input?.decision === undefined) return undefined;
  const { decision, approver, reason } = input.decision;
  return { decision: input.generation > 0 ? 'run-again' : decision, approver, reason };
}

/** A reset voids what was said before it. The run before may have started the unsafe calls of a gate. */
export function lostByReset(state: FoldState, head: EventHeader): TurnEvent[] {
  const events = takeReset(state.approvals, timeOf(head));
  happen(state, ...events);
  return events.flatMap((event) => {
    const held = event.type === 'lost' ? state.calls.get(event.callId) : undefined;
    return event.type === 'lost' && held !== undefined ? lose(state, head, held, event) : [];
  });
}

export function callCompleted(
  state: FoldState,
  event: EventOf<'activity_completed'>,
  { held, activity }: { held: CallFold; activity: ActivityFold },
): TurnEvent[] {
  const life = lifeOf(state, held);
  const now = timeOf(event);
  const facts = factsOf(activity, event.at);
  if (gateActivity(life) !== undefined) {
    // After a reset, the end of one start says nothing about the start before the reset.
    if (life.phase !== 'running') return [];
    if (reportOfWorker(event.result, life) === undefined) {
      const result = returnedResult(life, event.result, now);
      return endCall(state, event, held, { result, ...facts, origin: 'handler' });
    }
  }
  // If this reader lacks the key of an output, the call is not in doubt, because the workflow may have had the key.
  const said =
    event.result === undefined
      ? { result: failureOf(life, unreadable(), now) }
      : outcomeIn(life, event.result, now);
  if ('inDoubt' in said) return lose(state, event, held, { doubt: said.inDoubt, ...leaveOf(said) });
  if ('askAgain' in said) {
    state.unjudged.push({ held, said });
    return [];
  }
  if ('notHere' in said) return givenBack(state, event, held, said);
  if ('paused' in said) return pausedBy(state, event, said, held.call);
  delete held.absent;
  // From now on, the call runs as a child turn. The child turn brings the result.
  if ('child' in said) {
    held.leave = leaveOf(said);
    return [];
  }
  return endCall(state, event, held, { result: said.result, ...facts, ...leaveOf(said), origin: 'handler' });
}

/** The grant and the roster by which a call started, if they can be read. */
function leaveOf({ grant, roster }: { grant?: GrantUse; roster?: unknown }): StartedBy {
  return { grant, roster: rosterIn(roster) };
}

/** The worker that took the call lacks its agent or tool. One event is made, however often that happens. */
function givenBack(
  state: FoldState,
  head: EventHeader,
  held: CallFold,
  { notHere: message, mayHaveRun }: NotHere & { mayHaveRun?: true },
): TurnEvent[] {
  const isFirst = held.absent === undefined;
  held.absent = message;
  const { callId, tool } = held.call;
  happen(state, { type: 'given_back', callId, isHeld: false, mayHaveRun });
  return isFirst ? [{ type: 'call_waits', ...callHeader(state, head, callId), tool, message }] : [];
}

/** A pause holds the call. The message says which pause. */
function pausedBy(
  state: FoldState,
  head: EventHeader,
  { paused: message, mayHaveRun }: Paused,
  { callId, tool }: CallBase,
): TurnEvent[] {
  happen(state, { type: 'given_back', callId, isHeld: true, mayHaveRun });
  return [{ type: 'call_held', ...callHeader(state, head, callId), tool, message }];
}

/** No pause holds the call any more, and it is scheduled again. */
export function callResumed(state: FoldState, head: EventHeader, held: CallFold): TurnEvent[] {
  const { callId, tool } = held.call;
  return [{ type: 'call_resumed', ...callHeader(state, head, callId), tool }];
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
  const life = lifeOf(state, of.held);
  if (gateActivity(life) !== undefined && life.phase !== 'running') return [];
  const failed = { ...of, event };
  if (!endedUntaken(lostInHistory(event.failure))) return judge(state, failed, event);
  state.unjudged.push(failed);
  return [];
}

/** A workflow task begins, and judges the activities that ended before it. */
export function judgeEnds(state: FoldState, event: EventOf<'task_started'>): TurnEvent[] {
  return state.unjudged
    .splice(0)
    .flatMap((ended) => ('said' in ended ? voidDecision(state, event, ended) : judge(state, ended, event)));
}

function judge(state: FoldState, { held, activity, event }: UnjudgedFailure, by: EventHeader): TurnEvent[] {
  const life = lifeOf(state, held);
  const { isHeld = false } = held;
  const { failure } = event;
  const root = rootOf(failure);
  const last = lastResult(root, held.call.callId);
  const times = { openMs: timeOf(by) - activity.scheduledIn, now: timeOf(event) };
  const said =
    gateActivity(life) === undefined
      ? outcomeOfLost(life, lostInHistory(failure), { isHeld, last, ...times })
      : settleOwnFailure(life, failure, times);
  if ('notHere' in said) return givenBack(state, by, held, said);
  if ('inDoubt' in said) {
    const doubt = { ...said.inDoubt, ...heardIn(root.beat) };
    return lose(state, by, held, { doubt, ...startedBy(life, failure) });
  }
  const { result } = said;
  const from = result === last ? { origin: 'handler' as const, roster: rosterIn(root.details[1]) } : FAILURE;
  return endCall(state, by, held, { result, ...factsOf(activity, event.at), ...from });
}

const FAILURE = { origin: 'failure' } as const;

/** The use of a grant by which a lost call had started. Its worker put the use into its heartbeats. */
function startedBy(life: CallState, failure: DecodedFailure): Pick<CallLost, 'grant'> {
  if (!('leave' in life) || life.leave?.by !== 'grant') return {};
  const { grant } = life.leave;
  const { beat } = rootOf(failure);
  const use = is.grantBeat(beat) && beat.grant.id === grant.id ? beat.grant : undefined;
  return { grant: { ...grant, ...use } };
}

/**
 * A worker says that the decision does not hold. If that cannot be from our own worker, the call is in doubt. A cancelled
 * turn asks nobody again.
 */
function voidDecision(state: FoldState, head: EventHeader, { held, said }: UnjudgedVoid): TurnEvent[] {
  const { callId, tool } = held.call;
  // A workflow that calls through a gate cancels scopes, which are not in history.
  const cancelled = state.approvals.cancelled && gateActivity(lifeOf(state, held)) === undefined;
  const events = settle({ ...state.approvals, cancelled }, callId, said, timeOf(head));
  const { askAgain: message, struck } = said;
  if (events.some(({ type }) => type === 'lost')) return lose(state, head, held, { doubt: { message } });
  happen(state, ...events);
  if (!events.some(({ type }) => type === 'voided')) return [];
  held.shown = undefined;
  return [{ type: 'decision_void', ...callHeader(state, head, callId), tool, message, struck }];
}

function factsOf(activity: ActivityFold, at: string) {
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
  const life = lifeOf(state, held);
  happen(state, { type: 'started', callId });
  if (isCallOutput(event.result) && 'notHere' in event.result)
    return givenBack(state, event, held, event.result);
  const started = startedEvent(state, event, life, { input: undefined, taskQueue: '', generation: 0 });
  const now = timeOf(event);
  const output = isCallOutput(event.result) && 'result' in event.result ? event.result.result : undefined;
  const said = event.failure && outcomeOfLost(life, lostInHistory(event.failure), { ...LOCAL, now });
  const unread = { code: 'unknown' as const, message: 'the result cannot be read' };
  const failed = said && 'result' in said ? said.result : failureOf(life, unread, now);
  const ending = endCall(state, event, held, {
    result: output ?? failed,
    durationMs: output?.metadata.execution_time_ms ?? 0,
    attempts: event.attempt,
    origin: output === undefined ? 'failure' : 'handler',
  });
  return [started, ...ending];
}

/** A local activity is not on the server, so only its own failure can end it. */
const LOCAL = { isHeld: false, openMs: 0, last: undefined };

function localCallId({ result, summary }: EventOf<'local_activity'>) {
  if (isCallOutput(result) && 'result' in result) return result.result.callId;
  return summary?.split(' ', 1)[0];
}

/** Whether only one worker polls a queue. */
function isHolderQueue(queue: string) {
  return queue.startsWith(HOLDER_QUEUE);
}
