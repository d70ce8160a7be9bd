import { ACTIVITIES } from '../../contract/names';
import type { EventOf } from '../decode/events';
import type { TurnEvent } from '../events';
import { callCompleted, callFailed, callScheduled, ensureCall } from './calls';
import { prepareCompleted, prepareFailed } from './prepare';
import { headOf, type ActivityFold, type FoldState, type Purpose } from './state';
import { thinkCompleted, thinkFailed, thinkScheduled, thinkStarted } from './think';
import { verifyCompleted, verifyFailed } from './verify';

/** What an activity is for: ours by their types, a tool's by the id the workflow gave it. */
export function purposeOf(activity: { id: string; activityType: string }): Purpose | undefined {
  const { id, activityType } = activity;
  if (activityType === ACTIVITIES.think) return { what: 'think', step: Number(id.slice('think-'.length)) };
  if (activityType === ACTIVITIES.prepare) return { what: 'prepare', callId: id.slice('prepare-'.length) };
  const [, what, callId, generation] = /^(call|verify)-(.+)-(\d+)$/.exec(id) ?? [];
  if (callId === undefined || what === undefined) return undefined;
  return { what: what === 'verify' ? 'verify' : 'call', callId, generation: Number(generation) };
}

export function activityScheduled(state: FoldState, event: EventOf<'activity_scheduled'>): TurnEvent[] {
  const purpose = purposeOf(event);
  if (purpose === undefined) return [];
  state.activities.set(event.eventId, { purpose, scheduledAt: event.at, attempts: 0 });
  if (purpose.what === 'think') return thinkScheduled(state, event, purpose.step);
  if (purpose.what === 'call') return callScheduled(state, event, purpose);
  if (purpose.what === 'prepare') return [];
  return [{ type: 'verifying', ...headOf(event), callId: purpose.callId }];
}

export function activityStarted(state: FoldState, event: EventOf<'activity_started'>): TurnEvent[] {
  const activity = state.activities.get(event.scheduledEventId);
  if (activity === undefined) return [];
  activity.attempts = event.attempt;
  return activity.purpose.what === 'think' ? thinkStarted(event, activity.purpose.step) : [];
}

export function activityCompleted(state: FoldState, event: EventOf<'activity_completed'>): TurnEvent[] {
  const activity = take(state, event.scheduledEventId);
  if (activity === undefined) return [];
  const { purpose } = activity;
  if (purpose.what === 'think') return thinkCompleted(state, event, purpose.step);
  if (purpose.what === 'prepare') return prepareCompleted(state, event, purpose.callId);
  if (purpose.what === 'verify') return verifyCompleted(state, event, purpose);
  return callCompleted(ensureCall(state, purpose.callId, ''), event, activity);
}

export function activityFailed(state: FoldState, event: EventOf<'activity_failed'>): TurnEvent[] {
  const activity = take(state, event.scheduledEventId);
  if (activity === undefined) return [];
  const { purpose } = activity;
  if (purpose.what === 'think') return thinkFailed(event, purpose.step);
  if (purpose.what === 'prepare') return prepareFailed(state, event, purpose.callId);
  if (purpose.what === 'verify') return verifyFailed(event, purpose);
  return callFailed(ensureCall(state, purpose.callId, ''), event, activity);
}

/** A cancelled activity is one that failed by cancellation; a cancelled `think` needs no telling. */
export function activityCanceled(state: FoldState, event: EventOf<'activity_canceled'>): TurnEvent[] {
  const { scheduledEventId } = event;
  if (state.activities.get(scheduledEventId)?.purpose.what === 'think') return [];
  const failure = { message: 'cancelled', kind: 'canceled' as const, details: [] };
  return activityFailed(state, { kind: 'activity_failed', ...headOf(event), scheduledEventId, failure });
}

function take(state: FoldState, scheduledEventId: number): ActivityFold | undefined {
  const activity = state.activities.get(scheduledEventId);
  state.activities.delete(scheduledEventId);
  return activity;
}
