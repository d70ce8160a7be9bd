import { ACTIVITIES, parseActivityId } from '../../contract/names';
import type { DecodedFailure, EventOf } from '../decode/events';
import type { TurnEvent } from '../events';
import { expandBurst, failedAfter, burstOutputOf } from './burst';
import { callCompleted, callFailed, callResumed, callScheduled, ensureCall } from './calls';
import { childAwaited, childWaitEnded } from './child-turns';
import { gateCompleted, prepareCompleted, prepareFailed } from './requests';
import { type ActivityFold, type FoldState, eventHeader, type Purpose } from './state';
import { thinkCompleted, thinkFailed, thinkScheduled, thinkStarted } from './think';
import { rootOf } from '../decode/failure';
import { proofIn } from '../../lifecycle/doubts';
import { callHeader, timeOf } from './lives';
import { readVerifyOutput } from '../../contract/call-payloads';

/**
 * The purpose of an activity. Our own activities are known by their types, the activity of a tool by the id that the
 * workflow gave it.
 */
export function purposeOf({ id, activityType }: { id: string; activityType: string }): Purpose | undefined {
  const parts = parseActivityId(id);
  if (parts === undefined) return undefined;
  const { what, of, number } = parts;
  if (activityType === ACTIVITIES.think) return { what: 'think', step: Number(of) };
  if (activityType === ACTIVITIES.burst) return { what: 'think', step: Number(of), isBurst: true };
  if (activityType === ACTIVITIES.prepare) return { what: 'prepare', callId: of };
  if (activityType === ACTIVITIES.gate) return { what: 'prepare', callId: of, isGate: true };
  if (activityType === ACTIVITIES.child) return { what: 'child', callId: of };
  if (activityType === ACTIVITIES.held) return { what: 'held', callId: of };
  return what === 'call' || what === 'verify' ? { what, callId: of, generation: number } : undefined;
}

export function activityScheduled(state: FoldState, event: EventOf<'activity_scheduled'>): TurnEvent[] {
  const purpose = purposeOf(event);
  if (purpose === undefined) return [];
  const { taskTime } = state;
  const think = purpose.what === 'think' ? event : undefined;
  const facts = { purpose, scheduledAt: event.at, scheduledIn: taskTime, attempts: 0, think };
  state.activities.set(event.scheduledAs ?? event.eventId, facts);
  if (purpose.what === 'think') return thinkScheduled(state, event, purpose.step);
  if (purpose.what === 'call') return callScheduled(state, event, purpose);
  if (purpose.what === 'prepare' || purpose.what === 'held') return [];
  if (purpose.what === 'child') return childAwaited(state, event, purpose.callId);
  return [{ type: 'verifying', ...callHeader(state, event, purpose.callId) }];
}

export function activityStarted(state: FoldState, event: EventOf<'activity_started'>): TurnEvent[] {
  const activity = state.activities.get(event.scheduledEventId);
  if (activity === undefined) return [];
  activity.attempts = event.attempt;
  // What the attempt took over is known once its end shows whether it was a burst. In history the end comes next.
  if (activity.purpose.what === 'think') activity.started = event;
  return [];
}

export function activityCompleted(state: FoldState, event: EventOf<'activity_completed'>): TurnEvent[] {
  const activity = removeActivity(state, event.scheduledEventId);
  if (activity === undefined) return [];
  const { purpose } = activity;
  if (purpose.what === 'think') return stepsCompleted(state, activity, event);
  if (purpose.what === 'prepare')
    return (purpose.isGate === true ? gateCompleted : prepareCompleted)(state, event, purpose.callId);
  if (purpose.what === 'verify') return verifyCompleted(state, event, purpose);
  if (purpose.what === 'child') return childWaitEnded(state, event, purpose.callId);
  const held = ensureCall(state, purpose.callId);
  return purpose.what === 'held'
    ? callResumed(state, event, held)
    : callCompleted(state, event, { held, activity });
}

export function activityFailed(state: FoldState, event: EventOf<'activity_failed'>): TurnEvent[] {
  const activity = removeActivity(state, event.scheduledEventId);
  if (activity === undefined) return [];
  const { purpose } = activity;
  if (purpose.what === 'think') return [...thinkBegan(state, activity), ...thinkFailed(event, purpose.step)];
  if (purpose.what === 'prepare') return prepareFailed(state, event, purpose.callId);
  if (purpose.what === 'verify') return verifyFailed(state, event, purpose);
  if (purpose.what === 'child') return childWaitEnded(state, event, purpose.callId);
  // The wait was cancelled with its turn, or ended by an operator. The events of the call show what follows.
  if (purpose.what === 'held') return [];
  const held = ensureCall(state, purpose.callId);
  return callFailed(state, event, { held, activity });
}

/**
 * A cancelled activity is handled like an activity that failed because of the cancellation. A cancelled `think` makes
 * no event for its end.
 */
export function activityCanceled(state: FoldState, event: EventOf<'activity_canceled'>): TurnEvent[] {
  const { scheduledEventId, untaken } = event;
  const activity = state.activities.get(scheduledEventId);
  if (activity?.purpose.what === 'think') return thinkBegan(state, activity);
  const failure: DecodedFailure = { message: 'cancelled', kind: 'canceled', details: [] };
  if (untaken) failure.untaken = true;
  return activityFailed(state, { kind: 'activity_failed', ...eventHeader(event), scheduledEventId, failure });
}

/** The last attempt to ask the model, once it is over. */
function thinkBegan(state: FoldState, { purpose, started }: ActivityFold, wasBurst = false): TurnEvent[] {
  if (purpose.what !== 'think' || started === undefined) return [];
  return thinkStarted(state, started, { step: purpose.step, isBurst: wasBurst || purpose.isBurst === true });
}

/** One step or a burst is over. The steps of a burst make the same events as if each step had been an activity. */
function stepsCompleted(
  state: FoldState,
  activity: ActivityFold,
  completed: EventOf<'activity_completed'>,
): TurnEvent[] {
  const { purpose, think: scheduled } = activity;
  if (purpose.what !== 'think' || scheduled === undefined) return [];
  const record = { scheduled, completed };
  const output = burstOutputOf(record);
  const [first, ...rest] = expandBurst(record, output);
  if (first?.kind !== 'activity_completed') return [];
  const made = [
    ...thinkBegan(state, activity, output !== undefined),
    ...thinkCompleted(state, first, purpose.step),
    ...rest.flatMap((event) => {
      if (event.kind === 'activity_scheduled') return activityScheduled(state, event);
      if (event.kind === 'activity_started') return activityStarted(state, event);
      return event.kind === 'activity_completed' ? activityCompleted(state, event) : [];
    }),
  ];
  state.failed = failedAfter(output);
  return made;
}

function removeActivity(state: FoldState, scheduledEventId: number): ActivityFold | undefined {
  const activity = state.activities.get(scheduledEventId);
  state.activities.delete(scheduledEventId);
  return activity;
}

const TOO_SOON = 'it may still be running, so a person has to resolve it unless it reports its outcome';

type Of = { callId: string; generation: number };

/**
 * Takes the verdict of the tool's check as proof. The proof settles the doubt only if no person was first, and the memo
 * of the same workflow task shows whether a person was.
 */
function verifyCompleted(state: FoldState, event: EventOf<'activity_completed'>, of: Of): TurnEvent[] {
  const answer = readVerifyOutput(event.result, of.callId);
  const held = state.calls.get(of.callId);
  const life = state.approvals.calls.get(of.callId);
  const isOpen = life?.phase === 'in_doubt' && life.generation === of.generation;
  const proven = isOpen && answer && proofIn(life, answer, timeOf(event));
  if (proven && held !== undefined)
    held.proof = { result: proven, origin: answer.outcome === 'happened' ? 'handler' : 'turn' };
  const isTooSoon = isOpen && answer?.outcome === 'did_not' && !proven;
  const said = answer === undefined || answer.outcome === 'happened' ? undefined : answer.message;
  const message = isTooSoon ? TOO_SOON : said;
  const outcome = answer?.outcome ?? 'cannot_tell';
  return [{ type: 'verified', ...callHeader(state, event, of.callId), outcome, message }];
}

function verifyFailed(state: FoldState, event: EventOf<'activity_failed'>, of: Of): TurnEvent[] {
  const { kind, message } = rootOf(event.failure);
  if (kind === 'canceled') return [];
  return [{ type: 'verified', ...callHeader(state, event, of.callId), outcome: 'cannot_tell', message }];
}
