import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { isAlive } from './lock';
import { errnoOf } from './run';

const Record = z.object({
  pid: z.number().int().positive(),
  /** The process that started the server, or took it over. */
  owner: z.number().int().positive(),
  address: z.string(),
  uiUrl: z.string().optional(),
  namespace: z.string(),
  logFile: z.string(),
});

/** What is written beside a database file about the server that has it open. */
export type ServerRecord = z.infer<typeof Record>;

const recordFile = (dbFile: string): string => `${dbFile}.server.json`;

/** Written at once after the start, before anything can fail, so that a server is never lost from sight. */
export const writeRecord = (dbFile: string, record: ServerRecord): void =>
  writeFileSync(recordFile(dbFile), `${JSON.stringify(record, null, 2)}\n`);

/** Forgets the server of a database file. */
export const removeRecord = (dbFile: string): void => rmSync(recordFile(dbFile), { force: true });

/** The server that has this file open right now; undefined when there is none, whatever is written. */
export const livingServer = (dbFile: string): ServerRecord | undefined => {
  const record = readRecord(dbFile);
  return record !== undefined && isServerOf(record.pid, dbFile) ? record : undefined;
};

/** A record that cannot be read is one that was cut by a crash while being written. */
const readRecord = (dbFile: string): ServerRecord | undefined => {
  try {
    return Record.parse(JSON.parse(readFileSync(recordFile(dbFile), 'utf8')));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError || error instanceof z.ZodError)
      return undefined;
    throw error;
  }
};

/** Process ids are used again; the command line tells whether this one is still our server. */
const isServerOf = (pid: number, dbFile: string): boolean => {
  if (!isAlive(pid)) return false;
  const command = commandOf(pid);
  return command.includes('start-dev') && command.includes(dbFile);
};

const commandOf = (pid: number): string => {
  try {
    return process.platform === 'linux'
      ? readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
      : execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    // It ended between the two looks.
    return '';
  }
};
