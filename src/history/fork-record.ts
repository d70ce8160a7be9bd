import type { FileRef } from '../contract/session/files';
import type { PreparedCall, Ancestor, TurnOrigin } from '../contract/call';
import type { JsonSchema } from '../contract/tool';
import { CountersignError } from '../contract/errors';
import { WORKFLOWS } from '../contract/names';
import type { ToolResult } from '../contract/result';
import type { ResultRef, ThinkOutput } from '../contract/think';
import { stepOfGiven } from '../contract/turn';
import { lastReplyText } from '../contract/transcript';
import type { DecodedEvent, EventOf } from './decode/events';
import type { TurnEvent } from './events';
import { createFold } from './fold/fold';
import { purposeOf } from './fold/activities';
import { expandBurst } from './fold/burst';
import { type CarriedState, is, readCarried } from './fold/guards';
import { readPrepareOutput, readThinkOutput } from '../contract/payloads';
import type { Runs } from './read';

/** One step of a turn, as it is on record. */
export interface RecordedStep {
  step: number;
  /** The number of events of the turn before the reply of the step. */
  at: number;
  /** Outputs before this message were dropped. */
  droppedBefore: number;
  /** The results of the previous step, as the model read them. */
  results: readonly ResultRef[];
  /** Absent: the model has not replied. */
  reply?: ThinkOutput;
  /** The calls that a worker of another queue prepared, by id. */
  prepared: Map<string, PreparedCall>;
  /** Schemas of tools, by digest. */
  schemas: Map<string, JsonSchema>;
}

/** The record of a turn that a fork needs: the replies and results in full, with their times. */
export interface ForkRecord {
  turn: string;
  agent: string;
  prompt: string;
  /** The files that came with the prompt. */
  files?: FileRef[];
  origin?: TurnOrigin;
  /** Everybody besides the requester whose words the turn read. */
  speakers: ReadonlySet<string>;
  /** The calls that led to a child turn, also for a fork of a child turn. */
  lineage?: Ancestor[];
  taskQueue: string;
  steps: ReadonlyMap<number, RecordedStep>;
  /** The results, by call. */
  results: ReadonlyMap<string, ToolResult>;
  events: readonly TurnEvent[];
  /** The keys of the shared state that the session knew before this turn. */
  sessionStates: readonly string[];
}

/**
 * Reads the runs of a turn. The first runs may be missing, because each later run brings its messages along.
 *
 * @throws CountersignError `bad_history`, also for a history that is cut at its beginning or cannot be read.
 */
export function forkRecordOf(runs: Runs): ForkRecord {
  const fold = createFold();
  const reading: TurnReading = { events: [], steps: new Map(), speakers: new Set() };
  for (const run of runs) {
    const state: RunReading = { ...reading, thinking: new Map(), asked: new Map(), preparing: new Map() };
    checkFirst(run[0]);
    for (const event of run) {
      reading.events.push(...fold.push(event));
      readEvent(state, event);
    }
  }
  const { events, steps, speakers } = reading;
  for (const event of events) for (const name of speakerOf(event)) speakers.add(name);
  const started = events.find((event) => event.type === 'turn_started');
  if (started === undefined) throw badHistory('it has no events');
  const { turn, agent, prompt, files, origin, lineage, taskQueue } = started;
  const forked = events.find((event) => event.type === 'forked');
  return {
    turn,
    agent,
    prompt,
    files,
    origin,
    lineage: lineage ?? forked?.lineage,
    speakers,
    taskQueue,
    steps,
    results: resultsIn(events),
    events,
    sessionStates: sessionStatesIn(runs[0]?.[0]),
  };
}

function sessionStatesIn(first: DecodedEvent | undefined): string[] {
  const given =
    first?.kind === 'started' && is.turnInput(first.input) ? first.input.sessionStates : undefined;
  return Array.isArray(given) ? given.map(([key]) => key) : [];
}

function resultsIn(events: readonly TurnEvent[]) {
  return new Map(
    events.flatMap((event) => (event.type === 'call_ended' ? [[event.callId, event.result] as const] : [])),
  );
}

interface TurnReading {
  speakers: Set<string>;
  events: TurnEvent[];
  steps: Map<number, RecordedStep>;
}

/** The state of reading one run. */
interface RunReading extends TurnReading {
  /** Steps, by the event that scheduled their `think`. */
  thinking: Map<number, RecordedStep>;
  /** Each `think` or burst that is not over, by the event that scheduled it. */
  asked: Map<number, EventOf<'activity_scheduled'>>;
  /** Calls by the event that scheduled their `prepare`. */
  preparing: Map<number, string>;
  last?: RecordedStep;
}

function checkFirst(first: DecodedEvent | undefined) {
  if (first?.kind !== 'started') throw badHistory('its beginning is missing');
  const { workflowType = WORKFLOWS.turn, input } = first;
  if (workflowType !== WORKFLOWS.turn) throw notATurn(workflowType);
  if (!is.turnInput(input)) throw badHistory('its first event cannot be read; is it encrypted?');
}

function readEvent(state: RunReading, event: DecodedEvent) {
  if (event.kind === 'started') readSeedStep(state, event);
  else if (event.kind === 'activity_scheduled') readScheduled(state, event);
  else if (event.kind === 'activity_completed') readCompleted(state, event);
}

/**
 * Reads the step that a fork began with, or that was taken along from another build. In the latter case the previous
 * run has the step in full, if it is there.
 */
function readSeedStep(state: RunReading, { input, runId, taskQueue }: EventOf<'started'>): void {
  if (!is.turnInput(input)) return;
  const carried = readCarried(input.carried);
  if (carried?.moved !== undefined) return readMovedStep(state, carried, carried.moved);
  const called = is.givenCall(input.call) && stepOfGiven(input.call, { replyId: runId, taskQueue });
  const given = called || (is.forkInput(input.fork) ? readThinkOutput(input.fork.given) : undefined);
  if (given === undefined) return;
  const { step = 0, droppedBefore = 0, results = [] } = carried ?? {};
  const at = state.events.findLastIndex((event) => event.type === 'forked') + 1;
  addReply(addStep(state, { step: step + 1, at, droppedBefore, results }), given);
}

function readMovedStep(
  state: RunReading,
  { step = 0, transcript, droppedBefore = 0, results }: CarriedState,
  reply: ThinkOutput,
): void {
  const before = state.steps.get(step + 1);
  if (before !== undefined) return void (state.last = before);
  const text = lastReplyText(transcript);
  const at = state.events.length;
  addReply(addStep(state, { step: step + 1, at, droppedBefore, results }), { ...reply, text });
}

function addStep(
  state: RunReading,
  facts: Pick<RecordedStep, 'step' | 'at' | 'droppedBefore' | 'results'>,
): RecordedStep {
  const step = { ...facts, prepared: new Map(), schemas: new Map() };
  state.steps.set(facts.step, step);
  state.last = step;
  return step;
}

function addReply(step: RecordedStep, output: ThinkOutput) {
  step.reply = output;
  for (const [digest, schema] of Object.entries(output.schemas ?? {})) step.schemas.set(digest, schema);
}

function readScheduled(state: RunReading, event: EventOf<'activity_scheduled'>) {
  const purpose = purposeOf(event);
  if (purpose?.what === 'prepare') state.preparing.set(event.eventId, purpose.callId);
  if (purpose?.what !== 'think' || !is.thinkInput(event.input)) return;
  const { step, results, droppedBefore, origin } = event.input;
  for (const name of origin?.others ?? []) state.speakers.add(name);
  const at = state.events.findLastIndex((one) => one.type === 'thinking' && one.step === step) + 1;
  if (event.scheduledAs === undefined) state.asked.set(event.eventId, event);
  state.thinking.set(
    event.scheduledAs ?? event.eventId,
    addStep(state, { step, at, results, droppedBefore }),
  );
}

/** Who gave the model something to read with a decision, an answer or a resolution. */
function speakerOf(event: TurnEvent) {
  if (event.type === 'answered') return event.approver === undefined ? [] : [event.approver];
  const isSaid = event.type === 'decision' || event.type === 'resolved';
  if (!isSaid || event.judgement.accepted !== true) return [];
  const words = event.reason ?? ('arguments' in event ? event.arguments : undefined);
  return words === undefined ? [] : [event.approver];
}

function readCompleted(state: RunReading, completed: EventOf<'activity_completed'>) {
  const scheduled = state.asked.get(completed.scheduledEventId);
  if (scheduled === undefined) return readResult(state, completed);
  state.asked.delete(completed.scheduledEventId);
  for (const event of expandBurst({ scheduled, completed })) readEvent(state, event);
}

function readResult(state: RunReading, { scheduledEventId, result }: EventOf<'activity_completed'>) {
  const step = state.thinking.get(scheduledEventId);
  const reply = step && readThinkOutput(result);
  if (step !== undefined && reply !== undefined) addReply(step, reply);
  const callId = state.preparing.get(scheduledEventId);
  if (callId !== undefined) prepared(state, callId, result);
}

/** Keeps the first preparation that made more than a `remote` call. Later preparations come from edits by people. */
function prepared({ last }: RunReading, callId: string, result: unknown) {
  const asked = last?.reply?.calls.find((one) => one.callId === callId);
  const output = asked && readPrepareOutput(result, asked);
  if (output === undefined) return;
  const { call, schema } = output;
  if (schema !== undefined && call.kind === 'ask') last?.schemas.set(call.toolDigest, schema);
  if (asked?.kind !== 'remote' || call.kind === 'remote' || last?.prepared.has(callId)) return;
  last?.prepared.set(callId, call);
}

function badHistory(why: string) {
  const hint = 'name a turn, or export its history whole';
  return new CountersignError('bad_history', `this is not the history of a turn: ${why}`, hint);
}

function notATurn(workflowType: string) {
  const hint = 'only turns can be forked; countersign list shows them';
  const message = `this is of the workflow ${JSON.stringify(workflowType)}, not a turn`;
  return new CountersignError('bad_history', message, { hint, data: { workflowType } });
}

/** The calls that were started at any time. */
export function startedIn(events: readonly TurnEvent[]): Set<string> {
  return new Set(events.flatMap((event) => (event.type === 'call_started' ? [event.callId] : [])));
}
