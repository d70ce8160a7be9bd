import { ACTIVITIES } from '../../contract/names';
import { purposeOf } from '../fold/activities';
import type { Deed } from './deeds';

/** A deed in the words of the agent: `runs call 1.2, pay`. */
export function wordsOf(deed: Deed): string {
  switch (deed.what) {
    case 'activity':
      return activityWords(deed);
    case 'memo':
      return deed.fields.includes('open') || deed.fields.some((field) => field.startsWith('gated.'))
        ? 'tells what waits for a person'
        : 'tells what became of signals';
    case 'patch':
      return `goes the way of the patch ${JSON.stringify(deed.id)}`;
    case 'child':
      return `starts the workflow ${deed.type}`;
    case 'signal':
      return `sends the signal ${deed.name}`;
    case 'end':
      return ENDS[deed.how];
    default:
      return PLAIN[deed.what];
  }
}

const ENDS = {
  completed: 'ends the turn',
  failed: 'fails the turn',
  cancelled: 'ends the turn as cancelled',
  continued: 'goes on in a new run',
} as const;

const PLAIN = {
  timer: 'sets a timer, as for the deadline of a request',
  timer_cancelled: 'takes a timer back',
  activity_cancelled: 'cancels something that runs',
  attributes: 'tells the inbox how the turn stands',
} as const;

function activityWords({ id, type }: { id: string; type: string }): string {
  const purpose = purposeOf({ id, activityType: type });
  switch (purpose?.what) {
    case 'think':
      return `asks the model for step ${purpose.step}`;
    case 'prepare':
      return `prepares call ${purpose.callId}`;
    case 'verify':
      return `asks whether call ${purpose.callId} happened`;
    case 'call':
      return `runs call ${purpose.callId}, ${type}${purpose.generation > 0 ? ', once more' : ''}`;
    default:
      return `runs the activity ${type}`;
  }
}

/** Which step and call a deed is about, as far as its name tells. */
export function placeOf(deed: Deed | undefined): { step?: number; callId?: string } {
  if (deed?.what !== 'activity') return {};
  const purpose = purposeOf({ id: deed.id, activityType: deed.type });
  if (purpose === undefined) return {};
  if (purpose.what === 'think') return { step: purpose.step };
  const step = Number.parseInt(purpose.callId, 10);
  return { callId: purpose.callId, ...(Number.isNaN(step) ? {} : { step }) };
}

/** Whether an activity asks the model. */
export function isThink(deed: Deed): boolean {
  return deed.what === 'activity' && deed.type === ACTIVITIES.think;
}
