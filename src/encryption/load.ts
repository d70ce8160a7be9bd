import type { DataConverter } from '@temporalio/common';
import { EncryptionCodec, type CodecOptions } from './codec';
import { readEncryption, type EncryptionOptions } from './settings';

/** Data converters of one ring of keys, each for one kind of process. */
export interface Encryption {
  /** Whether there are keys. Without, nothing is encrypted, and what others have encrypted is `key_missing`. */
  readonly enabled: boolean;
  /** Whether plaintext is refused. */
  readonly required: boolean;
  /** Ids of the keys, newest first: safe to show. */
  readonly keyIds: readonly string[];
  /** For workers: a message that must not be read reaches the workflow as one that cannot be read. */
  worker(): DataConverter;
  /** For clients: what must not be read throws. */
  client(): DataConverter;
  /** For clients that list: what must not be read is left out, so that one turn cannot hide the others. */
  listing(): DataConverter;
  /** For replays of exported histories, which know neither namespace nor workflow: what is bound is not compared. */
  replay(): DataConverter;
}

/**
 * Reads the keys of this process, from options or from `COUNTERSIGN_ENCRYPTION_*`.
 *
 * @throws CountersignError `encryption_invalid`.
 * @example
 * const worker = await Worker.create({ ...options, dataConverter: loadEncryption().worker() });
 */
export function loadEncryption(
  options: EncryptionOptions = {},
  env: NodeJS.ProcessEnv = process.env,
): Encryption {
  const { keys, required } = readEncryption(options, env);
  const converter = (how: Pick<CodecOptions, 'onRefusal'> & { checksBinding?: boolean }): DataConverter => ({
    payloadCodecs: [new EncryptionCodec({ checksBinding: true, ...how, keys, required })],
    // Without keys messages of failures stay where people look for them.
    ...(keys.length === 0 ? {} : { failureConverterPath: require.resolve('./failure-converter') }),
  });
  return {
    enabled: keys.length > 0,
    required,
    keyIds: keys.map(({ id }) => id),
    worker: () => converter({ onRefusal: 'mark' }),
    client: () => converter({ onRefusal: 'throw' }),
    listing: () => converter({ onRefusal: 'blank' }),
    replay: () => converter({ onRefusal: 'mark', checksBinding: false }),
  };
}
