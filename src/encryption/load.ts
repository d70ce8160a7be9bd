import { createRequire } from 'node:module';
import {
  type DataConverter,
  defaultFailureConverter,
  defaultPayloadConverter,
  type LoadedDataConverter,
  type PayloadConverter,
} from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { payloadConverter as lenient } from './bundle-converters';
import { type CodecOptions, EncryptionCodec } from './codec';
import { failureConverter as hiding } from './failure-converter';
import { type EncryptionOptions, readEncryption } from './keys';

/**
 * Encrypts what Temporal keeps, for workers and clients alike. See docs/encryption.md.
 *
 * @module
 */

/** The data converters for one ring of keys, one for each kind of process. */
export interface Encryption {
  /** Whether there are keys. Without keys nothing is encrypted, and encrypted payloads fail with `key_missing`. */
  readonly enabled: boolean;
  /** Whether plaintext is refused. */
  readonly required: boolean;
  /** Ids of the keys, newest first: safe to show. */
  readonly keyIds: readonly string[];
  /** The converter for workers. The workflow sees a refused message as unreadable. Without keys there is no codec. */
  worker(): DataConverter;
  /** The converter for clients. A refused payload throws. */
  client(): DataConverter;
  /**
   * The converter for clients that list turns. A refused payload is left out, so that one turn cannot hide the other
   * turns.
   */
  listing(): DataConverter;
  /**
   * The converter for replays of exported histories. A replay knows neither namespace nor workflow, so the binding is
   * not checked.
   */
  replay(): DataConverter;
  /** Encrypts files on a worker's own disk. Undefined without keys. */
  sealer(): Sealer | undefined;
  /** Encrypts files that are attached to messages. Undefined without keys. */
  fileSealer(): FileSealer | undefined;
}

/**
 * Reads the keys of this process, from options or from `COUNTERSIGN_ENCRYPTION_*`.
 *
 * @throws CountersignError `config_invalid`.
 * @example
 * const worker = await Worker.create({ ...options, dataConverter: loadEncryption().worker() });
 */
export function loadEncryption(
  options: EncryptionOptions = {},
  env: NodeJS.ProcessEnv = process.env,
): Encryption {
  const { keys, required } = readEncryption(options, env);
  // Without keys, failure messages stay where Temporal's UI shows them.
  const hidesFailures = keys.length > 0;
  const codecs = (how: Pick<CodecOptions, 'onRefusal'> & { checksBinding?: boolean }) => [
    new EncryptionCodec({ checksBinding: true, ...how, keys, required }),
  ];
  const forWorkers = (payloadCodecs: EncryptionCodec[]): DataConverter => ({
    payloadCodecs,
    // Not by `require`: a bundler would look for the file, too.
    failureConverterPath: hidesFailures
      ? createRequire(__filename).resolve('./failure-converter')
      : undefined,
  });
  // Clients get no paths: beside a client that was bundled into one file there are no other files.
  const forClients = (
    payloadCodecs: EncryptionCodec[],
    payloadConverter: PayloadConverter,
  ): LoadedDataConverter => ({
    payloadCodecs,
    payloadConverter,
    failureConverter: hidesFailures ? hiding : defaultFailureConverter,
  });
  return {
    enabled: keys.length > 0,
    required,
    keyIds: keys.map(({ id }) => id),
    // A codec without keys would cost a worker 3 % of a step.
    worker: () => forWorkers(keys.length === 0 ? [] : codecs({ onRefusal: 'mark' })),
    client: () => forClients(codecs({ onRefusal: 'throw' }), defaultPayloadConverter),
    listing: () => forClients(codecs({ onRefusal: 'blank' }), lenient),
    replay: () => forWorkers(codecs({ onRefusal: 'mark', checksBinding: false })),
    sealer: () => (keys.length === 0 ? undefined : createSealer({ keys, required })),
    fileSealer: () => (keys.length === 0 ? undefined : createByteSealer({ keys, required }, FILES_NAMESPACE)),
  };
}

/** Encrypts texts that a worker stores itself. Uses the keys and the form of payloads. */
interface Sealer {
  /** Encrypts the text into one line. Only `open` with the same `place` can read this line. */
  seal(text: string, place: string): Promise<string>;
  /**
   * Decrypts the line. Undefined if these keys cannot decrypt it, or if it is plaintext although encryption is
   * required.
   */
  open(sealed: string, place: string): Promise<string | undefined>;
}

/** Encrypts the bytes of files that many machines share. Uses the keys and the form of payloads. */
export interface FileSealer {
  /** Whether files that are not encrypted are refused. */
  readonly required: boolean;
  /** Encrypts the bytes. Only `open` with the same digest can read the result. */
  seal(bytes: Uint8Array, digest: string): Promise<Uint8Array>;
  /** Decrypts the bytes. Undefined if these keys cannot decrypt them. */
  open(sealed: Uint8Array, digest: string): Promise<Uint8Array | undefined>;
}

type Ring = Pick<CodecOptions, 'keys' | 'required'>;

const { Payload } = temporal.api.common.v1;
/**
 * The namespace to which sealed texts are bound. No real namespace can have this name, so a sealed text is never valid
 * as a payload of Temporal, nor a payload as a sealed text.
 */
const NAMESPACE = '(this machine)';
const FILES_NAMESPACE = '(files)';

/** Makes a sealer of bytes that uses one ring of keys. */
function createByteSealer(ring: Ring, namespace: string): FileSealer {
  const codec = new EncryptionCodec({ ...ring, onRefusal: 'throw', checksBinding: true });
  const contextOf = (workflowId: string) => ({ type: 'workflow', namespace, workflowId }) as const;
  return {
    required: ring.required,
    seal: async (bytes, digest) => {
      const plain = { metadata: { encoding: Buffer.from('binary/plain') }, data: bytes };
      const [sealed = plain] = await codec.encode([plain], contextOf(digest));
      return Payload.encode(sealed).finish();
    },
    open: async (sealed, digest) => {
      try {
        const [plain] = await codec.decode([Payload.decode(sealed)], contextOf(digest));
        return plain?.data ?? new Uint8Array();
      } catch {
        // The bytes are cut or altered, belong to another place, or need a missing key: callers treat all cases alike.
        return undefined;
      }
    },
  };
}

/** Makes a sealer of texts that uses one ring of keys. */
export function createSealer(ring: Ring): Sealer {
  const bytes = createByteSealer(ring, NAMESPACE);
  return {
    seal: async (text, place) =>
      `sealed ${Buffer.from(await bytes.seal(Buffer.from(text), place)).toString('base64')}`,
    open: async (line, place) => {
      const [, sealed] = /^sealed (\S+)$/.exec(line) ?? [];
      if (sealed === undefined) return ring.required ? undefined : line;
      const opened = await bytes.open(Buffer.from(sealed, 'base64'), place);
      return opened && Buffer.from(opened).toString('utf8');
    },
  };
}
