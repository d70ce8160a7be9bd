import type { PreparedCall, RecordedCall } from '../../contract/call';
import { denied as denial, ENDINGS } from '../../contract/endings';
import { CountersignError } from '../../contract/errors';
import { makeFailure } from '../../contract/make-result';
import type { ToolFailure, ToolResult } from '../../contract/result';
import { argumentsOf } from '../fold/think';
import type { DecisionMade } from '../events';
import type { TurnRecord } from './record';

/** A call with the result it has in the record. */
export function recorded(call: PreparedCall, result: ToolResult): RecordedCall {
  const { callId, id, tool } = call;
  const raw = 'raw' in call ? call.raw : undefined;
  const proposed =
    call.kind === 'run' || call.kind === 'ask' ? (call.proposed ?? call.arguments) : argumentsOf(call);
  return { kind: 'recorded', callId, id, tool, proposed, result, ...(raw === undefined ? {} : { raw }) };
}

/** The failure of a call that nothing came of, made now. */
export function failed(call: PreparedCall, failure: ToolFailure, now: number): RecordedCall {
  const safety = call.kind === 'run' || call.kind === 'ask' ? call.settings.safety : null;
  const head = { id: call.id, callId: call.callId, tool: call.tool, arguments: argumentsOf(call) };
  return recorded(call, makeFailure(head, failure, { timestamp: new Date(now).toISOString(), safety }));
}

/**
 * A call of the same step that was over, or had begun, before the point: its result is taken as it is.
 *
 * @throws CountersignError `fork_refused` while its outcome is not known.
 */
export function takeCall(record: TurnRecord, call: PreparedCall, now: number): RecordedCall {
  const { callId } = call;
  const result = record.results.get(callId);
  if (result !== undefined) return recorded(call, result);
  const fate = record.events.findLast((event) => 'callId' in event && event.callId === callId);
  if (fate?.type === 'request_expired') return failed(call, ENDINGS.expired, now);
  if (fate?.type === 'decision') return denied(call, fate, now);
  throw stillRunning(record, callId);
}

/** A call that a person said no to. */
export function denied(
  call: PreparedCall,
  said: Pick<DecisionMade, 'approver' | 'reason'>,
  now: number,
): RecordedCall {
  return failed(call, denial(said), now);
}

/** The refusal of a fork whose record is not complete yet. */
export function stillRunning({ turn }: TurnRecord, callId: string): CountersignError {
  return new CountersignError(
    'fork_refused',
    `${turn} still runs this step: the outcome of ${callId} is not known`,
    {
      hint: 'Wait until it ended, or resolve it if it is in doubt.',
    },
  );
}
