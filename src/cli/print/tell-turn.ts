import type { TurnEvent } from '../../history/events';
import type { Style } from './style';
import type { CallEvent, DoubtEvent, RequestEvent } from './tell-call';
import { tellForked } from './tell-fork';
import { visible } from './visible';
import { because, head, type Of, type Told } from './words';

/** Events of a turn as a whole. */
export type TurnLevelEvent = Exclude<TurnEvent, RequestEvent | CallEvent | DoubtEvent>;

/** Tells an event of a turn as a whole. */
export function tellTurn(event: TurnLevelEvent, style: Style): Told {
  switch (event.type) {
    case 'turn_started':
      if (event.continuedFrom !== undefined) return undefined;
      return [
        'turn',
        `${event.turn}, agent ${visible(event.agent)}: ${visible(head(event.prompt))}`,
        style.strong,
      ];
    case 'forked':
      return tellForked(event);
    case 'thinking':
      return [`step ${event.step}`, 'the model is asked', style.quiet];
    case 'think_retried':
      return [
        `step ${event.step}`,
        `it took ${event.attempt} attempts${because(event.lastFailure)}`,
        style.warn,
      ];
    case 'think_failed':
      return [`step ${event.step}`, `the model failed: ${visible(event.message)}`, style.bad];
    case 'step':
      return tellStep(event);
    case 'cancel_requested':
      return ['turn', `was asked to end by ${visible(event.identity)}${because(event.reason)}`, style.warn];
    case 'abandoned':
      return ['turn', `was given up by ${visible(event.approver)}${because(event.reason)}`, style.bad];
    case 'continued_as_new':
      return ['turn', 'goes on in a new run: its history was long', style.quiet];
    case 'reset':
      return ['turn', `was reset by an operator${because(event.reason)}`, style.warn];
    case 'task_failed':
      return ['turn', `the workflow code failed and is tried again: ${visible(event.message)}`, style.bad];
    case 'turn_ended':
      return tellEnd(event, style);
  }
}

/** The answer comes with the turn's end; before it only what a model says beside its calls. */
function tellStep({ step, text, calls }: Of<'step'>): Told {
  if (calls.length === 0 || text.trim() === '') return undefined;
  return [`step ${step}`, `the model says: ${visible(head(text.trim()))}`];
}

function tellEnd({ status, error }: Of<'turn_ended'>, style: Style): Told {
  const paint = status === 'answered' ? style.good : style.bad;
  const why = error === undefined ? '' : `: ${visible(error.message)}`;
  return ['turn', `${status.replaceAll('_', ' ')}${why}`, paint];
}
