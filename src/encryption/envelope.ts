import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Payload } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import type { Key } from './keys';

/** What a payload is bound to: it can be read nowhere else. */
export interface Binding {
  namespace: string;
  workflowId: string;
}

/** Our names in a payload's metadata, in the order in which they are authenticated. */
export const FIELDS = {
  encoding: 'encoding',
  cipher: 'encryption-cipher',
  keyId: 'encryption-key-id',
  keyCheck: 'encryption-key-check',
  namespace: 'encryption-namespace',
  workflowId: 'encryption-workflow-id',
} as const;
/** What stands in each of them. */
export type Head = Record<keyof typeof FIELDS, string>;

export const ENCODING = 'binary/encrypted';
export const CIPHER = 'AES-256-GCM/countersign-1';
const ALGORITHM = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;
const PREFIX = 'encryption-';

const { Payload: ProtoPayload } = temporal.api.common.v1;

/** Encrypts a payload with its metadata: `iv | ciphertext | tag`, authenticated together with every field of the head. */
export function seal(payload: Payload, key: Key, binding: Binding): Payload {
  const head: Head = { encoding: ENCODING, cipher: CIPHER, keyId: key.id, keyCheck: key.check, ...binding };
  const metadata = toMetadata(head);
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(ALGORITHM, key.secret, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(authenticated(metadata));
  const body = [cipher.update(ProtoPayload.encode(payload).finish()), cipher.final()];
  return { metadata, data: Buffer.concat([iv, ...body, cipher.getAuthTag()]) };
}

/**
 * The payload that `seal` was given.
 *
 * @throws where one bit of it is another, or the key is.
 */
export function unseal({ metadata, data }: Payload, key: Key): Payload {
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

/** Whether anything about a payload says that it was encrypted, by us or by somebody else. */
export function looksEncrypted({ metadata }: Payload): boolean {
  const encoding = metadata?.[FIELDS.encoding];
  // Every payload comes by here, and most are plain: comparing lengths first costs nothing.
  const named = encoding?.length === ENCODING.length && Buffer.from(encoding).toString('utf8') === ENCODING;
  return named || Object.keys(metadata ?? {}).some((name) => name.startsWith(PREFIX));
}

/** What an encrypted payload says of itself; undefined where it has not exactly the fields that `seal` writes. */
export function headOf({ metadata }: Payload): Head | undefined {
  const fields = metadata ?? {};
  const names = Object.values(FIELDS);
  if (Object.keys(fields).length !== names.length || names.some((name) => !fields[name])) return undefined;
  const text = (name: string): string => Buffer.from(fields[name] ?? []).toString('utf8');
  const head: Head = {
    encoding: text(FIELDS.encoding),
    cipher: text(FIELDS.cipher),
    keyId: text(FIELDS.keyId),
    keyCheck: text(FIELDS.keyCheck),
    namespace: text(FIELDS.namespace),
    workflowId: text(FIELDS.workflowId),
  };
  return head.encoding === ENCODING && head.cipher === CIPHER ? head : undefined;
}

function toMetadata(head: Head): Record<string, Uint8Array> {
  const { encoding, cipher, keyId, keyCheck, namespace, workflowId } = head;
  return {
    [FIELDS.encoding]: Buffer.from(encoding),
    [FIELDS.cipher]: Buffer.from(cipher),
    [FIELDS.keyId]: Buffer.from(keyId),
    [FIELDS.keyCheck]: Buffer.from(keyCheck),
    [FIELDS.namespace]: Buffer.from(namespace),
    [FIELDS.workflowId]: Buffer.from(workflowId),
  };
}

/** Each field with its length before it, so that no byte can move from one to the next. */
function authenticated(metadata: Record<string, Uint8Array>): Buffer {
  const parts = Object.values(FIELDS).flatMap((name) => {
    const value = metadata[name] ?? new Uint8Array();
    const length = Buffer.alloc(4);
    length.writeUInt32BE(value.length);
    return [length, value];
  });
  return Buffer.concat(parts);
}
