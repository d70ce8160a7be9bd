import type { LoadedDataConverter, Payload, SerializationContext } from '@temporalio/common';
import { CountersignError } from '../../contract/errors';
import { isObject } from '../../contract/json';
import { throughCodecs } from '../decode/payloads';
import type { HistoryEvent } from '../decode';
import { defined } from '../defined';

/** What becomes of values and texts. Both must keep their shape: a replay reads them again. */
export interface Rewriter {
  /** A decoded JSON payload. */
  value(value: unknown): unknown;
  /** A text that Temporal keeps outside payloads: a message, a stack trace, a reason. */
  text(text: string): string;
}

/** What rewriting an event needs. */
export interface RewriteContext {
  rewriter: Rewriter;
  converter: Pick<LoadedDataConverter, 'payloadCodecs'>;
  owner: SerializationContext;
}

/** Fields that hold words; all other texts are ids, names and types that a replay compares. */
const TEXTS: readonly string[] = ['message', 'stackTrace', 'reason', 'cause'];
/** Ids and tool names only, never encrypted. */
const AS_IT_IS = 'searchAttributes';

/** One event with its payloads opened and rewritten; what it is and the ids in it stay. */
export async function rewriteEvent(event: HistoryEvent, context: RewriteContext): Promise<HistoryEvent> {
  return rewriteFields(event, { ...context, fromOutside: isFromOutside(event) });
}

type Inside = RewriteContext & { fromOutside: boolean };

/** Anyone may send anything there, so what cannot be read is no reason to give up. */
function isFromOutside(event: HistoryEvent): boolean {
  return Boolean(
    event.workflowExecutionSignaledEventAttributes ?? event.workflowExecutionUpdateAcceptedEventAttributes,
  );
}

async function rewriteFields<T extends object>(fields: T, inside: Inside): Promise<T> {
  const copy = { ...fields };
  for (const [key, value] of Object.entries(fields)) {
    const rewritten =
      key === 'markerRecordedEventAttributes' ? marker(value, inside) : field(key, value, inside);
    Object.assign(copy, { [key]: await rewritten });
  }
  return copy;
}

async function field(key: string, value: unknown, inside: Inside): Promise<unknown> {
  if (typeof value === 'string') return TEXTS.includes(key) ? inside.rewriter.text(value) : value;
  if (Array.isArray(value)) return Promise.all(value.map((item) => field(key, item, inside)));
  // Numbers of protobuf and bytes are objects too.
  if (!isObject(value) || ArrayBuffer.isView(value) || 'toNumber' in value || key === AS_IT_IS) return value;
  return isPayload(value) ? rewritePayload(value, inside) : rewriteFields(value, inside);
}

/** The SDK's core writes markers itself, past every codec, but for the result of a local activity. */
async function marker(value: unknown, inside: Inside): Promise<unknown> {
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

/** What no worker could read either has to stay so: a replay would take it for a message. */
const UNREADABLE: Payload = { metadata: { encoding: encoder.encode('countersign/unreadable') } };

async function rewritePayload(payload: Payload, inside: Inside): Promise<Payload> {
  const plain = await openPayload(payload, inside);
  if (decoder.decode(plain.metadata?.['encoding'] ?? undefined) !== 'json/plain') return plain;
  const value = jsonOf(plain);
  if (value === undefined) return UNREADABLE;
  return { ...plain, data: encoder.encode(JSON.stringify(inside.rewriter.value(value))) };
}

function jsonOf({ data }: Payload): unknown {
  try {
    return JSON.parse(decoder.decode(data ?? undefined));
  } catch {
    // Anyone may call any bytes JSON.
    return undefined;
  }
}

async function openPayload(payload: Payload, { converter, owner, fromOutside }: Inside): Promise<Payload> {
  try {
    return (await throughCodecs(payload, converter, owner)) ?? UNREADABLE;
  } catch (error) {
    if (!(error instanceof CountersignError)) throw error;
    if (error.code === 'payload_refused' || fromOutside) return UNREADABLE;
    throw error;
  }
}
