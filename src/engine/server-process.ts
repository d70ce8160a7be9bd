import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { CountersignError } from '../contract/errors';
import { isAlive } from './lock';
import { errnoOf } from './run';

/** How a server ended; both null when it was not our child. */
export interface ServerExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A server we started. */
export interface ServerProcess {
  pid: number;
  logFile: string;
  exited: Promise<ServerExit>;
}

const STOP_MS = 10_000;
const POLL_MS = 50;
const LAST_LINES = 12;

/**
 * Starts the server with its output in a file: a pipe would break when this process dies, and end the server at its
 * next line. In a process group of its own, so that Ctrl-C lets the worker finish before the server is stopped.
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

/** The caller's settings for clients have no say in how our server runs. */
const serverEnv = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_')));

const pidOf = async (child: ChildProcess, binary: string): Promise<number> => {
  if (child.pid !== undefined) return child.pid;
  const error = await new Promise<Error>((resolve) => child.once('error', resolve));
  throw new CountersignError('server_failed', `${binary} cannot be started: ${error.message}`, {
    cause: error,
  });
};

/** Ends a server and waits until it is gone; after 10 s by force. With nothing to keep it can be SIGKILL at once. */
export const endProcess = async (pid: number, first: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> => {
  if (!signal(pid, first)) return;
  if (await isGone(pid, STOP_MS)) return;
  signal(pid, 'SIGKILL');
  await isGone(pid, STOP_MS);
};

/** Resolves with true as soon as no such process exists, with false after `ms`. */
const isGone = async (pid: number, ms: number): Promise<boolean> => {
  const until = Date.now() + ms;
  while (isAlive(pid)) {
    if (Date.now() > until) return false;
    await delay(POLL_MS);
  }
  return true;
};

/** Sends a signal; false when there is no such process. */
export const signal = (pid: number, name: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, name);
  } catch (error) {
    if (errnoOf(error) === 'ESRCH') return false;
    throw error;
  }
};

/** The last lines a server wrote. */
export const lastLines = (logFile: string): string =>
  readFileSync(logFile, 'utf8').trimEnd().split('\n').slice(-LAST_LINES).join('\n');

/** True once the server itself said that it listens; an answer on its port could be another server's. */
export const saysItListens = (logFile: string): boolean =>
  /^(Temporal )?Server:/m.test(readFileSync(logFile, 'utf8'));
