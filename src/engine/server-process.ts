import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { CountersignError, errnoOf } from '../contract/errors';
import { isAlive } from '../system/lock';
import { proxyArgs } from '../system/loopback';
import { describeError } from './run';
import { SEARCH_ATTRIBUTES } from '../contract/names';

/** How a server ended. Both fields are null when the server was not our child process. */
export interface ServerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A server that we started. */
export interface ServerProcess {
  pid: number;
  logFile: string;
  exited: Promise<ServerExit>;
}

const STOP_MS = 10_000;
const EXIT_POLL_MS = 50;

/**
 * Starts the server with its output in a file: a pipe would break when this process dies, and end the server at its
 * next line. The server has a process group of its own, so that Ctrl-C lets the worker finish before the server stops.
 * @throws CountersignError `server_failed` when the binary cannot be started.
 */
export const spawnServer = async (
  binary: string,
  args: string[],
  logFile: string,
): Promise<ServerProcess> => {
  const log = openSync(logFile, 'w');
  try {
    const child = spawn(binary, args, { stdio: ['ignore', log, log], detached: true, env: serverEnv() });
    const pid = await pidOf(child, binary);
    child.unref();
    const exited = new Promise<ServerExit>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    return { pid, logFile, exited };
  } finally {
    closeSync(log);
  }
};

/** The caller's client settings must not change how our server runs. */
const serverEnv = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_')));

const pidOf = async (child: ChildProcess, binary: string): Promise<number> => {
  if (child.pid !== undefined) return child.pid;
  const error = await new Promise<Error>((resolve) => child.once('error', resolve));
  throw new CountersignError('server_failed', `${binary} cannot be started: ${error.message}`, {
    cause: error,
  });
};

/**
 * Ends a server and waits until it is gone; after 10 s by force. A server without a file can get SIGKILL immediately.
 */
export const endProcess = async (pid: number, first: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
  if (!signal(pid, first)) return;
  if (await isGone(pid, STOP_MS)) return;
  signal(pid, 'SIGKILL');
  await isGone(pid, STOP_MS);
};

/** Resolves with true as soon as the process does not exist any more, and with false after `ms`. */
const isGone = async (pid: number, ms: number): Promise<boolean> => {
  const until = performance.now() + ms;
  while (isAlive(pid)) {
    if (performance.now() > until) return false;
    await delay(EXIT_POLL_MS);
  }
  return true;
};

/** Sends a signal; false when there is no such process. */
const signal = (pid: number, name: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, name);
  } catch (error) {
    if (errnoOf(error) === 'ESRCH') return false;
    throw error;
  }
};

/**
 * Ends a server together with this process. When this process exits normally, an exit handler ends the server. When
 * this process is killed, nobody can find an in-memory server again, so a shell waits until our end of a pipe closes
 * and then ends the server. A server with a file keeps running, and the next start on that file takes the server over.
 *
 * @returns a function that removes both guards.
 */
export const endWithUs = (server: ServerProcess, inMemory: boolean): (() => void) => {
  // SIGKILL, because the next start would mistake a server that is still ending for a running one.
  const onExit = () => void signal(server.pid, 'SIGKILL');
  process.once('exit', onExit);
  const dismiss = inMemory ? watchFor(server.pid) : () => undefined;
  const callOff = () => {
    process.removeListener('exit', onExit);
    dismiss();
  };
  void server.exited.then(callOff);
  return callOff;
};

const watchFor = (pid: number): (() => void) => {
  const watcher = spawn('/bin/sh', ['-c', 'read -r _; kill -9 "$1"', 'sh', String(pid)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  watcher.unref();
  if ('unref' in watcher.stdin && typeof watcher.stdin.unref === 'function') watcher.stdin.unref();
  // SIGKILL to the whole group, so that the shell never reaches its `kill`.
  return () => void (watcher.pid === undefined ? false : signal(-watcher.pid, 'SIGKILL'));
};

/** The server to wait for. */
interface ReadyOptions {
  address: string;
  namespace: string;
  /** Milliseconds. */
  timeoutMs: number;
  /** Resolves when the server has died, which ends the wait early. */
  gone?: Promise<unknown>;
}

/** Whether the server is usable, and otherwise the last reason. The reason is empty when the server ended. */
type Readiness = { ready: true } | { ready: false; why: string };

const POLL_MS = 50;
const CONNECT_MS = 2_000;

/** Waits until the frontend answers, the namespace exists and our search attributes can be queried. */
export const waitUntilReady = async ({
  address,
  namespace,
  timeoutMs,
  gone,
}: ReadyOptions): Promise<Readiness> => {
  const until = performance.now() + timeoutMs;
  let isGone = false;
  void gone?.then(() => (isGone = true));
  let why = 'it did not answer';
  while (performance.now() < until && !isGone) {
    try {
      await ask(address, namespace);
      return { ready: true };
    } catch (error) {
      why = describeError(error);
    }
    await delay(POLL_MS);
  }
  return { ready: false, why: isGone ? '' : why };
};

const ask = async (address: string, namespace: string): Promise<void> => {
  const connection = await Connection.connect({
    address,
    connectTimeout: CONNECT_MS,
    channelArgs: proxyArgs(address),
  });
  try {
    const { workflowService } = connection;
    await workflowService.describeNamespace({ namespace });
    const query = Object.values(SEARCH_ATTRIBUTES)
      .map((name) => `${name} IS NULL`)
      .join(' AND ');
    await workflowService.countWorkflowExecutions({ namespace, query });
  } finally {
    await connection.close();
  }
};
