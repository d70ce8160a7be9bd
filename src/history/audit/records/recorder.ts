import type { TurnEvent } from '../../events';
import type { AuditRecord } from '../format';
import { recordsOfCall } from './calls';
import { recordsOfDecision } from './decisions';
import { shownBy, type Draft, type Shown } from './draft';
import { recordsOfTurn } from './turns';

/** Turns the turn events of one run into audit records. */
export interface Recorder {
  /** The records of one more event; often none. */
  push(event: TurnEvent): AuditRecord[];
}

/**
 * Starts with a run. A run that came from a reset begins with copies of the run before it: their records name that
 * run, as they did there.
 */
export function createRecorder(turn: string): Recorder {
  const shown = new Map<string, Shown>();
  const place = { run: '', event: 0, part: 0 };
  return {
    push: (event) => {
      if (event.type === 'turn_started') place.run = event.runId;
      if (event.type === 'reset') place.run = event.newRunId;
      if (event.type === 'request_opened') shown.set(event.callId, shownBy(event));
      return draftsOf(event, shown).map((draft) => {
        place.part = place.event === event.eventId ? place.part + 1 : 0;
        place.event = event.eventId;
        return { at: event.at, turn, ...draft, ...place };
      });
    },
  };
}

function draftsOf(event: TurnEvent, shown: ReadonlyMap<string, Shown>): Draft[] {
  switch (event.type) {
    case 'request_opened':
    case 'decision':
    case 'request_expired':
    case 'resolved':
    case 'abandoned':
      return recordsOfDecision(event, shown);
    case 'call_prepared':
    case 'call_started':
    case 'call_ended':
    case 'call_lost':
    case 'verified':
    case 'in_doubt':
    case 'outcome_reported':
      return recordsOfCall(event);
    default:
      return recordsOfTurn(event);
  }
}
