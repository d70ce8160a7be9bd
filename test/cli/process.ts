import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../support/build';

/** How a command ended. */
export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** A command that runs. */
export interface RunningCommand {
  /** Ends it as Ctrl-C does, as an operator, a closed terminal or a power cut does; or stops it for a while. */
  signal(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void;
  /** What it has printed to stdout so far. */
  out(): string;
  /** The same of stderr. */
  err(): string;
  ended: Promise<Ended>;
}

export interface RunOptions {
  env?: NodeJS.ProcessEnv;
  cwd?: string;
  input?: string;
}

/** Starts `countersign` as a shell would, with no settings of this machine. */
export function startCli(args: readonly string[], options: RunOptions = {}): RunningCommand {
  return startNode([join(root, 'bin', 'countersign.js'), ...args], options);
}

/** Runs `countersign` to its end in a process of its own. `runCli` of run-cli.ts needs none. */
export function runCliProcess(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return startCli(args, options).ended;
}

/** Starts commands as `startCli` does. Those that still run are killed after the test, before what a later hook ends. */
export function useCommands(): typeof startCli {
  let running: RunningCommand[] = [];
  afterEach(async () => {
    for (const one of running) one.signal('SIGKILL');
    await Promise.all(running.map(({ ended }) => ended));
    running = [];
  });
  return (args, options) => {
    const one = startCli(args, options);
    running.push(one);
    return one;
  };
}

/** Starts a Node program with an environment of its own. */
export function startNode(args: readonly string[], options: RunOptions = {}): RunningCommand {
  return startProgram([process.execPath, ...args], options);
}

/** Starts any program with an environment of its own. */
export function startProgram(
  [program = '', ...args]: readonly string[],
  { env = {}, cwd = root, input = '' }: RunOptions = {},
): RunningCommand {
  const child = spawn(program, args, { cwd, env: { ...bareEnv(), ...env } });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += String(chunk)));
  child.stderr.on('data', (chunk) => (err += String(chunk)));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    // A program that ends without reading its input closes the pipe; that says nothing about the program.
    child.stdin.on('error', (error: NodeJS.ErrnoException) => error.code !== 'EPIPE' && reject(error));
    child.stdin.end(input);
    child.once('close', (code) => resolve({ code, out, err }));
  });
  return { signal: (signal) => void child.kill(signal), out: () => out, err: () => err, ended };
}

/** The variables of this machine without which nothing runs. */
export function bareEnv(): NodeJS.ProcessEnv {
  const { PATH, HOME, COUNTERSIGN_TEMPORAL_CLI } = process.env;
  return Object.fromEntries(
    Object.entries({ PATH, HOME, COUNTERSIGN_TEMPORAL_CLI }).filter(([, value]) => value !== undefined),
  );
}
