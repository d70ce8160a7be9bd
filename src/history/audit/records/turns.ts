import { sha256 } from '../format';
import { proposal } from './calls';
import { draft, type Draft, type Of } from './draft';

type TurnLevelEvent = Of<
  | 'turn_started'
  | 'forked'
  | 'thinking'
  | 'think_retried'
  | 'think_failed'
  | 'step'
  | 'signal_recorded'
  | 'verifying'
  | 'cancel_requested'
  | 'continued_as_new'
  | 'reset'
  | 'task_failed'
  | 'turn_ended'
>;

/** How a turn begins, goes on and ends, and what its model proposed. */
export function recordsOfTurn(event: TurnLevelEvent): Draft[] {
  switch (event.type) {
    case 'turn_started': {
      const { agent, taskQueue, continuedFrom, prompt } = event;
      return [draft('turn_started', { agent, taskQueue, continuedFrom }, { prompt })];
    }
    case 'forked':
      return [
        draft('forked', { of: event.of, from: event.from, world: event.world, changed: event.changed }),
      ];
    case 'step':
      return event.calls.map(proposal);
    case 'cancel_requested':
      return [draft('cancel', {}, { identity: event.identity, reason: event.reason })];
    case 'continued_as_new':
      return [draft('continued', { newRun: event.newRunId })];
    case 'reset':
      return [draft('reset', { baseRun: event.baseRunId, newRun: event.newRunId }, { reason: event.reason })];
    case 'turn_ended': {
      const { status, answer, error } = event;
      const answerDigest = answer === undefined ? undefined : sha256(answer);
      return [draft('turn_ended', { status, answerDigest }, { message: error?.message })];
    }
    default:
      return [];
  }
}
