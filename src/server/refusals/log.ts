import { constants } from 'node:fs';
import { mkdir, open, readFile, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { REFUSAL_CODES, type RefusalCode } from '../../contract/decision';
import { isObject } from '../../contract/json';

/** A decision or resolution that was refused. Neither arguments nor reasons are kept: only that it was, and why not. */
export interface Refusal {
  /** When the desk was told; ISO 8601. */
  at: string;
  namespace: string;
  /** Who was signed in. */
  user: string;
  turn: string;
  callId: string;
  what: 'decision' | 'resolution';
  code: RefusalCode;
}

/** Refusals by code; a code that never came is absent. */
export type RefusalCounts = Partial<Record<RefusalCode, number>>;

/** What updates that were refused leave nowhere else: history has no event of them. */
export interface RefusalLog {
  /** Keeps one more. Never rejects: what was answered stays answered, and what fails here is reported. */
  add(refusal: Refusal): Promise<void>;
  /** How many are on record for a namespace, since a moment (ISO 8601) where one is given. Errors: those of reading a file. */
  counts(query: { namespace: string; since?: string }): Promise<RefusalCounts>;
}

/** Where refusals are kept. */
export interface RefusalLogOptions {
  /** JSON Lines; one older file stands beside it as `<file>.1`. */
  file: string;
  /** Bytes from which on a file is put aside. @default 1 MiB */
  rotateAt?: number;
  /** Given what kept a refusal from being written. */
  report(error: unknown): void;
}

/** Some 5,000 refusals: more than a desk sees in months, few enough to be counted at once. */
const ROTATE_AT = 1024 * 1024;
const HOW = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NOFOLLOW;

/** A log in a file that only its owner may read. */
export function createRefusalLog({ file, rotateAt = ROTATE_AT, report }: RefusalLogOptions): RefusalLog {
  // One after the other: two that rotated at once would lose a file.
  let written = Promise.resolve();
  return {
    add: (refusal) => (written = written.then(() => append(file, refusal, rotateAt)).catch(report)),
    counts: async ({ namespace, since = '' }) => {
      await written;
      const lines = [...(await linesOf(`${file}.1`)), ...(await linesOf(file))];
      const counts: RefusalCounts = {};
      for (const one of lines.flatMap(parseLine)) {
        if (one.namespace === namespace && one.at >= since) counts[one.code] = (counts[one.code] ?? 0) + 1;
      }
      return counts;
    },
  };
}

async function append(file: string, refusal: Refusal, rotateAt: number): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  if ((await sizeOf(file)) >= rotateAt) await rename(file, `${file}.1`);
  const handle = await open(file, HOW, 0o600);
  try {
    // One that was there before may be open to others.
    await handle.chmod(0o600);
    await handle.write(`${JSON.stringify(refusal)}\n`);
  } finally {
    await handle.close();
  }
}

const refusalSchema = z.object({ at: z.string(), namespace: z.string(), code: z.enum(REFUSAL_CODES) });

/** A line that was cut off when the machine died, and one of a newer version, count for nothing. */
function parseLine(line: string): z.infer<typeof refusalSchema>[] {
  const parsed = refusalSchema.safeParse(parseJson(line));
  return parsed.success ? [parsed.data] : [];
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function linesOf(file: string): Promise<string[]> {
  return (await unlessMissing(readFile(file, 'utf8')))?.split('\n') ?? [];
}

async function sizeOf(file: string): Promise<number> {
  return (await unlessMissing(stat(file)))?.size ?? 0;
}

async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isObject(error) && error['code'] === 'ENOENT') return undefined;
    throw error;
  }
}
