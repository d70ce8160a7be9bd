import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError } from '../contract/errors';
import { isAlive } from './lock';
import type { RunningServer } from './server';
import { endProcess } from './server-process';
import type { ServerExit } from './server-process';
import { waitUntilReady } from './server-ready';
import { removeRecord, writeRecord } from './server-record';
import type { ServerRecord } from './server-record';

const READY_MS = 20_000;
const POLL_MS = 250;

/**
 * Uses the server that has the file open. It becomes ours to stop if the process that started it is dead.
 * Undefined when it ended while we asked.
 * @throws CountersignError `server_failed` when it runs but does not answer.
 */
export const adopt = async (dbFile: string, record: ServerRecord): Promise<RunningServer | undefined> => {
  const exited = whenGone(record.pid);
  const readiness = await waitUntilReady({ ...record, timeoutMs: READY_MS, gone: exited });
  if (!isAlive(record.pid)) return undefined;
  if (!readiness.ready) throw silent(dbFile, record, readiness.why);
  const isOurs = !isAlive(record.owner) || record.owner === process.pid;
  if (isOurs) writeRecord(dbFile, { ...record, owner: process.pid });
  const { pid, address, uiUrl, namespace, logFile } = record;
  const stop = async (): Promise<void> => {
    if (!isOurs) return;
    await endProcess(pid);
    removeRecord(dbFile);
  };
  return { pid, address, uiUrl, namespace, logFile, reused: true, stop, exited };
};

const silent = (dbFile: string, { pid, address }: ServerRecord, why: string): CountersignError =>
  new CountersignError(
    'server_failed',
    `a server (process ${pid}) has ${dbFile} open but does not answer at ${address}: ${why}`,
    {
      hint: `End it with: kill ${pid}`,
      data: { pid, address },
    },
  );

const whenGone = async (pid: number): Promise<ServerExit> => {
  while (isAlive(pid)) await delay(POLL_MS, undefined, { ref: false });
  return { code: null, signal: null };
};
