import type { PreparedCall } from '../../contract/call';
import { CountersignError } from '../../contract/errors';
import type { TurnEvent } from '../events';
import { isDenial } from '../fold/effects';
import type { RecordedStep, TurnRecord } from './record';

/** Where a fork leaves the record: at a call, or (no call) before the reply of a step. */
export interface Point {
  step: RecordedStep;
  /** As prepared. */
  call?: PreparedCall;
}

/**
 * Finds the place a person named: a call such as `2.1`, or a step such as `2`.
 *
 * @throws CountersignError `call_not_found`.
 */
export function findPoint(record: TurnRecord, at: string): Point {
  const [, number, call] = /^(\d+)(\.\d+)?$/.exec(at) ?? [];
  const step = record.steps.get(Number(number));
  if (step === undefined) throw notFound(record, at);
  if (call === undefined) return { step };
  const found = callsOf(step).find(({ callId }) => callId === at);
  if (found === undefined) throw notFound(record, at);
  return { step, call: found };
}

/** The calls of a step, as the workers that have their tools prepared them. */
export function callsOf({ reply, prepared }: RecordedStep): PreparedCall[] {
  return (reply?.calls ?? []).map((call) => prepared.get(call.callId) ?? call);
}

function notFound({ turn, steps }: TurnRecord, at: string): CountersignError {
  const calls = [...steps.values()].flatMap((step) => callsOf(step).map(({ callId }) => callId));
  const hint =
    calls.length === 0
      ? `Its steps: ${[...steps.keys()].join(', ') || 'none'}.`
      : `Its calls: ${calls.join(', ')}; steps: ${[...steps.keys()].join(', ')}.`;
  return new CountersignError('call_not_found', `${turn} has no call or step ${at} on record`, { hint });
}

/** What settles a call, also where its result is told later. An approval does not: the call still waits for its place. */
function isFate(event: TurnEvent): boolean {
  switch (event.type) {
    case 'decision':
      return event.judgement.accepted === true && isDenial(event);
    case 'request_expired':
    case 'call_started':
    case 'call_ended':
      return true;
    default:
      return false;
  }
}

/** The events that came before a call was settled; all of them where it is not. */
export function eventsBefore(events: readonly TurnEvent[], callId: string): readonly TurnEvent[] {
  const at = events.findIndex((event) => isFate(event) && 'callId' in event && event.callId === callId);
  return at === -1 ? events : events.slice(0, at);
}

/** The calls that were started or closed within these events. */
export function settledIn(events: readonly TurnEvent[]): Set<string> {
  return new Set(events.flatMap((event) => (isFate(event) && 'callId' in event ? [event.callId] : [])));
}

/** The calls that were started at any time. */
export function startedIn(events: readonly TurnEvent[]): Set<string> {
  return new Set(events.flatMap((event) => (event.type === 'call_started' ? [event.callId] : [])));
}
