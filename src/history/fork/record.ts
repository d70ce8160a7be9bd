import type { PreparedCall } from '../../contract/call';
import { CountersignError } from '../../contract/errors';
import { WORKFLOWS } from '../../contract/names';
import type { ToolResult } from '../../contract/result';
import type { ResultRef, ThinkOutput } from '../../contract/think';
import type { JsonSchema } from '../../contract/tool';
import type { DecodedEvent, EventOf } from '../decode/events';
import type { TurnEvent } from '../events';
import { createFold } from '../fold';
import { purposeOf } from '../fold/activities';
import { is } from '../fold/guards';
import type { Runs } from '../read-record';

/** One step of a turn, as it is on record. */
export interface RecordedStep {
  step: number;
  /** How many events of the turn came before its reply. */
  at: number;
  /** Outputs before this message were dropped. */
  droppedBefore: number;
  /** Results of the step before, as the model was told of them. */
  results: readonly ResultRef[];
  /** Absent: the model has not replied. */
  reply?: ThinkOutput;
  /** Calls that a worker of another queue prepared, by id. */
  prepared: Map<string, PreparedCall>;
  /** Schemas of tools, by digest. */
  schemas: Map<string, JsonSchema>;
}

/** A turn as a fork needs it: what models and calls said in full, and when. */
export interface TurnRecord {
  turn: string;
  agent: string;
  prompt: string;
  taskQueue: string;
  steps: ReadonlyMap<number, RecordedStep>;
  /** By call. */
  results: ReadonlyMap<string, ToolResult>;
  events: readonly TurnEvent[];
}

/**
 * Reads the runs of a turn. Runs at the beginning may be missing: each later one brings its messages along.
 *
 * @throws CountersignError `not_a_turn`; `bad_history` for what is cut at its beginning or cannot be read.
 */
export function recordOf(runs: Runs): TurnRecord {
  const fold = createFold();
  const reading: Reading = { events: [], steps: new Map() };
  for (const run of runs) {
    const state: RunReading = { ...reading, thinking: new Map(), preparing: new Map() };
    checkFirst(run[0]);
    for (const event of run) {
      reading.events.push(...fold.push(event));
      readEvent(state, event);
    }
  }
  const { events, steps } = reading;
  const started = events.find((event) => event.type === 'turn_started');
  if (started === undefined) throw badHistory('it has no events');
  const { turn, agent, prompt, taskQueue } = started;
  return { turn, agent, prompt, taskQueue, steps, results: resultsIn(events), events };
}

function resultsIn(events: readonly TurnEvent[]): Map<string, ToolResult> {
  return new Map(
    events.flatMap((event) => (event.type === 'call_ended' ? [[event.callId, event.result] as const] : [])),
  );
}

interface Reading {
  events: TurnEvent[];
  steps: Map<number, RecordedStep>;
}

/** What is known while one run is read. */
interface RunReading extends Reading {
  /** Steps by the event that scheduled their `think`. */
  thinking: Map<number, RecordedStep>;
  /** Calls by the event that scheduled their `prepare`. */
  preparing: Map<number, string>;
  last?: RecordedStep;
}

function checkFirst(first: DecodedEvent | undefined): void {
  if (first?.kind !== 'started') throw badHistory('its beginning is missing');
  const { workflowType = WORKFLOWS.turn, input } = first;
  if (workflowType !== WORKFLOWS.turn) throw notATurn(workflowType);
  if (!is.turnInput(input)) throw badHistory('its first event cannot be read; is it encrypted?');
}

function readEvent(state: RunReading, event: DecodedEvent): void {
  if (event.kind === 'started') given(state, event);
  else if (event.kind === 'activity_scheduled') scheduled(state, event);
  else if (event.kind === 'activity_completed') completed(state, event);
}

/** The step that a fork began with. */
function given(state: RunReading, { input }: EventOf<'started'>): void {
  if (!is.turnInput(input) || !is.forkInput(input.fork) || input.fork.given === undefined) return;
  const { step = 0, droppedBefore = 0, results = [] } = input.carried ?? {};
  const at = state.events.findLastIndex((event) => event.type === 'forked') + 1;
  replied(addStep(state, { step: step + 1, at, droppedBefore, results }), input.fork.given);
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

function replied(step: RecordedStep, output: ThinkOutput): void {
  step.reply = output;
  for (const [digest, schema] of Object.entries(output.schemas ?? {})) step.schemas.set(digest, schema);
}

function scheduled(state: RunReading, event: EventOf<'activity_scheduled'>): void {
  const purpose = purposeOf(event);
  if (purpose?.what === 'prepare') state.preparing.set(event.eventId, purpose.callId);
  if (purpose?.what !== 'think' || !is.thinkInput(event.input)) return;
  const { step, results, droppedBefore } = event.input;
  const at = state.events.length;
  state.thinking.set(event.eventId, addStep(state, { step, at, results, droppedBefore }));
}

function completed(state: RunReading, { scheduledEventId, result }: EventOf<'activity_completed'>): void {
  const step = state.thinking.get(scheduledEventId);
  if (step !== undefined && is.thinkOutput(result)) replied(step, result);
  const callId = state.preparing.get(scheduledEventId);
  if (callId !== undefined && is.prepareOutput(result)) prepared(state, callId, result);
}

/** Only the first one counts that made something of the call: later ones are of a person's edits. */
function prepared(
  { last }: RunReading,
  callId: string,
  { call, schema }: { call: PreparedCall; schema?: JsonSchema },
): void {
  const asked = last?.reply?.calls.find((one) => one.callId === callId);
  if (schema !== undefined && call.kind === 'ask') last?.schemas.set(call.toolDigest, schema);
  if (asked?.kind !== 'remote' || call.kind === 'remote' || last?.prepared.has(callId)) return;
  last?.prepared.set(callId, call);
}

function badHistory(why: string): CountersignError {
  const hint = 'name a turn, or export its history whole';
  return new CountersignError('bad_history', `this is no record of a turn: ${why}`, { hint });
}

function notATurn(workflowType: string): CountersignError {
  const hint = 'only turns can be forked; countersign list shows them';
  return new CountersignError(
    'not_a_turn',
    `this is of the workflow ${JSON.stringify(workflowType)}, not a turn`,
    {
      hint,
    },
  );
}
