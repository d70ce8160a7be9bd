import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { CountersignError } from '../../contract/errors';

/** Which notices were delivered; on disk before the next one is sent. */
export interface Sent {
  has(id: string): boolean;
  /** Resolves once it is on disk. */
  add(id: string, now: number): Promise<void>;
}

const fileSchema = z.object({ version: z.literal(1), sent: z.record(z.string(), z.number()) });

/** Longer than anything waits, unless it waits for ever; what then waits still is told once more. */
const KEEP_MS = 180 * 24 * 3600 * 1000;

/**
 * Opens the file of what was delivered, in a folder that is there; it is made with the first delivery.
 *
 * @throws CountersignError `config_invalid` for a file that is something else.
 */
export async function openSent(file: string): Promise<Sent> {
  const sent = await readSent(file);
  return {
    has: (id) => sent.has(id),
    add: async (id, now) => {
      sent.set(id, now);
      for (const [old, at] of sent) if (now - at > KEEP_MS) sent.delete(old);
      await writeSynced(file, { version: 1, sent: Object.fromEntries(sent) });
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
    const why = cause instanceof Error ? cause.message : String(cause);
    const hint = 'Name a file in a folder of your own with --state.';
    throw new CountersignError('config_invalid', `nothing can be kept in ${file}: ${why}`, { hint, cause });
  }
}

async function readSent(file: string): Promise<Map<string, number>> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (text === undefined) return new Map();
  const parsed = fileSchema.safeParse(parseJson(text));
  if (parsed.success) return new Map(Object.entries(parsed.data.sent));
  throw new CountersignError('config_invalid', `${file} is no record of notices`, {
    hint: 'Name another file with --state, or remove it: everything that waits is told once more then.',
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The old file or the new one, never half of it, whenever the machine stops. */
async function writeSynced(file: string, content: z.infer<typeof fileSchema>): Promise<void> {
  const next = `${file}.next`;
  const handle = await open(next, 'w', 0o600);
  try {
    await handle.writeFile(`${JSON.stringify(content)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(next, file);
  const directory = await open(dirname(file), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
