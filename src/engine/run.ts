import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { types } from 'node:util';
import { errnoOf } from '../contract/errors';

/** The options for running a command. */
export interface RunOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** Ends the command after this many milliseconds; no limit by default. */
  timeoutMs?: number;
  /** Called with each line of either stream as it comes. */
  onLine?: (line: string) => void;
}

/** How a command ended. `code` is null when a signal ended it. */
export interface RunResult {
  code: number | null;
  signal: NodeJS.Signals | null;
  lines: string[];
}

/** Runs a command without a shell and collects its lines; rejects when it cannot be started (`ENOENT`, `EACCES`). */
export const run = async (command: string, args: string[], options: RunOptions = {}): Promise<RunResult> => {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: options.cwd,
    env: options.env,
  });
  const lines: string[] = [];
  const take = (line: string) => {
    lines.push(line);
    options.onLine?.(line);
  };
  createInterface({ input: child.stdout }).on('line', take);
  createInterface({ input: child.stderr }).on('line', take);
  // We do not use spawn's own timeout: its timer keeps running when the command could not be started.
  const timer =
    options.timeoutMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), options.timeoutMs);
  return new Promise<RunResult>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, lines }));
  }).finally(() => clearTimeout(timer));
};

/** An error in one line for a person. The line shows the deepest cause, because `fetch` keeps the reason there. */
export const describeError = (error: unknown): string => {
  if (!types.isNativeError(error)) return String(error);
  if (errnoOf(error) === 'ENOSPC') return 'the disk is full';
  return error.cause === undefined ? error.message : describeError(error.cause);
};
