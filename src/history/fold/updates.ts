import { UPDATES } from '../../contract/names';
import type { DecodedFailure, EventOf } from '../decode/events';
import { rootOf } from '../decode/failure';
import { defined } from '../defined';
import type { Judgement, TurnEvent } from '../events';
import { tell } from './effects';
import { is } from './guards';
import { decisionEvent, resolvedEvent } from './said';
import type { FoldState } from './state';

/** An update passed its validator; its verdict comes in the same workflow task. */
export function updateAccepted(state: FoldState, event: EventOf<'update_accepted'>): TurnEvent[] {
  const { updateId, name, input, identity } = event;
  state.updates.set(updateId, { name, input, identity });
  return [];
}

/** The verdict on a decision or resolution by update. */
export function updateCompleted(state: FoldState, event: EventOf<'update_completed'>): TurnEvent[] {
  const update = state.updates.get(event.updateId);
  state.updates.delete(event.updateId);
  if (update === undefined) return [];
  const verdict = is.accepted(event.value) ? event.value : undefined;
  const judgement = verdict === undefined ? refusal(event.failure) : { accepted: true as const };
  const { name, input, identity } = update;
  const judged = { input, identity, door: 'update' as const, judgement, ...defined({ verdict }) };
  if (name === UPDATES.decide) return tell(state, decisionEvent(event, judged));
  return name === UPDATES.resolve ? tell(state, resolvedEvent(event, judged)) : [];
}

/** Another message of the same task won after the validator had let this one pass. */
function refusal(failure: DecodedFailure | undefined): Judgement {
  const [refused] = failure === undefined ? [] : rootOf(failure).details;
  if (!is.refused(refused)) return { accepted: 'unknown' };
  const { code, message, issues } = refused;
  return { accepted: false, code, message, ...defined({ issues }) };
}
