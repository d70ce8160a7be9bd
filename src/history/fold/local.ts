import type { EventOf } from '../decode/events';
import type { TurnEvent } from '../events';
import { ensureCall, startedEvent } from './calls';
import { is } from './guards';
import { failureResult, settleFailure } from './results';
import { endCall, type FoldState } from './state';

/**
 * A call of a `local` tool: history has one marker, when it is over. Its id is in the result and at the head of its
 * summary; an attempt that is going to be repeated is no end.
 */
export function localActivity(state: FoldState, event: EventOf<'local_activity'>): TurnEvent[] {
  const callId = callIdOf(event);
  if (event.backsOff || callId === undefined) return [];
  const held = ensureCall(state, callId, event.activityType);
  const started = startedEvent(event, held, { input: undefined, taskQueue: '' });
  const settled = outcomeOf(event);
  const result = 'result' in settled ? settled.result : undefined;
  const failure =
    'failure' in settled ? settled.failure : { code: 'unknown' as const, message: 'it was lost' };
  const ending = endCall(event, held, {
    result: result ?? failureResult(held, failure, event.at),
    durationMs: result?.metadata.execution_time_ms ?? 0,
    attempts: event.attempt,
    origin: result === undefined ? 'failure' : 'handler',
  });
  return [started, ...ending];
}

function outcomeOf(event: EventOf<'local_activity'>): ReturnType<typeof settleFailure> {
  if (event.failure !== undefined) return settleFailure(event.failure, false);
  const output = is.callOutput(event.result) ? event.result : undefined;
  if (output !== undefined && 'result' in output) return { result: output.result };
  return { failure: { code: 'unknown', message: 'the result cannot be read' } };
}

function callIdOf({ result, summary }: EventOf<'local_activity'>): string | undefined {
  if (is.callOutput(result) && 'result' in result) return result.result.callId;
  return summary?.split(' ', 1)[0];
}
