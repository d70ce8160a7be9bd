import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { isAlive } from '../system/lock';
import { CountersignError, errnoOf } from '../contract/errors';
import { systemReason } from '../contract/text/system-errors';

const Record = z.object({
  pid: z.number().int().positive(),
  /** The process that started the server, or took it over. */
  owner: z.number().int().positive(),
  address: z.string(),
  uiUrl: z.string().optional(),
  namespace: z.string(),
  logFile: z.string(),
});

/** The record that we keep beside a database file, about the server that has the file open. */
export type ServerRecord = z.infer<typeof Record>;

const recordFile = (dbFile: string): string => `${dbFile}.server.json`;

/**
 * Writes the record. Called right after the start, before anything can fail, so that we never lose track of a server.
 */
export const writeRecord = (dbFile: string, record: ServerRecord): void =>
  writeFileSync(recordFile(dbFile), `${JSON.stringify(record, null, 2)}\n`);

/** Removes the record of a server. */
export const removeRecord = (dbFile: string): void => rmSync(recordFile(dbFile), { force: true });

/** The server that has this file open right now. Undefined when no server has it open, whatever the record says. */
export const livingServer = (dbFile: string): ServerRecord | undefined => {
  const record = readRecord(dbFile);
  return record !== undefined && isServerOf(record.pid, dbFile) ? record : undefined;
};

/** Reads the record. Undefined if it is missing, or if a crash cut it off. */
const readRecord = (dbFile: string): ServerRecord | undefined => {
  try {
    return Record.parse(JSON.parse(readFileSync(recordFile(dbFile), 'utf8')));
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError || error instanceof z.ZodError)
      return undefined;
    throw error;
  }
};

/** Process ids are reused, so we check by the command line whether this process is still our server. */
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
    // The process ended between the two checks.
    return '';
  }
};

/** A new server needs about this much space on the disk. With less, we take every failure for a full disk. */
const NEEDED_BYTES = 8 * 1024 * 1024;

/** The error codes which mean that the server cannot write its data. */
const DISK_ERRORS = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'ENOTDIR']);

/** Turns a failure to write into an error for a person. Returns any other error unchanged. */
export const toDiskError = (error: unknown, directory: string): unknown => {
  const reason = DISK_ERRORS.has(errnoOf(error) ?? '') ? systemReason(error) : undefined;
  return reason === undefined ? error : cannotWrite(directory, reason, error);
};

/** The error for a server that died on a full disk. Undefined if there is room. */
export const fullDisk = (directory: string): CountersignError | undefined =>
  bytesFree(directory) < NEEDED_BYTES ? cannotWrite(directory, 'the disk is full') : undefined;

const bytesFree = (directory: string): number => {
  const { bavail, bsize } = statfsSync(directory);
  return bavail * bsize;
};

const cannotWrite = (directory: string, reason: string, cause?: unknown): CountersignError =>
  new CountersignError('server_failed', `the server's data cannot be kept in ${directory}: ${reason}`, {
    hint: 'Make room there, or choose another folder with --data-dir, and start again. No data was lost.',
    data: { directory },
    cause,
  });
