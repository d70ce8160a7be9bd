import type { DecodedEvent } from './decode/events';
import { defined } from './defined';
import type { TurnEvent } from './events';
import {
  activityCanceled,
  activityCompleted,
  activityFailed,
  activityScheduled,
  activityStarted,
} from './fold/activities';
import { localActivity } from './fold/local';
import { memoChanged } from './fold/memo';
import { runEnded, runStarted } from './fold/run';
import { signaled } from './fold/signals';
import { headOf, makeState, type FoldState } from './fold/state';
import { updateAccepted, updateCompleted } from './fold/updates';

/** Turns history into turn events, one event after the other. */
export interface Fold {
  /** The turn events that one more history event makes; often none. Reads no clock and never throws on a payload. */
  push(event: DecodedEvent): TurnEvent[];
}

/**
 * The one fold of history. Give it every event of a turn in order, the runs of a chain one after the other.
 * Pushing events one by one or all at once comes to the same.
 */
export function createFold(): Fold {
  const state = makeState();
  return { push: (event) => foldEvent(state, event) };
}

/** The turn events of a whole history. */
export function foldAll(events: Iterable<DecodedEvent>): TurnEvent[] {
  const fold = createFold();
  return [...events].flatMap((event) => fold.push(event));
}

function foldEvent(state: FoldState, event: DecodedEvent): TurnEvent[] {
  switch (event.kind) {
    case 'started':
      return runStarted(state, event);
    case 'task_started':
      state.taskTime = Date.parse(event.at);
      return [];
    case 'activity_scheduled':
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
    case 'update_accepted':
      return updateAccepted(state, event);
    case 'update_completed':
      return updateCompleted(state, event);
    case 'memo':
      return memoChanged(state, event);
    default:
      return foldEdge(state, event);
  }
}

/** What concerns the run as a whole. */
function foldEdge(state: FoldState, event: DecodedEvent): TurnEvent[] {
  const head = headOf(event);
  switch (event.kind) {
    case 'task_failed':
      return [{ type: 'task_failed', ...head, message: event.message }];
    case 'reset':
      state.runId = event.newRunId;
      return [
        {
          type: 'reset',
          ...head,
          baseRunId: event.baseRunId,
          newRunId: event.newRunId,
          reason: event.message,
        },
      ];
    case 'cancel_requested':
      return [
        { type: 'cancel_requested', ...head, identity: event.identity, ...defined({ reason: event.reason }) },
      ];
    case 'continued_as_new':
      return [{ type: 'continued_as_new', ...head, newRunId: event.newRunId }];
    default:
      return runEnded(state, event);
  }
}
