import type { Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import { CountersignError } from '../contract/errors';
import { headOf, looksEncrypted, seal, unseal, type Binding, type Head } from './envelope';
import type { Key } from './keys';
import { keyMissing, payloadRefused } from './refusals';

/** What becomes of a payload that is refused for what it is. A missing key throws, except in lists: with the key it can be read. */
export type OnRefusal = 'throw' | 'mark' | 'blank';

/** How a codec behaves. */
export interface CodecOptions {
  /** Newest first: the first one encrypts, any of them decrypts. Empty: nothing is encrypted. */
  keys: readonly Key[];
  /** Refuses payloads that are not encrypted. */
  required: boolean;
  /**
   * `throw`: a CountersignError. `mark`: what belongs to a workflow becomes a payload that nothing can convert, so that a
   * workflow sees a message it cannot read instead of being stopped by it. `blank`: it becomes `undefined`, also where
   * its key is missing, so that one turn does not hide a list of others.
   */
  onRefusal: OnRefusal;
  /** False: reads payloads whatever workflow they belong to, as a replay has to, which knows no namespace. */
  checksBinding: boolean;
}

const encoder = new TextEncoder();

/** Encrypts and decrypts payloads. Never throws on `encode`. */
export class EncryptionCodec implements PayloadCodec {
  private readonly byId: ReadonlyMap<string, Key>;

  constructor(private readonly options: CodecOptions) {
    this.byId = new Map(options.keys.map((key) => [key.id, key]));
  }

  async encode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    const [key] = this.options.keys;
    const binding = bindingOf(context) ?? { namespace: '', workflowId: '' };
    return key === undefined ? payloads : payloads.map((payload) => seal(payload, key, binding));
  }

  /** @throws CountersignError `key_missing`, `payload_refused`. */
  async decode(payloads: Payload[], context?: SerializationContext): Promise<Payload[]> {
    return payloads.map((payload) => this.decodeOne(payload, context));
  }

  private decodeOne(payload: Payload, context: SerializationContext | undefined): Payload {
    try {
      return this.open(payload, context);
    } catch (error) {
      const { onRefusal } = this.options;
      if (!(error instanceof CountersignError) || onRefusal === 'throw') throw error;
      if (onRefusal === 'blank') return encoded('binary/null');
      if (!isRefusal(error)) throw error;
      // A task of an activity fails alone and is told why; only a workflow could be stopped for ever.
      if (context?.type !== 'workflow') throw error;
      return encoded(`countersign/refused (${String(error.data['reason'])})`);
    }
  }

  private open(payload: Payload, context: SerializationContext | undefined): Payload {
    if (!looksEncrypted(payload)) {
      if (this.options.required) throw payloadRefused('plaintext');
      return payload;
    }
    const head = headOf(payload);
    if (head === undefined) throw payloadRefused('altered');
    const key = this.keyOf(head);
    this.checkBinding(head, bindingOf(context));
    try {
      return unseal(payload, key);
    } catch {
      // The cause would tell nothing more, and could quote what was decrypted.
      throw payloadRefused('altered');
    }
  }

  private keyOf({ keyId, keyCheck }: Head): Key {
    const key = this.byId.get(keyId);
    if (key === undefined || key.check !== keyCheck) throw keyMissing(keyId, [...this.byId.keys()]);
    return key;
  }

  private checkBinding(head: Head, place: Binding | undefined): void {
    if (!this.options.checksBinding || place === undefined) return;
    if (head.namespace !== place.namespace || head.workflowId !== place.workflowId)
      throw payloadRefused('moved');
  }
}

function bindingOf(context: SerializationContext | undefined): Binding | undefined {
  return context && { namespace: context.namespace, workflowId: context.workflowId ?? '' };
}

function isRefusal(error: unknown): error is CountersignError {
  return error instanceof CountersignError && error.code === 'payload_refused';
}

function encoded(encoding: string): Payload {
  return { metadata: { encoding: encoder.encode(encoding) }, data: new Uint8Array() };
}
