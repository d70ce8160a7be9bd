import type { DecisionMade, Resolved, TurnEvent } from '../../history/events';
import { stateWords } from './words';

/** What happened, in one line; text of a model or a tool is not in it. */
export function eventWords(event: TurnEvent): string {
  switch (event.type) {
    case 'turn_started':
      return event.continuedFrom === undefined ? 'the turn started' : 'a next run went on with it';
    case 'forked':
      return `a fork from ${event.from} on, in a ${event.world} world`;
    case 'thinking':
      return `step ${event.step}: the model is asked`;
    case 'think_retried':
      return `step ${event.step}: it took ${event.attempt} attempts`;
    case 'think_failed':
      return `step ${event.step}: the model failed`;
    case 'step':
      return `step ${event.step}: the model replied${event.calls.length === 0 ? '' : `, ${callsIn(event.calls.length)}`}`;
    case 'cancel_requested':
      return 'somebody asked to cancel the turn';
    case 'abandoned':
      return `${event.approver} gave the turn up`;
    case 'continued_as_new':
      return 'the run ended, the next one goes on';
    case 'reset':
      return 'an operator reset the turn';
    case 'task_failed':
      return 'the workflow code failed and is tried again';
    case 'turn_ended':
      return `the turn ended: ${stateWords(event.status)[0]}`;
    default:
      return callWords(event);
  }
}

type CallEvent = Extract<TurnEvent, { callId?: string } | { type: 'call_prepared' }>;

function callWords(event: CallEvent): string {
  switch (event.type) {
    case 'call_prepared':
      return `${event.call.callId} ${event.call.tool} was prepared`;
    case 'request_opened':
      return `${event.callId} ${event.tool} waits for a decision`;
    case 'request_expired':
      return `${event.callId} expired`;
    case 'signal_recorded':
      return `${event.callId ?? 'something'}: ${event.signal === 'approval' ? 'a decision' : 'a resolution'} is on record`;
    case 'decision':
      return saidWords(event.decision ?? 'something unreadable', event);
    case 'call_started':
      return `${event.callId} ${event.tool} starts`;
    case 'call_ended':
      return `${event.callId} ${event.tool} ${fateOf(event.result)}`;
    case 'call_lost':
      return `${event.callId} ${event.tool}: its outcome is unknown`;
    case 'verifying':
      return `${event.callId}: the tool is asked whether it happened`;
    case 'verified':
      return `${event.callId}: the tool says ${VERIFIED[event.outcome]}`;
    case 'in_doubt':
      return `${event.callId} ${event.tool} is in doubt`;
    case 'resolved':
      return saidWords(event.resolution ?? 'something unreadable', event);
    case 'outcome_reported':
      return `${event.callId} reported its outcome ${event.settles ? 'after all' : 'too late'}`;
  }
}

const VERIFIED = {
  happened: 'that it happened',
  did_not: 'that it did not',
  cannot_tell: 'that it cannot tell',
} as const;

function saidWords(what: string, { callId, approver, judgement }: DecisionMade | Resolved): string {
  const refused = judgement.accepted === false ? `, refused: ${judgement.code}` : '';
  return `${callId || 'some call'}: ${what} by ${approver}${refused}`;
}

function fateOf({ success, error, metadata }: Extract<TurnEvent, { type: 'call_ended' }>['result']): string {
  if (metadata.dry !== undefined) return metadata.dry === 'would_run' ? 'would run' : 'would ask a person';
  return success ? 'is done' : `failed: ${error?.code ?? 'unknown'}`;
}

function callsIn(count: number): string {
  return count === 1 ? 'one call' : `${count} calls`;
}
