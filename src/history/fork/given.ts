import type { PreparedCall, RecordedCall, RemoteCall, ValidCall } from '../../contract/call';
import { dryResult } from '../../contract/dry';
import { CountersignError } from '../../contract/errors';
import { isSoundJson, type JsonObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { applyDefaults, checkSchema } from '../../contract/schema';
import type { ThinkOutput } from '../../contract/think';
import { utf8Bytes } from '../../contract/transcript';
import { callsOf, eventsBefore, settledIn, startedIn, type Point } from './point';
import type { TurnRecord } from './record';
import type { ForkChange, ForkRequest, GivenReply } from './request';
import { denied, recorded, stillRunning, takeCall } from './taken';

/** What the making of a fork needs to know of now. */
export interface Now {
  /** Milliseconds since 1970. */
  now: number;
  /** Random; of the step that the fork begins with. */
  replyId: string;
  /** The queue of the fork's own worker. */
  taskQueue: string;
}

/** Everything the step that a fork begins with is made of. */
interface Making extends Now {
  record: TurnRecord;
  point: Point;
  request: ForkRequest;
}

/**
 * The step that a fork begins with; undefined: the model is asked for it.
 *
 * @throws CountersignError `fork_refused`, `call_not_found`.
 */
export function givenStep(making: Making): ThinkOutput | undefined {
  const { point, request } = making;
  const { change } = request;
  if (change?.what === 'reply') return givenReply(making, change.reply);
  if (point.call === undefined) {
    if (change === undefined) return undefined;
    throw refused(`${request.at} is a step; ${change.what} are of a call`, 'Name a call, such as --at 2.1.');
  }
  const { reply } = point.step;
  if (reply === undefined) throw refused(`step ${point.step.step} has no reply on record`);
  // Keys of calls follow from a reply's id: the fork's are its own. What the reply cost was paid before.
  const { usage: _usage, ...said } = reply;
  return { ...said, replyId: making.replyId, schemas: {}, calls: callsOfStep(making, point.call) };
}

function callsOfStep(making: Making, target: PreparedCall): PreparedCall[] {
  const { record, point, now } = making;
  if (isOpen(record, target.callId)) throw stillRunning(record, target.callId);
  const settled = settledIn(eventsBefore(record.events, target.callId));
  return callsOf(point.step).map((call) => {
    if (call.callId === target.callId) return changed(making, call);
    if (call.kind === 'invalid' || call.kind === 'recorded') return recorded(call, call.result);
    return settled.has(call.callId) ? takeCall(record, call, now) : asked(making, call);
  });
}

/** Started, and nobody knows yet what became of it. */
function isOpen(record: TurnRecord, callId: string): boolean {
  return startedIn(record.events).has(callId) && record.results.get(callId) === undefined;
}

/** The call that a fork is about, with what is made otherwise. */
function changed(making: Making, call: PreparedCall): PreparedCall {
  const { change } = making.request;
  if (change?.what === 'arguments') return otherArguments(making, call, change.arguments);
  if (change?.what === 'decision') return otherDecision(making, call, change);
  return call.kind === 'invalid' || call.kind === 'recorded'
    ? recorded(call, call.result)
    : asked(making, call);
}

function otherArguments(making: Making, call: PreparedCall, args: JsonObject): RemoteCall {
  const { point } = making;
  if (!isSoundJson(args) || utf8Bytes(JSON.stringify(args)) > LIMITS.argumentsBytes)
    throw refused(`the arguments are no plain JSON of at most ${LIMITS.argumentsBytes} bytes`);
  const schema = isValid(call) ? point.step.schemas.get(call.toolDigest) : undefined;
  const issues = schema === undefined ? [] : checkSchema(schema, applyDefaults(schema, args));
  if (issues.length > 0) {
    const told = issues.slice(0, 5).map(({ path, message }) => `${path || '(arguments)'}: ${message}`);
    throw refused(`the arguments do not fit ${call.tool}: ${told.join('; ')}`);
  }
  return remote(making, call, JSON.stringify(args));
}

function otherDecision(
  { request, now }: Making,
  call: PreparedCall,
  change: Extract<ForkChange, { what: 'decision' }>,
): RecordedCall {
  if (call.kind !== 'ask') throw refused(`nobody is asked to decide on ${call.callId}`);
  if (change.decision === 'denied') return denied(call, change, now);
  if (request.world === 'live')
    throw refused(
      'in a live world a call needs a decision of its own',
      'Fork without --decision and approve the call once it waits.',
    );
  return recorded(call, dryResult(call, 'would_run', new Date(now).toISOString()));
}

/** A call that goes its way in the fork: prepared anew, because tools, policy and files may have changed. */
function asked(making: Making, call: PreparedCall): RemoteCall {
  if (call.kind === 'remote') return remote(making, call, call.raw);
  return remote(making, call, JSON.stringify(isValid(call) ? (call.proposed ?? call.arguments) : {}));
}

function remote(making: Making, call: PreparedCall, raw: string): RemoteCall {
  const { callId, id, tool } = call;
  const queue = call.kind === 'remote' ? call.taskQueue : isValid(call) ? call.settings.taskQueue : undefined;
  const taskQueue = queue ?? making.taskQueue;
  return { kind: 'remote', callId, id, tool, raw, taskQueue, ...askedFirst(making, call) };
}

/** Only a live world can run anything a second time. */
function askedFirst(
  { record, request }: Making,
  { callId, kind }: PreparedCall,
): Pick<RemoteCall, 'askFirst'> {
  const { turn, events } = record;
  if (request.world !== 'live') return {};
  if (kind !== 'recorded' && !startedIn(events).has(callId)) return {};
  return { askFirst: `it was started once already, in ${turn}` };
}

function isValid(call: PreparedCall): call is ValidCall {
  return call.kind === 'run' || call.kind === 'ask';
}

function givenReply(
  { point, replyId, taskQueue }: Making,
  { text = '', calls = [] }: GivenReply,
): ThinkOutput {
  const { step, reply } = point.step;
  if (calls.length > LIMITS.callsPerStep) throw refused(`a step has at most ${LIMITS.callsPerStep} calls`);
  return {
    replyId,
    text,
    calls: calls.map(({ tool, arguments: args = {} }, index) => {
      const callId = `${step}.${index + 1}`;
      const id = `call_${step}_${index + 1}`;
      return { kind: 'remote', callId, id, tool, raw: JSON.stringify(args), taskQueue };
    }),
    schemas: {},
    model: 'given',
    finishReason: calls.length > 0 ? 'tool-calls' : 'stop',
    order: reply?.order ?? 'lane',
    maxSteps: reply?.maxSteps ?? LIMITS.stepsPerTurn,
  };
}

function refused(message: string, hint?: string): CountersignError {
  return new CountersignError('fork_refused', message, hint === undefined ? {} : { hint });
}
