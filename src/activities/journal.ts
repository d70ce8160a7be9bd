import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { digestJson } from '../contract/digest';
import { errnoOf } from '../contract/errors';
import { parseJson, type JsonObject } from '../contract/json';
import type { ToolResult } from '../contract/result';
import { appendLine, createWithLine, readIfThere } from '../files';

/** The time for which entries are kept. It is longer than any reset is likely to reach back. */
const KEEP_MS = 90 * 24 * 3600 * 1000;

/** The state of one execution of an unsafe call, as far as this machine knows it. */
export type JournalEntry = { state: 'none' } | { state: 'started' } | { state: 'ended'; result: ToolResult };

/**
 * The machine's own record of unsafe calls: the intent is on disk before the effect, and the outcome after it. It
 * prevents a second start that Temporal cannot know about (after an operator's reset, or by two attempts at the same
 * time).
 */
export interface Journal {
  read(key: string): Promise<JournalEntry>;
  /**
   * Writes the intent. False if the journal already has an intent for the key, so the call was started before. Throws
   * if the intent cannot be written.
   */
  begin(key: string): Promise<boolean>;
  /** Writes the outcome. The call has ended by then, so a failure to write is only reported. */
  end(key: string, result: ToolResult): Promise<void>;
  /** Removes entries that are older than 90 days. */
  prune(): Promise<void>;
}

/**
 * Encrypts the outcomes that are kept. `place` says where a text belongs, and the text can be read only with the same
 * `place`.
 */
export interface OutcomeSealer {
  seal(text: string, place: string): Promise<string>;
  /** Decrypts a text. Undefined if the keys here cannot read it, or if it should be encrypted and is not. */
  open(sealed: string, place: string): Promise<string | undefined>;
}

const OPEN: OutcomeSealer = { seal: async (text) => text, open: async (text) => text };

/**
 * Whether an outcome belongs to this call. After a reset, a person may have changed the arguments of a call that had
 * run before.
 */
export function isOutcomeOf(outcome: ToolResult, call: { arguments: JsonObject }): boolean {
  return digestJson(outcome.arguments) === digestJson(call.arguments);
}

/**
 * A journal with one file for each call in `directory`. Keys are hashed, so that file names reveal nothing. `sealer`
 * encrypts the outcomes, which hold the arguments and output of calls. Without `sealer` they are kept in plain text.
 */
export function createJournal(directory: string, sealer: OutcomeSealer = OPEN): Journal {
  const nameOf = (key: string): string => createHash('sha256').update(key).digest('hex');
  const fileOf = (key: string): string => join(directory, nameOf(key));
  return {
    read: async (key) => {
      const text = await readIfThere(fileOf(key));
      if (text === undefined) return { state: 'none' };
      const ended = await sealer.open(lastLineOf(text), nameOf(key));
      return parseEnd(ended);
    },
    begin: (key) => begin(directory, fileOf(key)),
    end: async (key, result) => {
      const line = await sealer.seal(JSON.stringify({ ended: result }), nameOf(key));
      await appendLine(fileOf(key), line);
    },
    prune: () => prune(directory),
  };
}

function lastLineOf(text: string): string {
  return text.split('\n').filter(Boolean).at(-1) ?? '';
}

const EndLine = z.object({
  ended: z.custom<ToolResult>((value) => typeof value === 'object' && value !== null),
});

/**
 * Reads the last line. If the line is torn or cannot be decrypted, the outcome is unknown, and the call counts as
 * started.
 */
function parseEnd(line: string | undefined): JournalEntry {
  const parsed = EndLine.safeParse(line === undefined ? undefined : parseJson(line));
  return parsed.success ? { state: 'ended', result: parsed.data.ended } : { state: 'started' };
}

async function begin(directory: string, file: string): Promise<boolean> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  try {
    const line = JSON.stringify({ started: new Date().toISOString() });
    await createWithLine(file, line);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    throw error;
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
