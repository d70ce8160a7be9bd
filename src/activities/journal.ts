import { randomInt, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { digestJson } from '../contract/digest';
import { errnoOf, errorMessage } from '../contract/errors';
import { parseJson, type JsonObject } from '../contract/json';
import type { ToolResult } from '../contract/result';
import { appendLine, createWithLine, makeFolder, readIfThere, userStateDir } from '../system/files';
import { guarded } from '../system/guarded';
import { isResult } from '../contract/call-payloads';
import { sha256 } from '../system/sha256';

/** The folder of the journal of a worker with this state directory. */
export function journalFolder(stateDir = userStateDir()): string {
  return join(stateDir, 'journal');
}

/** The time for which entries are kept. It is longer than any reset is likely to reach back. */
const KEEP_MS = 90 * 24 * 3600 * 1000;

/** The entries are in this many folders, so that no folder becomes large. */
const FOLDERS = 256;

/** The least time between two prunings. Each of them looks through one folder. */
const PRUNE_MS = 60_000;

/** The least time between two attempts to write to a journal that failed. */
const PROBE_MS = 2_000;

/** The state of one execution of an unsafe call, as far as this machine knows it. */
type JournalEntry = { state: 'none' } | { state: 'started' } | { state: 'ended'; result: ToolResult };

/**
 * The machine's own record of unsafe calls: the intent is on disk before the effect, and the outcome after it. It
 * prevents a second start that Temporal cannot know about (after an operator's reset, or by two attempts at the same
 * time).
 */
export interface Journal {
  read(key: string): Promise<JournalEntry>;
  /**
   * Writes the intent. False if the journal already has an intent for the key, so the call was started before. Throws
   * if the intent cannot be written. There is then no intent.
   */
  begin(key: string): Promise<boolean>;
  /** Writes the outcome. The call has ended by then, so a failure to write is only reported. */
  end(key: string, result: ToolResult): Promise<void>;
  /**
   * Why the journal cannot be used now, in words. Undefined: its last use worked. After a failure, it tries to write
   * every few seconds. Never rejects.
   */
  fault(): Promise<string | undefined>;
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
 * A journal with one file for each call in a folder of `directory`. Keys are hashed, so that file names reveal nothing.
 * `sealer` encrypts the outcomes, which hold the arguments and output of calls. Without `sealer` they are kept in plain
 * text. While the worker writes intents, entries that are older than 90 days are removed, one folder at a time.
 *
 * @param onFault Called when the journal begins to fail, with the reason, and when it works again.
 */
export function createJournal(
  directory: string,
  sealer: OutcomeSealer = OPEN,
  onFault: (why: string | undefined) => void = () => undefined,
): Journal {
  const fileOf = (key: string) => join(directory, sha256(key).slice(0, 2), sha256(key));
  const pruneInTurn = createPruner(directory);
  const journal: Omit<Journal, 'fault'> = {
    read: async (key) => {
      const text = await readIfThere(fileOf(key));
      if (text === undefined) return { state: 'none' };
      const ended = await sealer.open(text.split('\n').filter(Boolean).at(-1) ?? '', sha256(key));
      return parseEnd(ended);
    },
    begin: async (key) => {
      pruneInTurn();
      return begin(fileOf(key));
    },
    end: async (key, result) => {
      const line = await sealer.seal(JSON.stringify({ ended: result }), sha256(key));
      await appendLine(fileOf(key), line);
    },
  };
  return withFault(journal, { probe: () => probe(join(directory, '00')), onFault });
}

/** A journal that remembers whether its folder failed. `probe` tries one that failed, and `onFault` hears of it. */
function withFault(
  journal: Omit<Journal, 'fault'>,
  { probe, onFault }: { probe(): Promise<string | undefined>; onFault(why: string | undefined): void },
): Journal {
  let fault: string | undefined;
  // It is tried once before its first use.
  let triedAt: number | undefined;
  const note = (why: string | undefined) => {
    triedAt = performance.now();
    if ((why === undefined) !== (fault === undefined)) onFault(why);
    fault = why;
  };
  const noting = async <T>(use: Promise<T>): Promise<T> => {
    try {
      return await use;
    } catch (error) {
      note(errorMessage(error));
      throw error;
    }
  };
  return {
    read: (key) => noting(journal.read(key)),
    begin: (key) => noting(journal.begin(key)),
    end: (key, result) => noting(journal.end(key, result)),
    fault: async () => {
      const isDue = fault !== undefined && performance.now() - (triedAt ?? 0) >= PROBE_MS;
      if (triedAt !== undefined && !isDue) return fault;
      triedAt = performance.now();
      note(await probe());
      return fault;
    },
  };
}

/** Tries to write and flush an entry, and removes it. Returns why that failed. */
async function probe(directory: string) {
  const file = join(directory, `probe-${randomUUID()}`);
  try {
    await begin(file);
    await rm(file);
    return undefined;
  } catch (error) {
    return errorMessage(error);
  }
}

/**
 * Why no journal can be kept in the folder of a state directory, in words. Undefined: it can, or neither of the two is
 * there. No folder is made: it would belong to the user who asks.
 */
export async function journalFault(directory: string): Promise<string | undefined> {
  const there = [directory, dirname(directory)].find((one) => existsSync(one));
  return there === undefined ? undefined : probe(there);
}

const EndLine = z.object({ ended: guarded(isResult, 'is not a result') });

/**
 * Reads the last line. If the line is torn or cannot be decrypted, the outcome is unknown, and the call counts as
 * started.
 */
function parseEnd(line: string | undefined): JournalEntry {
  const parsed = EndLine.safeParse(line === undefined ? undefined : parseJson(line));
  return parsed.success ? { state: 'ended', result: parsed.data.ended } : { state: 'started' };
}

async function begin(file: string) {
  await makeFolder(dirname(file));
  try {
    const line = JSON.stringify({ started: new Date().toISOString() });
    await createWithLine(file, line);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    // Half an intent would count as a start. If it cannot be removed either, it does count, which is safe.
    await rm(file, { force: true }).catch(() => undefined);
    throw error;
  }
}

/**
 * Makes a function that prunes the next folder, at most once a minute, in the background. The first folder is random,
 * so workers that end soon get to every folder, too.
 */
function createPruner(directory: string): () => void {
  let next = randomInt(FOLDERS);
  let prunedAt = -Infinity;
  return () => {
    if (performance.now() - prunedAt < PRUNE_MS) return;
    prunedAt = performance.now();
    void prune(join(directory, next.toString(16).padStart(2, '0')));
    next = (next + 1) % FOLDERS;
  };
}

/** Removes the entries of a folder that are older than 90 days. Never rejects. */
export async function prune(directory: string): Promise<void> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names) {
    const file = join(directory, name);
    const facts = await stat(file).catch(() => undefined);
    if (facts !== undefined && Date.now() - facts.mtimeMs > KEEP_MS)
      await rm(file, { force: true }).catch(() => undefined);
  }
}
