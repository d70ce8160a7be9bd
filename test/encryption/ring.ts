import { randomBytes } from 'node:crypto';
import type { Payload, PayloadCodec, SerializationContext } from '@temporalio/common';
import { loadEncryption, type Encryption } from '../../src/encryption/load';
import type { EncryptionOptions } from '../../src/encryption/keys';

/** A key as it stands in settings. */
export const drawKey = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;

/** Encryption from options alone: the variables of this machine have no say. */
export const ringOf = (options: EncryptionOptions): Encryption => loadEncryption(options, {});

/** The codec of one kind of process. */
export const codecOf = (
  options: EncryptionOptions,
  kind: 'worker' | 'client' | 'listing' | 'replay' = 'client',
): PayloadCodec => {
  const [codec] = ringOf(options)[kind]().payloadCodecs ?? [];
  if (codec === undefined) throw new Error('no codec');
  return codec;
};

/** The payloads of one turn. */
export const ofTurn = (workflowId: string, namespace = 'default'): SerializationContext => ({
  type: 'workflow',
  namespace,
  workflowId,
});

/** The payloads of an activity of a turn. */
export const ofActivity = (workflowId: string): SerializationContext => ({
  type: 'activity',
  namespace: 'default',
  workflowId,
  activityId: '1',
  isLocal: false,
});

/** Encrypts one payload. */
export const sealed = async (codec: PayloadCodec, payload: Payload, context?: SerializationContext) =>
  one(await codec.encode([payload], context));

/** Decrypts one payload. */
export const opened = async (codec: PayloadCodec, payload: Payload, context?: SerializationContext) =>
  one(await codec.decode([payload], context));

const one = ([payload]: Payload[]): Payload => {
  if (payload === undefined) throw new Error('no payload');
  return payload;
};
