import {
  defaultPayloadConverter,
  type LoadedDataConverter,
  type Payload,
  type SerializationContext,
} from '@temporalio/common';
import { CountersignError } from '../../contract/errors';
import { fromPayload } from './plain-json';

type List = { payloads?: Payload[] | null } | null | undefined;

/** Decodes payloads with a data converter and its codecs. What cannot be decoded is `undefined`; nothing throws. */
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
      // Anyone may send any bytes: the fold says "unreadable", it does not stop.
      return undefined;
    }
  }

  /** The value of the first payload: every message and result of ours has one. */
  first(payloads: List): Promise<unknown> {
    return this.value(payloads?.payloads?.[0]);
  }

  /**
   * The value of the first payload of what only starters and workers write.
   *
   * @throws CountersignError `key_missing`.
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

  /** The value of a payload that the SDK's core writes, past every codec. */
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

  /** A promise only where there are codecs. */
  private decoded(payload: Payload): unknown {
    const { payloadCodecs, payloadConverter } = this.converter;
    if (payloadCodecs.length === 0) return fromPayload(payload, payloadConverter);
    return throughCodecs(payload, this.converter, this.owner).then(
      (plain) => plain && fromPayload(plain, payloadConverter),
    );
  }
}

/** A payload as it was before the codecs of a converter. Errors: those of the codecs. */
export async function throughCodecs(
  payload: Payload,
  { payloadCodecs }: Pick<LoadedDataConverter, 'payloadCodecs'>,
  owner: SerializationContext | undefined,
): Promise<Payload | undefined> {
  let payloads = [payload];
  for (const codec of payloadCodecs.toReversed()) payloads = await codec.decode(payloads, owner);
  return payloads[0];
}
