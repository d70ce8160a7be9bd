import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { replaceFile, unlessMissing } from '../system/files';

/** A place that keeps bytes by key: a folder or a bucket. */
export interface StorePlace {
  /** Reads the bytes of a key. Undefined if the place has no bytes for this key, or more than `most`. */
  read(key: string, most: number): Promise<Uint8Array | undefined>;
  /** Replaces the bytes of a key. A reader never sees half-written bytes. */
  write(key: string, bytes: Uint8Array): Promise<void>;
}

/** A folder that all workers and clients share. Members of its group may read the files in it. */
export function folderPlace(root: string): StorePlace {
  return {
    async read(key, most) {
      // Without O_NONBLOCK a pipe with this name would block us until somebody writes to the pipe.
      const flags = constants.O_RDONLY | constants.O_NONBLOCK;
      const file = await unlessMissing(open(join(root, key), flags));
      if (file === undefined) return undefined;
      try {
        const facts = await file.stat();
        return facts.isFile() && facts.size <= most ? await file.readFile() : undefined;
      } finally {
        await file.close();
      }
    },
    async write(key, bytes) {
      const path = join(root, key);
      await mkdir(dirname(path), { recursive: true, mode: 0o750 });
      await replaceFile(path, (draft) => draft.writeFile(bytes), 0o640);
    },
  };
}
