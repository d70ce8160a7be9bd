import type { CallInput } from '../../contract/call';
import type { EventOf } from '../decode/events';
import { defined } from '../defined';
import type { CallStarted, EventHead, TurnEvent } from '../events';
import { is } from './guards';
import { failureResult, settleFailure } from './results';
import { decidedBySignal } from './signals';
import { endCall, headOf, type ActivityFold, type CallFold, type FoldState } from './state';
import { newCall } from './think';

type Started = { callId: string; generation: number };

/** A call's activity is scheduled; a decision by signal that allows it is told first. */
export function callScheduled(
  state: FoldState,
  event: EventOf<'activity_scheduled'>,
  at: Started,
): TurnEvent[] {
  const input = is.callInput(event.input) ? event.input : undefined;
  const held = ensureCall(state, at.callId, event.activityType);
  const decisionId = input?.decision?.decisionId;
  const told = decisionId === undefined ? [] : decidedBySignal(state, event, { held, decisionId });
  held.phase = 'running';
  held.generation = at.generation;
  held.effective = input?.arguments ?? held.effective;
  return [...told, startedEvent(event, held, { input, taskQueue: event.taskQueue })];
}

/** The call of an id; made up where its step could not be read. */
export function ensureCall(state: FoldState, callId: string, tool: string): CallFold {
  const known = state.calls.get(callId);
  if (known !== undefined) return known;
  const made = newCall({ kind: 'remote', callId, id: callId, tool, taskQueue: '', raw: '' });
  state.calls.set(callId, made);
  return made;
}

/** The event that a call starts. */
export function startedEvent(
  head: EventHead,
  held: CallFold,
  facts: { input: CallInput | undefined; taskQueue: string },
): CallStarted {
  const { callId, tool } = held.call;
  return {
    type: 'call_started',
    ...headOf(head),
    callId,
    tool,
    generation: held.generation,
    arguments: held.effective,
    effect: facts.input?.effect ?? effectOf(held),
    taskQueue: facts.taskQueue,
    ...defined({ decision: spentBy(facts.input) }),
  };
}

function spentBy(input: CallInput | undefined): CallStarted['decision'] {
  if (input?.decision === undefined) return undefined;
  const { decision, approver, reason } = input.decision;
  return { decision: input.generation > 0 ? 'run-again' : decision, approver, ...defined({ reason }) };
}

/** Nothing is known of a call that cannot be read, so the worst is assumed. */
function effectOf({ call }: CallFold): CallStarted['effect'] {
  return call.kind === 'run' || call.kind === 'ask' ? call.settings.effect : 'unsafe';
}

export function callCompleted(
  held: CallFold,
  event: EventOf<'activity_completed'>,
  activity: ActivityFold,
): TurnEvent[] {
  const output = is.callOutput(event.result) ? event.result : undefined;
  if (output !== undefined && 'inDoubt' in output) return lose(event, held, output.inDoubt);
  const result =
    output?.result ??
    failureResult(held, { code: 'unknown', message: 'the result cannot be read' }, event.at);
  return endCall(event, held, { result, ...factsOf(activity, event.at), origin: 'handler' });
}

/** Failed, timed out or cancelled. */
export function callFailed(
  held: CallFold,
  event: EventOf<'activity_failed'>,
  activity: ActivityFold,
): TurnEvent[] {
  const settled = settleFailure(event.failure, effectOf(held) === 'unsafe');
  if ('doubt' in settled) return lose(event, held, { message: settled.doubt });
  const result = 'result' in settled ? settled.result : failureResult(held, settled.failure, event.at);
  const origin = 'result' in settled ? 'handler' : 'failure';
  return endCall(event, held, { result, ...factsOf(activity, event.at), origin });
}

function lose(head: EventHead, held: CallFold, doubt: NonNullable<CallFold['doubt']>): TurnEvent[] {
  held.phase = 'lost';
  held.doubt = doubt;
  held.asked = false;
  delete held.proof;
  const { callId, tool } = held.call;
  const { message, partial } = doubt;
  return [{ type: 'call_lost', ...headOf(head), callId, tool, ...defined({ message, partial }) }];
}

function factsOf(activity: ActivityFold, at: string): { durationMs: number; attempts: number } {
  return { durationMs: Date.parse(at) - Date.parse(activity.scheduledAt), attempts: activity.attempts };
}
