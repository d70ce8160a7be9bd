import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { digestJson } from '../contract/digest';
import { isObject, type JsonObject } from '../contract/json';
import type { ToolResult } from '../contract/result';

/** How long entries are kept: longer than any reset of a turn is likely to look back. */
const KEEP_MS = 90 * 24 * 3600 * 1000;

/** What this machine knows of one execution of an unsafe call. */
export type JournalEntry = { state: 'none' } | { state: 'started' } | { state: 'ended'; result: ToolResult };

/**
 * This machine's own record of unsafe calls: the intent is on disk before the effect, the outcome after it.
 * It is what stops a second start that Temporal cannot know about (an operator's reset, two attempts at once).
 */
export interface Journal {
  read(key: string): Promise<JournalEntry>;
  /** Writes the intent. False where the key already has one: somebody started before. Throws where it cannot be written. */
  begin(key: string): Promise<boolean>;
  /** Writes the outcome; the call is done, so a failure to write is reported but changes nothing. */
  end(key: string, result: ToolResult): Promise<void>;
  /** Removes entries that are older than 90 days. */
  prune(): Promise<void>;
}

/** Whether an outcome is of this call: after a reset a person may have changed the arguments of what had run already. */
export function isOutcomeOf(outcome: ToolResult, call: { arguments: JsonObject }): boolean {
  return digestJson(outcome.arguments) === digestJson(call.arguments);
}

/** A journal of one file a call in `directory`. Keys are hashed: file names tell nothing. */
export function createJournal(directory: string): Journal {
  const fileOf = (key: string): string => join(directory, createHash('sha256').update(key).digest('hex'));
  return {
    read: async (key) => parseEntry(await readIfThere(fileOf(key))),
    begin: (key) => begin(directory, fileOf(key)),
    end: async (key, result) => appendLine(fileOf(key), { ended: result }),
    prune: () => prune(directory),
  };
}

const EndLine = z.object({
  ended: z.custom<ToolResult>((value) => typeof value === 'object' && value !== null),
});

/** A torn last line is an outcome that was not written: the call counts as started. */
function parseEntry(text: string | undefined): JournalEntry {
  if (text === undefined) return { state: 'none' };
  const last = text.split('\n').filter(Boolean).at(-1) ?? '';
  const parsed = EndLine.safeParse(parseJson(last));
  return parsed.success ? { state: 'ended', result: parsed.data.ended } : { state: 'started' };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

async function begin(directory: string, file: string): Promise<boolean> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  try {
    await writeSynced(file, { started: new Date().toISOString() }, constants.O_CREAT | constants.O_EXCL);
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false;
    throw error;
  }
  await syncDirectory(directory);
  return true;
}

async function appendLine(file: string, line: object): Promise<void> {
  await writeSynced(file, line, 0);
}

async function writeSynced(file: string, line: object, flags: number): Promise<void> {
  const handle = await open(file, constants.O_WRONLY | constants.O_APPEND | flags, 0o600);
  try {
    await handle.write(`${JSON.stringify(line)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Without this a crash of the machine could forget the new file's name. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function prune(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names) {
    const file = join(directory, name);
    const facts = await stat(file).catch(() => undefined);
    if (facts !== undefined && Date.now() - facts.mtimeMs > KEEP_MS) await rm(file, { force: true });
  }
}

function isCode(error: unknown, code: string): boolean {
  return isObject(error) && error['code'] === code;
}
