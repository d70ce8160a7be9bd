import type { PreparedCall } from '../../contract/call';
import { CountersignError } from '../../contract/errors';
import type { JsonSchema } from '../../contract/tool';
import { WORKFLOWS } from '../../contract/names';
import type { ResultRef, ThinkOutput } from '../../contract/think';
import { replyEntry, resultEntry, type TranscriptEntry } from '../../contract/transcript';
import type { DecodedEvent, EventOf } from '../decode/events';
import { foldAll } from '../fold';
import { purposeOf } from '../fold/activities';
import { is } from '../fold/guards';
import type { TurnEvent } from '../events';
import type { Runs } from '../read-record';
import { Contents } from './contents';

/** One step of a turn, as it is on record. */
export interface RecordedStep {
  step: number;
  /** The messages of its run; the first `count` of them are those the model was asked with. */
  entries: readonly TranscriptEntry[];
  count: number;
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

/** A turn as a fork needs it: all that models and calls said, and when. */
export interface TurnRecord {
  turn: string;
  agent: string;
  prompt: string;
  taskQueue: string;
  steps: ReadonlyMap<number, RecordedStep>;
  /** Texts that models read of results. */
  contents: Contents;
  events: readonly TurnEvent[];
}

/**
 * Reads the runs of a turn. Runs at the beginning may be missing: each later one brings its messages along.
 *
 * @throws CountersignError `bad_history` for what is no turn, is cut at its beginning, or cannot be read.
 */
export function recordOf(runs: Runs): TurnRecord {
  const events = foldAll(runs.flat());
  const contents = new Contents(events);
  const steps = new Map<number, RecordedStep>();
  for (const run of runs) readRunSteps(run, { steps, contents });
  const started = events.find((event) => event.type === 'turn_started');
  if (started === undefined) throw badHistory('it has no events');
  const { turn, agent, prompt, taskQueue } = started;
  return { turn, agent, prompt, taskQueue, steps, contents, events };
}

interface Reading {
  steps: Map<number, RecordedStep>;
  contents: Contents;
}

/** What is known while one run is read. */
interface RunReading extends Reading {
  entries: TranscriptEntry[];
  prompt: string;
  /** Steps by the event that scheduled their `think`. */
  thinking: Map<number, RecordedStep>;
  /** Calls by the event that scheduled their `prepare`. */
  preparing: Map<number, string>;
  last?: RecordedStep;
}

function readRunSteps(run: readonly DecodedEvent[], reading: Reading): void {
  const [first] = run;
  if (first?.kind !== 'started') throw badHistory('its beginning is missing');
  const state: RunReading = {
    ...reading,
    entries: [],
    prompt: '',
    thinking: new Map(),
    preparing: new Map(),
  };
  started(state, first);
  for (const event of run) {
    if (event.kind === 'activity_scheduled') scheduled(state, event);
    else if (event.kind === 'activity_completed') completed(state, event);
    else if (event.kind === 'local_activity') state.contents.keep(event.result);
  }
}

function started(state: RunReading, { workflowType, input }: EventOf<'started'>): void {
  if (workflowType !== undefined && workflowType !== WORKFLOWS.turn)
    throw badHistory(`it is of the workflow ${workflowType}, which is no turn`);
  if (!is.turnInput(input)) throw badHistory('its first event cannot be read; is it encrypted?');
  const { carried, fork, prompt } = input;
  state.prompt = prompt;
  state.entries.push(...(carried?.transcript ?? []));
  const given = is.forkInput(fork) ? fork.given : undefined;
  if (given === undefined) return;
  const step = (carried?.step ?? 0) + 1;
  addWords(state);
  const { droppedBefore = 0, results = [] } = carried ?? {};
  replied(state, addStep(state, { step, droppedBefore, results }), given);
}

function addWords(state: RunReading): void {
  if (state.entries.length === 0) state.entries.push({ kind: 'words', text: state.prompt });
}

function addStep(
  state: RunReading,
  facts: Pick<RecordedStep, 'step' | 'droppedBefore' | 'results'>,
): RecordedStep {
  const { entries } = state;
  const step = { ...facts, entries, count: entries.length, prepared: new Map(), schemas: new Map() };
  state.steps.set(facts.step, step);
  state.last = step;
  return step;
}

function replied(state: RunReading, step: RecordedStep, output: ThinkOutput): void {
  step.reply = output;
  for (const [digest, schema] of Object.entries(output.schemas ?? {})) step.schemas.set(digest, schema);
  for (const call of output.calls) if (call.kind === 'recorded') state.contents.keep({ result: call.result });
  state.entries.push(replyEntry(output));
}

function scheduled(state: RunReading, event: EventOf<'activity_scheduled'>): void {
  const purpose = purposeOf(event);
  if (purpose?.what === 'prepare') state.preparing.set(event.eventId, purpose.callId);
  if (purpose?.what !== 'think' || !is.thinkInput(event.input)) return;
  const { step, results, words, droppedBefore } = event.input;
  const calls = state.last?.reply?.calls ?? [];
  for (const ref of results) {
    const call = calls.find(({ callId }) => callId === ref.callId);
    const content = state.contents.of(ref);
    if (call !== undefined) state.entries.push(resultEntry(call, { content, success: ref.success }));
  }
  state.entries.push(...words.map((text): TranscriptEntry => ({ kind: 'words', text })));
  state.thinking.set(event.eventId, addStep(state, { step, results, droppedBefore }));
}

function completed(state: RunReading, { scheduledEventId, result }: EventOf<'activity_completed'>): void {
  state.contents.keep(result);
  const step = state.thinking.get(scheduledEventId);
  if (step !== undefined && is.thinkOutput(result)) replied(state, step, result);
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
  const hint = 'Only a turn of Countersign can be forked: name one, or export its history whole.';
  return new CountersignError('bad_history', `this is no record of a turn: ${why}`, { hint });
}
