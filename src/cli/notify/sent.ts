import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { CountersignError, errorMessage } from '../../contract/errors';
import { parseJson } from '../../contract/json';
import { readIfThere, replaceFile } from '../../files';

/** Which notices were delivered; on disk before the next one is sent. */
export interface Sent {
  has(key: string): boolean;
  /** Resolves once it is on disk. */
  add(key: string, now: number): Promise<void>;
}

const fileSchema = z.object({ version: z.literal(1), sent: z.record(z.string(), z.number()) });

/** Hardly anything waits longer. A request that still waits then is sent once more. */
const KEEP_MS = 180 * 24 * 3600 * 1000;

/**
 * Opens the file of what was delivered, in a folder that is there; it is made with the first delivery.
 *
 * @throws CountersignError `config_invalid` for a file that is something else.
 */
export async function openSent(file: string): Promise<Sent> {
  const sent = await readSent(file);
  let writing: Promise<void> = Promise.resolve();
  return {
    has: (key) => sent.has(key),
    add: (key, now) => {
      sent.set(key, now);
      for (const [old, at] of sent) if (now - at > KEEP_MS) sent.delete(old);
      const content: z.infer<typeof fileSchema> = { version: 1, sent: Object.fromEntries(sent) };
      // Channels send side by side. One write after the other: an older content never replaces a newer one.
      const written = writing.then(() => replaceFile(file, `${JSON.stringify(content)}\n`));
      writing = written.catch(() => undefined);
      return written;
    },
  };
}

/**
 * Makes the folder of the file.
 *
 * @throws CountersignError `config_invalid` where it cannot be made.
 */
export async function makeFolder(file: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  } catch (cause) {
    const hint = 'Name a file in a folder of your own with --state.';
    const message = `nothing can be kept in ${file}: ${errorMessage(cause)}`;
    throw new CountersignError('config_invalid', message, { hint, cause });
  }
}

async function readSent(file: string): Promise<Map<string, number>> {
  const text = await readIfThere(file);
  if (text === undefined) return new Map();
  const parsed = fileSchema.safeParse(parseJson(text));
  if (parsed.success) return new Map(Object.entries(parsed.data.sent));
  throw new CountersignError('config_invalid', `${file} is not a record of notices`, {
    hint: 'Name another file with --state, or remove it: everything that waits is then sent once more.',
  });
}
