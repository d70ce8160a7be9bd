import { z } from 'zod';
import { CountersignError, errorMessage } from '../contract/errors';
import { parseJson } from '../contract/json';
import { makeFolderOf, readIfThere, replaceFile } from '../system/files';

/** Values about notices, by key. `set` resolves only after the value is on disk. */
export interface Kept<T> {
  get(key: string): T | undefined;
  entries(): readonly (readonly [key: string, value: T])[];
  /** Resolves when the value is on disk. */
  set(key: string, value: T | undefined, now: number): Promise<void>;
}

/** The keys of delivered notices. `add` resolves only after the key is on disk. */
interface SentKeys {
  has(key: string): boolean;
  /** Resolves when the key is on disk. */
  add(key: string, now: number): Promise<void>;
}

/** How long keys are kept. Hardly any request waits longer. If a request waits longer, its notice is sent once more. */
export const KEEP_MS = 180 * 24 * 3600 * 1000;

/**
 * Opens the file of deliveries. Its folder must exist. The first delivery creates the file.
 *
 * @throws CountersignError `config_invalid` for a file with another content.
 */
export async function openSent(file: string): Promise<SentKeys> {
  const sent = await openKept(file, { value: z.number(), isOld: (at, now) => now - at > KEEP_MS });
  return { has: (key) => sent.get(key) !== undefined, add: (key, now) => sent.set(key, now, now) };
}

/** The form of the kept values, and the rule that says which values are too old to keep. */
interface Keeping<T> {
  value: z.ZodType<T>;
  isOld(value: T, now: number): boolean;
}

/** As `openSent`, for values of any form. Without a file, they are only in memory. */
export async function openKept<T>(
  file: string | undefined,
  { value: form, isOld }: Keeping<T>,
): Promise<Kept<T>> {
  const kept = file === undefined ? new Map<string, T>() : await readKept(file, form);
  let writing: Promise<void> = Promise.resolve();
  return {
    get: (key) => kept.get(key),
    entries: () => [...kept],
    set: (key, value, now) => {
      if (value === undefined) kept.delete(key);
      else kept.set(key, value);
      for (const [old, one] of kept) if (isOld(one, now)) kept.delete(old);
      if (file === undefined) return Promise.resolve();
      const content = `${JSON.stringify({ version: 1, sent: Object.fromEntries(kept) })}\n`;
      // Channels send at the same time, so writes to the file are queued. An older content then never replaces a newer
      // content.
      const written = writing.then(() => replaceFile(file, content));
      writing = written.catch(() => undefined);
      return written;
    },
  };
}

/**
 * Makes the folder of the file.
 *
 * @throws CountersignError `config_invalid` if the folder cannot be made.
 */
export async function makeStateFolder(file: string): Promise<void> {
  try {
    await makeFolderOf(file);
  } catch (cause) {
    const hint = 'Name a file in a folder of your own with --state.';
    const message = `nothing can be kept in ${file}: ${errorMessage(cause)}`;
    throw new CountersignError('config_invalid', message, { hint, cause });
  }
}

async function readKept<T>(file: string, value: z.ZodType<T>): Promise<Map<string, T>> {
  const text = await readIfThere(file);
  if (text === undefined) return new Map();
  const form = z.object({ version: z.literal(1), sent: z.record(z.string(), value) });
  const parsed = form.safeParse(parseJson(text));
  if (parsed.success) return new Map(Object.entries(parsed.data.sent));
  throw new CountersignError(
    'config_invalid',
    `${file} is not a record of notices`,
    'Name another file with --state, or remove it: everything that waits is then sent once more.',
  );
}
