import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils';
import { temporal } from '@temporalio/proto';
import type { LoadedDataConverter, Payload, SerializationContext } from '@temporalio/common';
import { CountersignError, errorMessage } from '../contract/errors';
import { isObject, parseJson } from '../contract/json';
import { patchOf, toNumber } from './decode/proto';
import { PATCHES, WORKFLOWS } from '../contract/names';
import { type Decode, type History, type HistoryEvent, makeDecode } from './decode/decode';
import { ownerIn, throughCodecs } from './decode/payloads';
import type { TurnEvent } from './events';
import { createFold } from './fold/fold';
import { defined } from '../contract/defined';

/** The newest format of a file that `countersign export` writes. */
const EXPORT_FORMAT = 1;

/**
 * The histories in an exported file, one for each run. The file is from `countersign export`, or has one run in the
 * form of `temporal workflow show --output json` or of the UI's download. It may be a text or parsed.
 *
 * @throws CountersignError `bad_history` for a file without a history, for a cut one, and for a format of a later
 * release.
 */
export function parseExport(json: unknown): History[] {
  const parsed = typeof json === 'string' ? parseText(json) : json;
  const histories = isObject(parsed) && 'countersign' in parsed ? runsOfBundle(parsed) : [parsed];
  return histories.map((history, index) => {
    const run = toHistory(history);
    checkWhole(run, histories.length === 1 ? '' : ` of run ${index + 1}`);
    return run;
  });
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const cut = /^\s*\{/.test(text) && !/\}\s*$/.test(text);
    throw badHistory(cut ? 'the file is cut off: it is JSON that does not end' : 'this is not JSON', cause);
  }
}

/** The runs in a file that `countersign export` wrote. See `Bundle`. */
function runsOfBundle({ countersign: format, runs }: Record<string, unknown>): unknown[] {
  if (typeof format !== 'number' || !Array.isArray(runs) || runs.length === 0)
    throw badHistory('this file was not written by countersign export');
  if (format > EXPORT_FORMAT)
    throw newerVersion(`the file has format ${format}, this version reads ${EXPORT_FORMAT}`);
  return runs;
}

function toHistory(json: unknown): History {
  try {
    return historyFromJSON(json);
  } catch (cause) {
    throw badHistory(`this is not an exported history: ${errorMessage(cause)}`, cause);
  }
}

/** Checks that a history is complete: the events of a run are numbered from 1 without a gap. */
function checkWhole({ events }: History, where: string) {
  if (!events || events.length === 0) throw badHistory(`there are no events${where}`);
  const gap = events.findIndex((event, index) => toNumber(event.eventId) !== index + 1);
  if (gap !== -1) throw badHistory(`event ${gap + 1}${where} is missing: the history was cut`);
  // The SDK's replayer never returns if another event comes after the end of a run.
  if (events.slice(0, -1).some(({ eventType }) => ENDS.includes(eventType)))
    throw badHistory(`there are events after the end${where}`);
  if (!events[0]?.workflowExecutionStartedEventAttributes)
    throw badHistory(`the first event${where} does not start a workflow`);
}

const { EventType } = temporal.api.enums.v1;
const ENDS: readonly unknown[] = [
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TERMINATED,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_TIMED_OUT,
  EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW,
];

function badHistory(message: string, cause?: unknown) {
  const hint = 'export one with: temporal workflow show --workflow-id <id> --output json';
  return new CountersignError('bad_history', message, { hint, cause });
}

/** The error for a file of a later release, because this release could read it wrongly. */
function newerVersion(why: string) {
  return new CountersignError(
    'bad_history',
    `this was made by a newer version of Countersign: ${why}`,
    'read it with that version or a later one: npm install countersign@latest',
  );
}

/**
 * The turn events of an exported file. See `parseExport`.
 *
 * @throws CountersignError `bad_history`, or `key_missing` if it is encrypted.
 */
export async function turnEventsOfJson(json: unknown, decode: Decode = makeDecode()): Promise<TurnEvent[]> {
  return turnEventsOfRuns(parseExport(json), decode);
}

/** The turn events of the runs of a turn. The first run comes first. Throws as `turnEventsOfJson` does. */
export async function turnEventsOfRuns(
  runs: readonly History[],
  decode: Decode = makeDecode(),
): Promise<TurnEvent[]> {
  for (const run of runs) refuseNewer(run);
  const fold = createFold();
  const events: TurnEvent[] = [];
  for (const run of runs) for (const raw of run.events ?? []) events.push(...fold.push(await decode(raw)));
  refuseOthers(runs, events);
  return events;
}

/**
 * Refuses a history of a newer version. A change to our workflow that older code cannot know leaves a marker with the
 * id of its patch.
 *
 * @throws CountersignError `bad_history`.
 */
export function refuseNewer(run: History): void {
  if (workflowTypeOf(run) !== WORKFLOWS.turn) return;
  const unknown = run.events?.flatMap(patchIn).find((id) => !PATCHES.includes(id));
  if (unknown !== undefined)
    throw newerVersion(`the turn has the change ${JSON.stringify(unknown)}, which is not known here`);
}

function patchIn({ markerRecordedEventAttributes: marker }: HistoryEvent) {
  const id = marker && patchOf(marker);
  return id === undefined || id === null ? [] : [id];
}

/** Refuses a workflow that is not a turn. A user's own workflow is accepted if its gate asked for a call. */
function refuseOthers([first]: readonly History[], events: readonly TurnEvent[]) {
  const type = first === undefined ? '' : workflowTypeOf(first);
  if (type === WORKFLOWS.turn || events.some((event) => event.type === 'call_prepared')) return;
  const hint = 'export the history of a turn; countersign list shows the turns there are';
  const message = `this is a history of the workflow ${JSON.stringify(type)}, not of a turn`;
  throw new CountersignError('bad_history', message, { hint, data: { workflowType: type } });
}

/** The type of a run's workflow. */
function workflowTypeOf(run: History) {
  return run.events?.[0]?.workflowExecutionStartedEventAttributes?.workflowType?.name ?? '';
}

/** A turn in one file: what `countersign export` writes, and what replay, fork and timeline read. */
export interface Bundle {
  countersign: number;
  /** The version of the program that wrote the file. */
  version: string;
  /** Whether secrets were taken out, and how many values were changed by that. */
  redacted: { secrets: boolean; values: number };
  /** The history of each run as Temporal's own JSON. The first run comes first. */
  runs: unknown[];
}

/** The parts that making a bundle needs, in addition to the runs. */
interface BundleOptions {
  version: string;
  namespace: string;
  turn: string;
  /** Decrypts payloads. In the bundle they are plain, so that anyone can replay it. */
  converter: Pick<LoadedDataConverter, 'payloadCodecs'>;
  rewriter: Rewriter;
}

/**
 * The runs of a turn as a bundle without `redacted`, which the caller knows from its rewriter.
 *
 * @throws CountersignError `key_missing` if payloads of the turn's own cannot be opened.
 */
export async function makeBundle(
  runs: readonly History[],
  options: BundleOptions,
): Promise<Omit<Bundle, 'redacted'>> {
  const { namespace, turn: workflowId, version } = options;
  const context = { ...options, owner: { type: 'workflow', namespace, workflowId } as const };
  const written: unknown[] = [];
  for (const { events } of runs) {
    const rewritten = await Promise.all((events ?? []).map((event) => rewriteEvent(event, context)));
    written.push(JSON.parse(historyToJSON({ events: rewritten })));
  }
  return { countersign: EXPORT_FORMAT, version, runs: written };
}

/** Changes values and texts. They must keep their shape, because a replay reads them again. */
export interface Rewriter {
  /** Changes a decoded JSON payload. */
  value(value: unknown): unknown;
  /** Changes a text that Temporal keeps outside payloads: a message, a stack trace, a reason. */
  text(text: string): string;
}

/** The parts that rewriting an event needs. */
interface RewriteContext {
  rewriter: Rewriter;
  converter: Pick<LoadedDataConverter, 'payloadCodecs'>;
  owner: SerializationContext;
}

/** Fields that hold words. All other texts are ids, names and types that a replay compares. */
const TEXTS: readonly string[] = ['message', 'stackTrace', 'reason', 'cause'];
/** The field that holds only ids and tool names. It is never encrypted and is not changed. */
const AS_IT_IS = 'searchAttributes';

/** One event with its payloads decrypted and rewritten. Its type and its ids stay. */
async function rewriteEvent(event: HistoryEvent, context: RewriteContext): Promise<HistoryEvent> {
  const owner = ownerIn(event, context.owner);
  return rewriteFields(event, { ...context, owner, fromOutside: isFromOutside(event) });
}

type RewriteState = RewriteContext & { fromOutside: boolean };

/**
 * Whether anyone may have sent the payloads of an event. A payload of such an event that cannot be read does not end
 * the export.
 */
function isFromOutside(event: HistoryEvent) {
  return Boolean(
    event.workflowExecutionSignaledEventAttributes ?? event.workflowExecutionUpdateAcceptedEventAttributes,
  );
}

async function rewriteFields<T extends object>(fields: T, inside: RewriteState): Promise<T> {
  const copy = { ...fields };
  for (const [key, value] of Object.entries(fields)) {
    const rewritten =
      key === 'markerRecordedEventAttributes' ? marker(value, inside) : field(key, value, inside);
    Object.assign(copy, { [key]: await rewritten });
  }
  return copy;
}

async function field(key: string, value: unknown, inside: RewriteState): Promise<unknown> {
  if (typeof value === 'string') return TEXTS.includes(key) ? inside.rewriter.text(value) : value;
  if (Array.isArray(value)) return Promise.all(value.map((item) => field(key, item, inside)));
  // Byte arrays and the 64-bit numbers of protobuf are objects too.
  if (!isObject(value) || ArrayBuffer.isView(value) || 'toNumber' in value || key === AS_IT_IS) return value;
  return isPayload(value) ? rewritePayload(value, inside) : rewriteFields(value, inside);
}

/**
 * Rewrites the details of a marker. The SDK's core writes them without a codec, except for the result of a local
 * activity.
 */
async function marker(value: unknown, inside: RewriteState) {
  if (!isObject(value) || !isObject(value['details'])) return value;
  const { result } = value['details'];
  const failure = await field('failure', value['failure'], inside);
  const details = { ...value['details'], ...defined({ result: await field('result', result, inside) }) };
  return { ...value, failure, details };
}

function isPayload(value: object): value is Payload {
  return 'metadata' in value && isObject(value.metadata) && ArrayBuffer.isView(value.metadata['encoding']);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * The payload in place of a payload that no worker could read. It has to stay unreadable, because a replay would read
 * any other payload as a message.
 */
const UNREADABLE: Payload = { metadata: { encoding: encoder.encode('countersign/unreadable') } };

async function rewritePayload(payload: Payload, inside: RewriteState): Promise<Payload> {
  const plain = await openPayload(payload, inside);
  if (decoder.decode(plain.metadata?.['encoding'] ?? undefined) !== 'json/plain') return plain;
  // Anyone may call any bytes JSON.
  const value = parseJson(decoder.decode(plain.data ?? undefined));
  if (value === undefined) return UNREADABLE;
  return { ...plain, data: encoder.encode(JSON.stringify(inside.rewriter.value(value))) };
}

async function openPayload(
  payload: Payload,
  { converter, owner, fromOutside }: RewriteState,
): Promise<Payload> {
  try {
    return (await throughCodecs(payload, converter, owner)) ?? UNREADABLE;
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    if (error.code === 'payload_refused' || fromOutside) return UNREADABLE;
    throw error;
  }
}
