import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { livingServer, removeRecord, type ServerRecord, toDiskError, writeRecord } from './server-record';
import { isAlive, withLock } from '../system/lock';
import { launch, type RunningServer, type StartOptions } from './server-launch';
import { endProcess, type ServerExit, waitUntilReady } from './server-process';
import { CountersignError } from '../contract/errors';

/**
 * Starts a server on the loopback address and resolves once it is usable: namespace there, search attributes
 * registered. A file has one server at most. A server that runs already is used, and taken over if its starter has
 * died.
 * @throws CountersignError `server_failed`: a port is taken, the disk is full, the server died (with its last lines), or it never answered.
 */
export const startServer = async (options: StartOptions): Promise<RunningServer> => {
  if (options.dbFile === undefined) return launchInMemory(options);
  try {
    return await startOnFile({ ...options, dbFile: await absolute(options.dbFile) });
  } catch (error) {
    throw toDiskError(error, dirname(options.dbFile));
  }
};

const startOnFile = async (options: StartOptions & { dbFile: string }): Promise<RunningServer> => {
  const { dbFile } = options;
  const lock = {
    progress: options.progress ?? (() => undefined),
    what: 'The Temporal server of this file is being started',
  };
  return withLock(`${dbFile}.lock`, lock, async () => {
    const record = livingServer(dbFile);
    const running = record === undefined ? undefined : await adopt(dbFile, record);
    return running ?? launch({ ...options, logFile: `${dbFile}.log` });
  });
};

const launchInMemory = async (options: StartOptions): Promise<RunningServer> => {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-server-'));
  const remove = () => rmSync(directory, { recursive: true, force: true });
  try {
    const server = await launch({ ...options, logFile: join(directory, 'server.log') });
    void server.exited.then(remove);
    return server;
  } catch (error) {
    remove();
    throw error;
  }
};

/** The real path of a file, so that a file has one name only. The record is found by this name. */
const absolute = async (file: string): Promise<string> => {
  const directory = dirname(resolve(file));
  await mkdir(directory, { recursive: true });
  return join(await realpath(directory), basename(file));
};

const READY_MS = 20_000;
const EXIT_POLL_MS = 250;

/**
 * Uses the server that has the file open. This process may stop the server if the process that started it is dead.
 * Undefined when the server ended while we waited for its answer.
 * @throws CountersignError `server_failed` when the server runs but does not answer.
 */
const adopt = async (dbFile: string, record: ServerRecord): Promise<RunningServer | undefined> => {
  const exited = whenGone(record.pid);
  const readiness = await waitUntilReady({ ...record, timeoutMs: READY_MS, gone: exited });
  if (!isAlive(record.pid)) return undefined;
  if (!readiness.ready)
    throw new CountersignError(
      'server_failed',
      `a server (process ${record.pid}) has ${dbFile} open but does not answer at ${record.address}: ${readiness.why}`,
      {
        hint: `End it with: kill ${record.pid}`,
        data: { pid: record.pid, address: record.address },
      },
    );
  const isOurs = !isAlive(record.owner) || record.owner === process.pid;
  if (isOurs) writeRecord(dbFile, { ...record, owner: process.pid });
  const { pid, address, uiUrl, namespace, logFile } = record;
  const stop = async () => {
    if (!isOurs) return;
    await endProcess(pid);
    removeRecord(dbFile);
  };
  return { pid, address, uiUrl, namespace, logFile, reused: true, stop, exited };
};

const whenGone = async (pid: number): Promise<ServerExit> => {
  while (isAlive(pid)) await delay(EXIT_POLL_MS, undefined, { ref: false });
  return { code: null, signal: null };
};
