import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { CountersignError, errorMessage } from '../contract/errors';
import { limitText } from '../contract/text/bytes';
import { systemReason } from '../contract/text/system-errors';
import { LIMITS } from '../contract/limits';
import { areFiles, type FileRef } from '../contract/session/files';
import { escapeHidden } from '../contract/text/unsafe-text';
import type { FileSealer } from '../encryption/load';
import type { StorePlace } from './folder';
import { mediaTypeOf } from './media-types';

/** A file to attach to a message. */
export interface NewFile {
  /** A name or a path; only the last part of a path is used. Invisible characters are replaced. */
  name: string;
  bytes: Uint8Array;
  /** The media type, such as `image/png`. @default by what the bytes and the name say */
  mediaType?: string;
}

/** The bytes of a file, or the reason in words why the store cannot give them. */
type StoredFile = { bytes: Uint8Array } | { lack: string };

/** Keeps the bytes of files that are attached to messages. Senders of files and workers use the same store. */
export interface FileStore {
  /**
   * Keeps a file and returns its reference. Keeping the same file twice has no further effect.
   *
   * @throws CountersignError `usage` for a file that no message can have, `file_failed` if the store cannot be written.
   */
  put(file: NewFile): Promise<FileRef>;
  /**
   * The bytes of a file that was put, checked by their digest.
   *
   * @throws CountersignError `file_failed` if the store cannot be read now.
   */
  get(ref: FileRef): Promise<StoredFile>;
}

/** The variable that names the store of this process. */
export const STORE_VARIABLE = 'COUNTERSIGN_FILES';

/** The most bytes of read files that a process keeps in memory. Each step of a turn asks for the same files again. */
const KEPT_BYTES = 64 * 1024 * 1024;

/** The first bytes of an encrypted file. No other file begins like this by accident. */
const SEALED = Buffer.from('countersign sealed file 1\n');

/** The most bytes that encryption adds to a file. */
const SEAL_BYTES = 4096;

/** A store of files at a place. With a sealer, it encrypts the files. */
export function createStore(place: StorePlace, sealer: FileSealer | undefined): FileStore {
  const kept = new LRUCache<string, Uint8Array>({
    maxSize: KEPT_BYTES,
    sizeCalculation: (bytes) => Math.max(1, bytes.byteLength),
  });
  return {
    async put(file) {
      const ref = refOf(file);
      const bytes =
        sealer === undefined
          ? file.bytes
          : Buffer.concat([SEALED, await sealer.seal(file.bytes, ref.digest)]);
      await unlessFailed('written', () => place.write(keyOf(ref), bytes));
      return ref;
    },
    async get(ref) {
      const known = kept.get(ref.digest);
      if (known !== undefined) return { bytes: known };
      const most = LIMITS.fileBytes + SEAL_BYTES;
      const stored = await unlessFailed('read', () => place.read(keyOf(ref), most));
      if (stored === undefined) return { lack: 'it is not in the store of files' };
      const opened = await open(stored, ref, sealer);
      if ('bytes' in opened) kept.set(ref.digest, opened.bytes);
      return opened;
    },
  };
}

async function open(
  stored: Uint8Array,
  { digest }: FileRef,
  sealer: FileSealer | undefined,
): Promise<StoredFile> {
  if (!SEALED.equals(stored.subarray(0, SEALED.length))) {
    if (sealer?.required === true)
      return { lack: 'it is not encrypted in the store, and encryption is required' };
    return checked(stored, digest);
  }
  const bytes = await sealer?.open(stored.subarray(SEALED.length), digest);
  return bytes === undefined
    ? { lack: 'it cannot be decrypted with the keys of this worker' }
    : checked(bytes, digest);
}

function checked(bytes: Uint8Array, digest: string): StoredFile {
  if (hash('sha256', bytes) === digest) return { bytes };
  return { lack: 'its bytes in the store are not those that were sent' };
}

/** The key of a file. A digest may have only hexadecimal digits, so no key leads out of the store. */
function keyOf({ digest }: FileRef) {
  if (!/^[0-9a-f]{64}$/.test(digest)) throw new TypeError('not a digest');
  return `${digest.slice(0, 2)}/${digest}`;
}

/** The reference of a file. @throws CountersignError `usage`. */
function refOf({ name: given, bytes, mediaType }: NewFile): FileRef {
  const name = nameOf(given);
  const size = bytes.byteLength;
  if (size === 0) throw unfit(name, 'is empty');
  if (size > LIMITS.fileBytes) throw unfit(name, `is over ${limitText(LIMITS.fileBytes)}`);
  const type = mediaType?.toLowerCase().split(';', 1)[0]?.trim() ?? mediaTypeOf(name, bytes);
  const ref = { digest: hash('sha256', bytes), mediaType: type, size, name };
  if (!/^[a-z0-9][a-z0-9.+-]*\/[a-z0-9][a-z0-9.+-]*$/.test(type) || !areFiles([ref]))
    throw unfit(name, `has no media type ${JSON.stringify(mediaType)}`);
  return ref;
}

function unfit(name: string, why: string) {
  return new CountersignError('usage', `the file ${escapeHidden(name)} ${why}`);
}

const NAME_CHARACTERS = 200;

/** The last part of a path. Invisible characters are replaced, because they could make it look like another name. */
function nameOf(path: string) {
  const last = path.split(/[/\\]/).findLast((part) => part.trim() !== '') ?? 'file';
  const shown = last
    .normalize('NFC')
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '_')
    .trim();
  const characters = [...shown];
  if (characters.length <= NAME_CHARACTERS) return shown;
  const end = [...(/\.\w{1,10}$/.exec(shown)?.[0] ?? '')];
  return [...characters.slice(0, NAME_CHARACTERS - end.length), ...end].join('');
}

async function unlessFailed<T>(how: 'read' | 'written', work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const why = systemReason(cause) ?? errorMessage(cause);
    throw new CountersignError('file_failed', `the store of files cannot be ${how}: ${why}`, {
      hint: `Check ${STORE_VARIABLE}, and the rights there.`,
      cause,
    });
  }
}
