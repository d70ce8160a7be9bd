import { CountersignError } from '../contract/errors';
import type { FileSealer } from '../encryption/load';
import { folderPlace, type StorePlace } from './folder';
import { s3Place } from './s3';
import { createStore, type FileStore, STORE_VARIABLE } from './stored-file';

/** The options of a store, apart from its place. */
interface StoreOptions {
  /** Encrypts the files. @default files are stored without encryption */
  sealer?: FileSealer;
  env?: NodeJS.ProcessEnv;
}

/**
 * The store of a process: a folder, or `s3://bucket/prefix`. Undefined if no store is named.
 *
 * @param given @default `COUNTERSIGN_FILES`
 * @throws CountersignError `config_invalid`.
 */
export function openFileStore(given: string | undefined, options: StoreOptions = {}): FileStore | undefined {
  const { sealer, env = process.env } = options;
  const place = given ?? env[STORE_VARIABLE] ?? '';
  return place === '' ? undefined : createStore(placeOf(place, env), sealer);
}

function placeOf(place: string, env: NodeJS.ProcessEnv): StorePlace {
  const [, bucket, prefix = ''] = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,62})(?:\/([\w./-]*))?$/.exec(place) ?? [];
  if (bucket !== undefined)
    return s3Place({ bucket, prefix: prefix.replace(/\/*$/, prefix === '' ? '' : '/') }, env);
  if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(place)) return folderPlace(place);
  throw new CountersignError('config_invalid', 'the store of files is neither a folder nor a bucket', {
    hint: `Write ${STORE_VARIABLE} as the path of a folder, or as s3://bucket/prefix.`,
  });
}
