import type { Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { temporal } from '@temporalio/proto';
import { CountersignError } from '../contract/errors';
import type { RingKey } from './keys';
import { ENCODINGS, keyNamed } from './bundle-converters';

/**
 * The ways in which a codec treats a payload that it refuses. A payload whose key is missing is not refused: decoding
 * it throws, except with `blank`.
 */
type OnRefusal = 'throw' | 'mark' | 'blank';

/** The options of a codec. */
export interface CodecOptions {
  /** The keys, newest first. The first key encrypts, and each of them decrypts. Empty: nothing is encrypted. */
  keys: readonly RingKey[];
  /** Whether payloads that are not encrypted are refused. */
  required: boolean;
  /**
   * `throw`: throws a CountersignError. `mark`: the payload becomes one that cannot be converted, so that a workflow
   * sees an unreadable message or result instead of being stopped. `blank`: the payload becomes `undefined`, also if
   * its key is missing, so that one turn cannot hide the other turns of a list.
   */
  onRefusal: OnRefusal;
  /** False: payloads of any workflow are read. A replay needs this, because it does not know the namespace. */
  checksBinding: boolean;
}

const encoder = new TextEncoder();

/** Encrypts and decrypts payloads. Never throws on `encode`. */
export class EncryptionCodec implements PayloadCodec {
  private readonly byId: ReadonlyMap<string, RingKey>;

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
      // The process may still get the missing key.
      if (error.code !== 'payload_refused') throw error;
      const kind = error.data['reason'] === 'plaintext' ? 'waits' : 'refused';
      return encoded(`${ENCODINGS[kind]} (${error.message})`);
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
      // The cause adds nothing, and could quote decrypted text.
      throw payloadRefused('altered');
    }
  }

  private keyOf({ 'encryption-key-id': keyId, 'encryption-key-check': keyCheck }: Head): RingKey {
    const key = this.byId.get(keyId);
    if (key === undefined || key.check !== keyCheck) throw keyMissing(keyId, [...this.byId.keys()]);
    return key;
  }

  private checkBinding(head: Head, place: Binding | undefined) {
    if (!this.options.checksBinding || place === undefined) return;
    const { 'encryption-namespace': namespace, 'encryption-workflow-id': workflowId } = head;
    const isSame = namespace === place.namespace && workflowId === place.workflowId;
    if (!isSame && !isOfSchedule({ namespace, workflowId }, place)) throw payloadRefused('moved');
  }
}

/**
 * No namespace can have this name. So a payload that is bound to a schedule is never valid in a workflow whose id
 * happens to be the schedule's id.
 */
const scheduleNamespace = (namespace: string) => `${namespace} (schedule)`;

/** The suffix that Temporal adds to a schedule's id to form the id of a workflow that the schedule starts. */
const STARTED_AT = /^-\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

/** Whether the payload is bound to a schedule, and the place is a workflow that this schedule started. */
function isOfSchedule(head: Binding, place: Binding) {
  if (head.namespace !== scheduleNamespace(place.namespace)) return false;
  if (!place.workflowId.startsWith(head.workflowId)) return false;
  return STARTED_AT.test(place.workflowId.slice(head.workflowId.length));
}

/** The codec for the payload of a schedule. Many workflows get this payload, so it is bound to the schedule instead. */
export function codecOfSchedule(codec: PayloadCodec, id: string): PayloadCodec {
  const within = (context?: SerializationContext): SerializationContext | undefined =>
    context && { ...context, namespace: scheduleNamespace(context.namespace), workflowId: id };
  return {
    encode: (payloads, context) => codec.encode(payloads, within(context)),
    decode: (payloads, context) => codec.decode(payloads, within(context)),
  };
}

function bindingOf(context: SerializationContext | undefined): Binding | undefined {
  return context && { namespace: context.namespace, workflowId: context.workflowId ?? '' };
}

function encoded(encoding: string): Payload {
  return { metadata: { encoding: encoder.encode(encoding) }, data: new Uint8Array() };
}

/** Why a payload is refused although its key is present. */
const REASONS = {
  plaintext: 'a payload is not encrypted, and encryption is required',
  altered: 'an encrypted payload was altered or cut short',
  moved: 'an encrypted payload belongs to another workflow or namespace',
} as const;
/** One of these reasons, as the error carries it in `data.reason`. */
type RefusalReason = keyof typeof REASONS;

const HINTS: Readonly<Record<RefusalReason, string>> = {
  plaintext: 'Send it with the keys set; COUNTERSIGN_ENCRYPTION_REQUIRED=false reads older plaintext.',
  altered: 'The stored payload was changed; check who may write to Temporal.',
  moved: 'It was copied from elsewhere; check who may start and signal workflows.',
};

/** The error for a payload that must not be read. It shows nothing of the content. */
function payloadRefused(reason: RefusalReason) {
  return new CountersignError('payload_refused', REASONS[reason], {
    hint: HINTS[reason],
    data: { reason },
  });
}

/** The error for a payload whose key this process does not have. */
function keyMissing(keyId: string, known: readonly string[]): CountersignError {
  const has = known.length === 0 ? 'no keys are set' : `this process has ${known.join(', ')}`;
  return new CountersignError('key_missing', `a payload is encrypted with ${keyNamed(keyId)}; ${has}`, {
    hint: 'Set COUNTERSIGN_ENCRYPTION_KEYS or COUNTERSIGN_ENCRYPTION_KEY_FILE to the keys that the workers have.',
    data: { known: [...known] },
  });
}

/** The place a payload is bound to: it cannot be read anywhere else. */
interface Binding {
  namespace: string;
  workflowId: string;
}

/** The names of our fields in a payload's metadata, in the order in which they are authenticated. */
const FIELDS = [
  'encoding',
  'encryption-cipher',
  'encryption-key-id',
  'encryption-key-check',
  'encryption-namespace',
  'encryption-workflow-id',
] as const;
/** The value of each field. */
type Head = Record<(typeof FIELDS)[number], string>;

const ENCRYPTED = ENCODINGS.encrypted;
const CIPHER = 'AES-256-GCM/countersign-1';
const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const PREFIX = 'encryption-';

const { Payload: ProtoPayload } = temporal.api.common.v1;

/** Encrypts a payload with its metadata: `iv | ciphertext | tag`, authenticated together with every field of the head. */
function seal(payload: Payload, key: RingKey, binding: Binding): Payload {
  const metadata = toMetadata({
    encoding: ENCRYPTED,
    'encryption-cipher': CIPHER,
    'encryption-key-id': key.id,
    'encryption-key-check': key.check,
    'encryption-namespace': binding.namespace,
    'encryption-workflow-id': binding.workflowId,
  });
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key.secret, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(authenticated(metadata));
  const body = [cipher.update(ProtoPayload.encode(payload).finish()), cipher.final()];
  return { metadata, data: Buffer.concat([iv, ...body, cipher.getAuthTag()]) };
}

/**
 * Decrypts a payload that `seal` encrypted.
 *
 * @throws if any bit was changed, or if `seal` used another key.
 */
function unseal({ metadata, data }: Payload, key: RingKey): Payload {
  const bytes = data ?? new Uint8Array();
  if (bytes.length < IV_BYTES + TAG_BYTES) throw new Error('the ciphertext is cut short');
  const tagAt = bytes.length - TAG_BYTES;
  const decipher = createDecipheriv(ALGORITHM, key.secret, bytes.subarray(0, IV_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(authenticated(metadata ?? {}));
  decipher.setAuthTag(bytes.subarray(tagAt));
  const plain = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, tagAt)), decipher.final()]);
  return ProtoPayload.decode(plain);
}

/** Whether a payload is marked as encrypted, by us or by another program. */
function looksEncrypted({ metadata }: Payload) {
  const encoding = metadata?.['encoding'];
  // This runs for every payload, and most are plain: comparing lengths first is cheap.
  const named = encoding?.length === ENCRYPTED.length && Buffer.from(encoding).toString('utf8') === ENCRYPTED;
  return named || Object.keys(metadata ?? {}).some((name) => name.startsWith(PREFIX));
}

/** The header of an encrypted payload. Undefined unless it has exactly the fields that `seal` writes. */
function headOf({ metadata }: Payload): Head | undefined {
  const fields = metadata ?? {};
  if (Object.keys(fields).length !== FIELDS.length || FIELDS.some((name) => !fields[name])) return undefined;
  const text = (name: keyof Head) => Buffer.from(fields[name] ?? []).toString('utf8');
  const head: Head = {
    encoding: text('encoding'),
    'encryption-cipher': text('encryption-cipher'),
    'encryption-key-id': text('encryption-key-id'),
    'encryption-key-check': text('encryption-key-check'),
    'encryption-namespace': text('encryption-namespace'),
    'encryption-workflow-id': text('encryption-workflow-id'),
  };
  return head.encoding === ENCRYPTED && head['encryption-cipher'] === CIPHER ? head : undefined;
}

function toMetadata(head: Head): Record<string, Uint8Array> {
  return Object.fromEntries(FIELDS.map((name) => [name, Buffer.from(head[name])]));
}

/** Each field after its length, so that no byte can move from one field to the next. */
function authenticated(metadata: Record<string, Uint8Array>): Buffer {
  const parts = FIELDS.flatMap((name) => {
    const value = metadata[name] ?? new Uint8Array();
    const length = Buffer.alloc(4);
    length.writeUInt32BE(value.length);
    return [length, value];
  });
  return Buffer.concat(parts);
}
