import {
  defaultPayloadConverter,
  encodingTypes,
  type LoadedDataConverter,
  METADATA_ENCODING_KEY,
  type Payload,
  type PayloadConverter,
  type SerializationContext,
} from '@temporalio/common';
import type { temporal } from '@temporalio/proto';
import { isUtf8 } from 'node:buffer';
import { CountersignError } from '../../contract/errors';

type List = { payloads?: Payload[] | null } | null | undefined;

/**
 * Decodes payloads with a data converter and its codecs. A payload that cannot be decoded is `undefined`. Nothing
 * throws.
 */
export class Payloads {
  constructor(
    private readonly converter: LoadedDataConverter,
    private readonly owner: SerializationContext | undefined,
  ) {}

  /** The value of one payload. */
  async value(payload: Payload | null | undefined): Promise<unknown> {
    if (payload === null || payload === undefined) return undefined;
    try {
      return await this.decoded(payload);
    } catch {
      // Anyone may send any bytes. The fold then says "unreadable" and goes on.
      return undefined;
    }
  }

  /** The value of the first payload. Every message and result that we write has exactly one payload. */
  first(payloads: List): Promise<unknown> {
    return this.value(payloads?.payloads?.[0]);
  }

  /**
   * The value of the first payload, where only starters and workers write it. @throws CountersignError `key_missing`.
   */
  async own(payloads: List): Promise<unknown> {
    const payload = payloads?.payloads?.[0];
    try {
      return payload && (await this.decoded(payload));
    } catch (error) {
      if (error instanceof CountersignError && error.code === 'key_missing') throw error;
      return undefined;
    }
  }

  /** The value of a payload that the SDK's core writes. No codec encodes such a payload. */
  core(payload: Payload | null | undefined): unknown {
    try {
      return payload ? fromPayload(payload, defaultPayloadConverter) : undefined;
    } catch {
      return undefined;
    }
  }

  /** The values of all payloads. */
  all(payloads: List): Promise<unknown[]> {
    return Promise.all((payloads?.payloads ?? []).map((payload) => this.value(payload)));
  }

  /** The values of a map of payloads. */
  async map(fields: Record<string, Payload> | null | undefined): Promise<Record<string, unknown>> {
    const entries = Object.entries(fields ?? {});
    return Object.fromEntries(
      await Promise.all(entries.map(async ([name, payload]) => [name, await this.value(payload)] as const)),
    );
  }

  /** The decoded value. It is a promise only if there are codecs. */
  private decoded(payload: Payload) {
    const { payloadCodecs, payloadConverter } = this.converter;
    if (payloadCodecs.length === 0) return fromPayload(payload, payloadConverter);
    return throughCodecs(payload, this.converter, this.owner).then(
      (plain) => plain && fromPayload(plain, payloadConverter),
    );
  }
}

/** A payload as it was before the codecs of a converter encoded it. @throws The errors of the codecs. */
export async function throughCodecs(
  payload: Payload,
  { payloadCodecs }: Pick<LoadedDataConverter, 'payloadCodecs'>,
  owner: SerializationContext | undefined,
): Promise<Payload | undefined> {
  let payloads = [payload];
  for (const codec of payloadCodecs.toReversed()) payloads = await codec.decode(payloads, owner);
  return payloads[0];
}

/**
 * Converts a payload to a value. If the converter is the SDK's own, JSON is decoded here: the SDK decodes UTF-8 in
 * JavaScript, because the workflow sandbox needs that, and this took a fifth of the time of reading a history. Bytes
 * that are not UTF-8 are left to the SDK, because the turn saw the result of the SDK's decoder.
 *
 * @throws The errors of the converter.
 */
export function fromPayload(payload: Payload, converter: PayloadConverter): unknown {
  const { metadata, data } = payload;
  const isPlain =
    converter === defaultPayloadConverter &&
    textOf(metadata?.[METADATA_ENCODING_KEY]) === encodingTypes.METADATA_ENCODING_JSON;
  return isPlain && data && isUtf8(data) ? JSON.parse(textOf(data)) : converter.fromPayload(payload);
}

function textOf(bytes: Uint8Array = new Uint8Array()) {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** The id of the child workflow that an event is about. Undefined for other events, and if no child was started. */
export function childIn(raw: temporal.api.history.v1.IHistoryEvent): string | undefined {
  const asked = raw.startChildWorkflowExecutionInitiatedEventAttributes;
  if (asked) return asked.workflowId ?? '';
  const there =
    raw.childWorkflowExecutionStartedEventAttributes ??
    raw.childWorkflowExecutionCompletedEventAttributes ??
    raw.childWorkflowExecutionFailedEventAttributes ??
    raw.childWorkflowExecutionCanceledEventAttributes ??
    raw.childWorkflowExecutionTimedOutEventAttributes ??
    raw.childWorkflowExecutionTerminatedEventAttributes;
  return there ? (there.workflowExecution?.workflowId ?? '') : undefined;
}

/**
 * The workflow to which the payloads of an event are bound. The input and the result of a child are bound to the child.
 */
export function ownerIn(
  raw: temporal.api.history.v1.IHistoryEvent,
  owner: SerializationContext,
): SerializationContext {
  const child = childIn(raw);
  return child === undefined ? owner : { type: 'workflow', namespace: owner.namespace, workflowId: child };
}
