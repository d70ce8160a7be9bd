import {
  defaultPayloadConverter,
  type QueryDefinition,
  rawValueTypeInfo,
  type RawValue,
  type TypeInfo,
  type UpdateDefinition,
} from '@temporalio/common';
import {
  ApplicationFailure,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
  type SignalDefinition,
} from '@temporalio/workflow';
import { ABANDONMENT, DECISION, QUESTION_ANSWER, RESOLUTION } from '../contract/decision';
import { isObject } from '../contract/json';
import { JSON_LEVELS, KIB, LIMITS, MIB } from '../contract/limits';
import { readJson, describeIssues } from '../contract/read-json';
import { wellFormed } from '../contract/text/bytes';
import { OUTCOME } from '../lifecycle/messages';
import type { MessageQueue } from './message-queue';

/**
 * The most bytes of a decision or a resolution as it arrives: arguments or content at their limits, and the other
 * fields.
 */
const MESSAGE_BYTES = 256 * KIB;

/**
 * The most bytes of a late outcome as it arrives: an output and arguments at their limits. A longer outcome is left
 * to `verify`.
 */
const OUTCOME_BYTES = 1.5 * MIB;

/**
 * Messages are decoded by our own code. If the SDK could not decode an argument, it would fail the workflow task again
 * and again, and anybody who may signal could block a turn.
 */
const raw = { typeInfo: { inputTypes: everyOne(rawValueTypeInfo) } };

/** A list with the same item at every index: the SDK decodes all arguments before it calls a handler. */
function everyOne(item: TypeInfo): TypeInfo[] {
  const isIndex = (key: string | symbol) => typeof key === 'string' && /^\d+$/.test(key);
  return new Proxy([item], { get: (list, key) => (isIndex(key) ? item : Reflect.get(list, key)) });
}

/** A signal with one argument, which our own code decodes. */
export function rawSignal(name: string): SignalDefinition<[RawValue]> {
  return defineSignal<[RawValue]>(name, raw);
}

/** As `rawSignal`. */
export function rawUpdate<R, A extends RawValue[] = [RawValue]>(name: string): UpdateDefinition<R, A> {
  return defineUpdate<R, A>(name, raw);
}

/** As `rawSignal`. */
export function rawQuery<R>(name: string): QueryDefinition<R, [RawValue]> {
  return defineQuery<R, [RawValue]>(name, raw);
}

/** The limits of one kind of message. */
export interface Bounds {
  what: string;
  bytes: number;
  fields: readonly string[];
}

export const bounds = (
  what: string,
  { properties }: { properties: object },
  bytes: number = MESSAGE_BYTES,
): Bounds => ({ what, bytes, fields: Object.keys(properties) });

const WITHDRAWAL: Bounds = {
  what: 'withdrawal of a question',
  bytes: 4 * 1024,
  fields: ['callId', 'callKey', 'generation', 'secret', 'attempt', 'number'],
};

/** The limits of each message to a turn. */
export const BOUNDS = {
  decision: bounds('decision', DECISION),
  resolution: bounds('resolution', RESOLUTION),
  answer: bounds('answer', QUESTION_ANSWER),
  outcome: bounds('outcome', OUTCOME, OUTCOME_BYTES),
  abandonment: bounds('abandonment', ABANDONMENT),
  withdrawal: WITHDRAWAL,
  question: {
    what: 'question of a call',
    bytes: LIMITS.callQuestionBytes + WITHDRAWAL.bytes,
    fields: [...WITHDRAWAL.fields, 'question'],
  },
};

/** The value of a message, which is undefined if the message is empty, or the reason why the message is refused. */
type ReadMessage = { ok: true; value: unknown } | { ok: false; message: string };

/** Reads a raw message from any sender. Checks the length first, so the time is bounded. Never throws. */
export function readMessage(message: RawValue | undefined, { what, bytes, fields }: Bounds): ReadMessage {
  const size = messageBytes(message);
  if (size > bytes)
    return { ok: false, message: `a ${what} has at most ${bytes} bytes, this one has ${size}` };
  const text = textOf(message);
  if (text === undefined) return { ok: true, value: undefined };
  const read = readJson(text, JSON_LEVELS);
  if (!read.ok) return { ok: false, message: `not a ${what}: ${describeIssues(read.issues)}` };
  const { value } = read;
  const unknown = isObject(value) ? Object.keys(value).find((key) => !fields.includes(key)) : undefined;
  if (unknown === undefined) return { ok: true, value };
  return {
    ok: false,
    message: `not a ${what}: ${JSON.stringify(unknown.slice(0, 64))} is not a known property`,
  };
}

/** Why a message is refused: a stable code, and what happened. */
interface RefusedMessage {
  code: string;
  message: string;
}

/**
 * The failure of a refused message. When the validator of an update throws it, nothing is left in history, and the
 * sender gets the answer immediately.
 */
export function refusalFailure(refused: RefusedMessage, type = refused.code): ApplicationFailure {
  return ApplicationFailure.create({
    type,
    message: wellFormed(refused.message),
    nonRetryable: true,
    details: [refused],
  });
}

/**
 * What a message was judged to be. A handler judges again what its validator has passed, because another message of
 * the same workflow task may have been taken first.
 *
 * @param type The type of the failure. By default, the code of the refusal.
 * @throws ApplicationFailure if the message is refused.
 */
export function takenOf<T extends object>(judged: T, type?: string): Exclude<T, RefusedMessage> {
  assertTaken(judged, type);
  return judged;
}

function assertTaken<T extends object>(
  judged: T,
  type?: string,
): asserts judged is Exclude<T, RefusedMessage> {
  if (isRefused(judged)) throw refusalFailure(judged, type);
}

function isRefused(judged: object): judged is RefusedMessage {
  return 'code' in judged;
}

/** The weight of a message in the queue, which depends only on its length. */
export function weightOf(message: RawValue | undefined): number {
  return LEAST_WEIGHT + Math.min(messageBytes(message), OUTCOME_BYTES) / 1024;
}

/**
 * The weight of a short message. *Measured*: 0.01 to 0.05 ms. Each KiB adds 0.01 ms (plain text) to 0.15 ms (keys and
 * numbers).
 */
const LEAST_WEIGHT = 0.2;

/** Sets the handler of a signal. It is judged in turn, like every message. */
export function onSignal(
  queue: MessageQueue,
  signal: string,
  judge: (message: RawValue) => void,
  description?: string,
): void {
  const add = (message: RawValue) => queue.add({ weight: weightOf(message), judge: () => judge(message) });
  setHandler(rawSignal(signal), add, { description });
}

/** The length of a message in bytes. The message is not decoded for this. */
function messageBytes(message: RawValue | undefined) {
  return message?.payload.data?.length ?? 0;
}

/**
 * The JSON text of a message. Undefined if the message is missing or is not JSON, for example because it is
 * encrypted with a missing key.
 */
function textOf(message: RawValue | undefined) {
  const { metadata, data } = message?.payload ?? {};
  const encoding = metadata?.['encoding'];
  if (encoding === undefined || encoding === null || data === undefined || data === null) return undefined;
  return decode(encoding) === 'json/plain' ? decode(data) : undefined;
}

/** Node's own decoder. The SDK's decoder is written in JavaScript and is slow for the result of a burst. */
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** Decodes a field of a payload. An absent field is an empty array, which the decoder refuses. */
function decode(bytes: Uint8Array) {
  return bytes.length === 0 ? '' : utf8.decode(bytes);
}

/**
 * Results of activities are decoded by our own code, too, because an operator may complete an activity with any value.
 */
export const rawResult = { outputType: rawValueTypeInfo };

/** The most times that an activity is scheduled if its result cannot be read. */
export const MOST_ASKED = 3;

/** The value of an activity's result. Undefined if the result is missing or cannot be decoded. Never throws. */
export function decodedValueOf(result: RawValue | undefined): unknown {
  try {
    const text = textOf(result);
    if (text !== undefined) return JSON.parse(text);
    return result === undefined ? undefined : defaultPayloadConverter.fromPayload(result.payload);
  } catch {
    return undefined;
  }
}

/** The index from which a query asks for the transcript. 0 if the query names no index. Never throws. */
export function firstAsked(message: RawValue | undefined): number {
  const read = messageBytes(message) <= MESSAGE_BYTES ? readJson(textOf(message) ?? 'null') : undefined;
  const value = read?.ok === true ? read.value : undefined;
  const from = isObject(value) ? value['from'] : undefined;
  return Number.isSafeInteger(from) ? Number(from) : 0;
}
