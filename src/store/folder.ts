import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { replaceFile, unlessMissing } from '../files';

/** Where bytes are kept by key: a folder or a bucket. */
export interface StorePlace {
  /** Undefined where there are none, or more than `most`. */
  read(key: string, most: number): Promise<Uint8Array | undefined>;
  /** Replaces what is there: readers see all of it or nothing. */
  write(key: string, bytes: Uint8Array): Promise<void>;
}

/** A folder that all workers and clients share. Whoever is of its group may read what is in it. */
export function folderPlace(root: string): StorePlace {
  return {
    async read(key, most) {
      // Without O_NONBLOCK a pipe of that name would block us until somebody writes to it.
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
