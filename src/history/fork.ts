import {
  argumentsOf,
  isValidCall,
  type PreparedCall,
  type RecordedCall,
  type RemoteCall,
} from '../contract/call';
import type { ForkOrigin, World } from '../contract/fork';
import { CountersignError } from '../contract/errors';
import { isSoundJson, type JsonObject } from '../contract/json';
import { describeIssues } from '../contract/read-json';
import { LIMITS } from '../contract/limits';
import { applyDefaults, checkSchema } from '../contract/schema/schema';
import type { ThinkOutput } from '../contract/think';
import { dropOutput, dropOutputs, entryBytes, type TranscriptEntry } from '../contract/transcript';
import { utf8Bytes, withFiles } from '../contract/text/bytes';
import { startedIn, type ForkRecord, type RecordedStep } from './fork-record';
import { answered, declined, denied as denial, ENDINGS } from '../contract/call-texts';
import { makeFailure, makeSuccess, type ToolFailure, type ToolResult } from '../contract/result';
import type { Answered, TurnEvent } from './events';
import { noCounts, type TurnInput } from '../contract/turn';
import { rawOf } from './fold/think';
import { transcriptOf } from './transcript';
import { callIdIn, ownCallId } from '../contract/names';
import { SOMEBODY } from '../contract/authority';
import { withRequesters } from '../authority/votes/requesters';
import { dryResult } from '../contract/dry-run';
import { type KnownState, stateKeyOf } from '../contract/tool';
import { effectOfDecision } from './decisions';

/**
 * The input of a fork: everything before the point from the record, and the change at that point. Nothing from the
 * record is executed again, and decisions are never carried over.
 *
 * @throws CountersignError `not_found`; `refused` for a step that still runs, arguments that do not fit, a
 * decision on a call that asks nobody, or a record that is too large.
 */
export function planFork(record: ForkRecord, request: ForkRequest, now: NewFork): TurnInput {
  const point = findForkPoint(record, request.at);
  const given = givenStep({ record, point, request, ...now });
  const carried = carriedTo(record, point);
  const input: TurnInput = {
    agent: record.agent,
    ...(carried.transcript.length === 0
      ? { prompt: record.prompt, ...withFiles(record.files) }
      : { prompt: '' }),
    carried,
    origin: withRequesters(record.origin, [...record.speakers, request.by ?? SOMEBODY]),
    fork: { ...forkOriginOf(record, request), context: contextAt(point), given },
  };
  return fitInput(input);
}

function forkOriginOf(
  { turn, lineage }: ForkRecord,
  { at, world = 'dry', change, model }: ForkRequest,
): ForkOrigin {
  return { of: turn, from: at, world, changed: change?.what, model, lineage };
}

/**
 * The state with which the fork begins at this step. Counts and tokens begin at 0, because they count only the fork.
 */
function carriedTo(record: ForkRecord, point: ForkPoint): NonNullable<TurnInput['carried']> {
  const { step } = point;
  const states = statesLost(record, point);
  const { entries } = transcriptOf(record.events.slice(0, step.at));
  // The words of the first step come with the prompt.
  const transcript = entries.some(({ kind }) => kind === 'reply') ? withOpaque(entries, record) : [];
  return {
    step: step.step - 1,
    transcript: dropOutputs(transcript, step.droppedBefore),
    droppedBefore: step.droppedBefore,
    // The texts of the results are in the transcript already.
    results: step.results.map(({ text: _text, ...ref }) => ref),
    spent: [],
    counts: noCounts(),
    usage: {},
    signalVerdicts: [],
    states: states.length === 0 ? undefined : states,
  };
}

/** Drops as many of the oldest outputs as needed, because a payload over the server's limit would not start. */
function fitInput(input: TurnInput): TurnInput {
  const { carried } = input;
  let excess = utf8Bytes(JSON.stringify(input)) - LIMITS.forkInputBytes;
  if (excess <= 0 || carried === undefined) return input;
  let droppedBefore = carried.droppedBefore;
  for (const entry of carried.transcript.slice(droppedBefore)) {
    if (excess <= 0) break;
    excess -= entryBytes(entry) - entryBytes(dropOutput(entry));
    droppedBefore += 1;
  }
  if (excess > 0) throw tooLarge();
  const transcript = dropOutputs(carried.transcript, droppedBefore);
  return { ...input, carried: { ...carried, transcript, droppedBefore } };
}

function tooLarge() {
  const message = `the record up to this point is over ${LIMITS.forkInputBytes} bytes, even without old outputs`;
  return refused(message, 'Fork at an earlier call.');
}

/** The change at the point where a fork leaves the record. */
export type ForkChange =
  | { what: 'arguments'; arguments: JsonObject }
  /** `approved` is allowed only in a dry world. In a live world, the call itself needs a decision. */
  | { what: 'decision'; decision: 'approved' | 'denied'; reason?: string; approver: string }
  | { what: 'reply'; reply: GivenReply };

/** A reply to use instead of asking the model. Without calls, the text is the answer of the turn. */
export interface GivenReply {
  text?: string;
  calls?: { tool: string; arguments?: JsonObject }[];
}

/** How to fork a turn. */
export interface ForkRequest {
  /** A call (`2.1`), or a step (`2`), for which the model is then asked anew. */
  at: string;
  /** @default dry */
  world?: World;
  /** The change at that point. @default nothing: the same again */
  change?: ForkChange;
  /** One of the agent's `models`, for the steps from that point on. @default the agent's own model */
  model?: string;
  /** Who forks it, and so asks for what it does. Not verified. @default 'somebody' */
  by?: string;
}

/** The values that a new fork needs and that are not in the record. */
interface NewFork {
  /** Milliseconds since 1970. */
  now: number;
  /** A random id for the reply that the fork begins with. */
  replyId: string;
  /** The queue of the worker that runs the fork. */
  taskQueue: string;
}

/** Everything that is needed to make the first step of a fork. */
interface ForkInputs extends NewFork {
  record: ForkRecord;
  point: ForkPoint;
  request: ForkRequest;
}

/**
 * The step that a fork begins with. Undefined if the model is asked for that step.
 *
 * @throws CountersignError `refused`, `not_found`.
 */
function givenStep(making: ForkInputs): ThinkOutput | undefined {
  const { point, request } = making;
  const { change } = request;
  if (change?.what === 'reply') return givenReply(making, change.reply);
  if (point.call === undefined) {
    if (change === undefined) return undefined;
    throw refused(`${request.at} is a step; ${change.what} are of a call`, 'Name a call, such as --at 2.1.');
  }
  const { reply } = point.step;
  if (reply === undefined) throw refused(`step ${point.step.step} has no reply on record`);
  // The keys of calls are made from the id of their reply, so the fork gets its own keys. The usage was paid before.
  const { usage: _usage, ...said } = reply;
  return { ...said, replyId: making.replyId, schemas: {}, calls: callsOfStep(making, point.call) };
}

function callsOfStep(making: ForkInputs, target: PreparedCall): PreparedCall[] {
  const { record, point, now } = making;
  if (isOpen(record, target.callId)) throw stillRunning(record, target.callId);
  const settled = settledIn(eventsBefore(record.events, target.callId));
  return callsOf(point.step).map((call) => {
    if (call.callId === target.callId) return changed(making, call);
    if (call.kind === 'invalid' || call.kind === 'recorded') return recordedCall(call, call.result);
    return settled.has(call.callId) ? callFromRecord(record, call, now) : asked(making, call);
  });
}

/** Whether a call has started and its outcome is not known yet. */
function isOpen(record: ForkRecord, callId: string) {
  return startedIn(record.events).has(callId) && record.results.get(callId) === undefined;
}

/** The call at the point of the fork, with the change that was asked for. */
function changed(making: ForkInputs, call: PreparedCall): PreparedCall {
  const { change } = making.request;
  if (change?.what === 'arguments') return otherArguments(making, call, change.arguments);
  if (change?.what === 'decision') return otherDecision(making, call, change);
  return asked(making, call);
}

function otherArguments(making: ForkInputs, call: PreparedCall, args: JsonObject): RemoteCall {
  const { point } = making;
  if (!isSoundJson(args) || utf8Bytes(JSON.stringify(args)) > LIMITS.argumentsBytes)
    throw refused(`the arguments are not plain JSON of at most ${LIMITS.argumentsBytes} bytes`);
  const schema = isValidCall(call) ? point.step.schemas.get(call.toolDigest) : undefined;
  const issues = schema === undefined ? [] : checkSchema(schema, applyDefaults(schema, args));
  if (issues.length > 0) throw refused(`the arguments do not fit ${call.tool}: ${describeIssues(issues)}`);
  return remote(making, call, JSON.stringify(args));
}

function otherDecision(
  { request, now }: ForkInputs,
  call: PreparedCall,
  change: Extract<ForkChange, { what: 'decision' }>,
): RecordedCall {
  if (call.kind !== 'ask' || call.question !== undefined)
    throw refused(`nobody is asked to decide on ${call.callId}`);
  if (change.decision === 'denied') return failedCall(call, denial(change), now);
  if (request.world === 'live')
    throw refused(
      'in a live world a call needs a decision of its own',
      'Fork without --decision and approve the call once it waits.',
    );
  return recordedCall(call, dryResult(call, 'would_run', new Date(now).toISOString()));
}

/**
 * A call that the fork makes again. It is prepared anew, because tools, policy and files may have changed. A call that
 * has its result already keeps it.
 */
function asked(making: ForkInputs, call: PreparedCall): PreparedCall {
  if (call.kind === 'invalid' || call.kind === 'recorded') return recordedCall(call, call.result);
  const raw = call.kind === 'remote' ? call.raw : JSON.stringify(call.proposed ?? call.arguments);
  return remote(making, call, raw);
}

function remote(making: ForkInputs, call: PreparedCall, raw: string): RemoteCall {
  const { callId, id, tool } = call;
  const queue =
    call.kind === 'remote' ? call.taskQueue : isValidCall(call) ? call.settings.taskQueue : undefined;
  const taskQueue = queue ?? making.taskQueue;
  return { kind: 'remote', callId, id, tool, raw, taskQueue, ...askedFirst(making, call) };
}

/**
 * Why a person is asked first: the call was started once already. Only in a live world can a call run a second time.
 */
function askedFirst(
  { record, request }: ForkInputs,
  { callId, kind }: PreparedCall,
): Pick<RemoteCall, 'askFirst'> {
  const { turn, events } = record;
  if (request.world !== 'live') return {};
  if (kind !== 'recorded' && !startedIn(events).has(callId)) return {};
  return { askFirst: `it was started once already, in ${turn}` };
}

function givenReply(
  { point, replyId, taskQueue }: ForkInputs,
  { text = '', calls = [] }: GivenReply,
): ThinkOutput {
  const { step, reply } = point.step;
  if (calls.length > LIMITS.callsPerStep) throw refused(`a step has at most ${LIMITS.callsPerStep} calls`);
  return {
    replyId,
    text,
    calls: calls.map(({ tool, arguments: args = {} }, index) => {
      const [callId, id] = [callIdIn(step, index), ownCallId(step, index)];
      return { kind: 'remote', callId, id, tool, raw: JSON.stringify(args), taskQueue };
    }),
    schemas: {},
    model: 'given',
    context: contextAt(point),
    finishReason: calls.length > 0 ? 'tool-calls' : 'stop',
    order: reply?.order ?? 'lane',
    maxSteps: reply?.maxSteps ?? LIMITS.stepsPerTurn,
  };
}

function refused(message: string, hint?: string) {
  return new CountersignError('refused', message, { hint });
}

/** A call with its result from the record. */
function recordedCall(call: PreparedCall, result: ToolResult): RecordedCall {
  const { callId, id, tool } = call;
  const proposed = isValidCall(call) ? (call.proposed ?? call.arguments) : argumentsOf(call);
  return { kind: 'recorded', callId, id, tool, proposed, result, raw: rawOf(call) };
}

/** A call that did not run, with a failure that is made now. */
function failedCall(call: PreparedCall, failure: ToolFailure, now: number): RecordedCall {
  const safety = isValidCall(call) ? call.settings.safety : null;
  return recordedCall(
    call,
    makeFailure(headOf(call), failure, { timestamp: new Date(now).toISOString(), safety }),
  );
}

/**
 * A call of the same step that had started or ended before the point. Its result is taken as it is.
 *
 * @throws CountersignError `refused` while its outcome is not known.
 */
function callFromRecord(record: ForkRecord, call: PreparedCall, now: number): RecordedCall {
  const { callId } = call;
  const result = record.results.get(callId);
  if (result !== undefined) return recordedCall(call, result);
  const last = record.events.findLast((event) => 'callId' in event && event.callId === callId);
  if (last?.type === 'request_expired')
    return failedCall(call, ENDINGS[last.question === true ? 'unanswered' : 'expired'], now);
  if (last?.type === 'answered') return answeredCall(call, last, now);
  if (last?.type === 'decision') return failedCall(call, denial(last), now);
  throw stillRunning(record, callId);
}

function headOf(call: PreparedCall) {
  return { id: call.id, callId: call.callId, tool: call.tool, arguments: argumentsOf(call) };
}

/** A question that a person answered, or declined to answer. */
function answeredCall(call: PreparedCall, said: Answered, now: number): RecordedCall {
  if (said.answer === 'declined') return failedCall(call, declined(said), now);
  const content = answered(said, said.content ?? {});
  const timestamp = new Date(now).toISOString();
  return recordedCall(
    call,
    makeSuccess(headOf(call), { content, contentType: 'text' }, { timestamp, safety: 'safe' }),
  );
}

/** The refusal of a fork whose record is not complete yet. */
function stillRunning({ turn }: ForkRecord, callId: string) {
  const message = `${turn} still runs this step: the outcome of ${callId} is not known`;
  return refused(message, 'Wait until it ended, or resolve it if it is in doubt.');
}

/**
 * Finds the point that a person named: a call such as `2.1`, or a step such as `2`.
 *
 * @throws CountersignError `not_found`.
 */
function findForkPoint(record: ForkRecord, at: string): ForkPoint {
  const [, number, call] = /^(\d+)(\.\d+)?$/.exec(at) ?? [];
  const step = record.steps.get(Number(number));
  if (step === undefined) throw notFound(record, at);
  if (call === undefined) return { step };
  const found = callsOf(step).find(({ callId }) => callId === at);
  if (found === undefined) throw notFound(record, at);
  return { step, call: found };
}

/** The calls that were started or closed within these events. */
function settledIn(events: readonly TurnEvent[]) {
  return new Set(
    events.flatMap((event) =>
      settlesCall(event) && 'callId' in event && event.callId !== undefined ? [event.callId] : [],
    ),
  );
}

/**
 * The state that calls before the point kept in memory. This state stays with the other turn, so the fork does not have
 * it.
 */
function statesLost(
  { steps, events, sessionStates }: ForkRecord,
  { step, call }: ForkPoint,
): [string, KnownState][] {
  const before = call === undefined ? events.slice(0, step.at) : eventsBefore(events, call.callId);
  const started = startedIn(before);
  const used = [...steps.values()]
    .flatMap(callsOf)
    .flatMap((one) => (isValidCall(one) && started.has(one.callId) ? (stateKeyOf(one.settings) ?? []) : []));
  return [...new Set([...sessionStates, ...used])].map((key) => [key, { lost: true }]);
}

/** The context of the first step. For a later step, the context is in the messages that the fork takes along. */
function contextAt({ step }: ForkPoint) {
  return step.step === 1 ? step.reply?.context : undefined;
}

/** Adds the opaque data that providers want back with their replies. No event has this data. */
function withOpaque(entries: readonly TranscriptEntry[], { steps }: ForkRecord): TranscriptEntry[] {
  const opaques = new Map([...steps.values()].map(({ reply }) => [reply?.replyId, reply?.opaque]));
  return entries.map((entry) =>
    entry.kind === 'reply' ? { opaque: opaques.get(entry.replyId), ...entry } : entry,
  );
}

/**
 * Whether an event settles a call, although the result may come later. An approval does not settle it, because the call
 * still waits until it may start.
 */
function settlesCall(event: TurnEvent) {
  switch (event.type) {
    case 'decision':
      return effectOfDecision(event) === 'denies';
    case 'answered':
      return event.judgement.accepted === true;
    case 'request_expired':
    case 'call_started':
    case 'call_ended':
      return true;
    default:
      return false;
  }
}

/** The events before the event that settled a call. All events if the call is not settled. */
function eventsBefore(events: readonly TurnEvent[], callId: string): readonly TurnEvent[] {
  const at = events.findIndex((event) => settlesCall(event) && 'callId' in event && event.callId === callId);
  return at === -1 ? events : events.slice(0, at);
}

function notFound({ turn, steps }: ForkRecord, at: string) {
  const calls = [...steps.values()].flatMap((step) => callsOf(step).map(({ callId }) => callId));
  const hint =
    calls.length === 0
      ? `Its steps: ${[...steps.keys()].join(', ') || 'none'}.`
      : `Its calls: ${calls.join(', ')}; steps: ${[...steps.keys()].join(', ')}.`;
  return new CountersignError('not_found', `${turn} has no call or step ${at} on record`, hint);
}

/** The calls of a step, as the workers that have their tools prepared them. */
function callsOf({ reply, prepared }: RecordedStep) {
  return (reply?.calls ?? []).map((call) => prepared.get(call.callId) ?? call);
}

/** Where a fork leaves the record: at a call, or (no call) before the reply of a step. */
interface ForkPoint {
  step: RecordedStep;
  /** The call as it was prepared. */
  call?: PreparedCall;
}
