import { execFile, fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { until } from './until';

/** Where a worker's process signals itself; see fixtures/trap.cjs. */
export interface Trap {
  at: 'policy' | 'before' | 'handler' | 'after';
  tag: string;
  signal: 'SIGKILL' | 'SIGSTOP';
}

/** What fixtures/worker.cjs is started with. */
export interface FixtureSettings {
  address: string;
  taskQueue: string;
  stateDir: string;
  /** Where effects and gates are. */
  directory: string;
  /** Of every tool. @default '4s' */
  heartbeat?: string;
  trap?: Trap;
  /** Where the tools `charge` and `transfer` pay, and their timeout. */
  bank?: { url: string; timeout: string };
  /** How its turns are written to history. @default each step */
  durability?: { durability: 'gate'; commitEvery?: string | number };
  /** The build that it is. */
  buildId?: string;
  deployment?: string;
  /** Of every tool, in place of what each says by itself. */
  description?: string;
  /** A queue of their own for the tools. */
  callsQueue?: string;
  /** Queues to work on. @default the turns' and the tools' */
  queues?: readonly string[];
  /** Where it streams what its model writes, and the time before each word. */
  stream?: { url: string; token: string };
  wordMs?: number;
  /** 0: no sticky queue, so that nobody waits 10 s for a worker that was killed. */
  maxCachedWorkflows?: number;
  /** Runs workflows in a thread of their own, as a user's worker does. That takes a quarter of its start. @default false */
  threads?: boolean;
  /** By what its tools name it. @default the process's id */
  pid?: number;
}

/** A worker in a process of its own. */
export interface ProcessWorker {
  pid: number;
  /** Sends a signal; without effect where it is gone. */
  signal(name: NodeJS.Signals): void;
  /** Sends SIGKILL and waits until it is gone. */
  kill(): Promise<void>;
  /** Waits until it is frozen. */
  stopped(): Promise<void>;
  /** Resolves with how it ended: an exit code, or a signal's name. */
  gone: Promise<number | string>;
}

const FIXTURE = join(__dirname, '..', 'fixtures', 'worker.cjs');

/** How turns are written. One burst here lasts until something matters. */
export type Durability = 'step' | 'gate';

export const DURABILITIES: Record<Durability, Pick<FixtureSettings, 'durability'>> = {
  step: {},
  gate: { durability: { durability: 'gate', commitEvery: '1m' } },
};

/** Starts a worker's process; resolves at once, before it works. */
export function spawnWorker(settings: FixtureSettings): ProcessWorker & { ready: Promise<void> } {
  const env = { ...process.env, FIXTURE: JSON.stringify(settings) };
  const child = fork(FIXTURE, { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const gone = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('the worker process could not be started');
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await gone;
  };
  const signal = (name: NodeJS.Signals): void => void child.kill(name);
  return { pid, signal, kill, gone, stopped: () => stopped(pid), ready: readiness(child) };
}

const Message = z.object({ ready: z.literal(true).optional(), failed: z.string().optional() });

function readiness(child: ChildProcess): Promise<void> {
  const ready = new Promise<void>((resolve, reject) => {
    child.once('message', (message) => {
      const { failed } = Message.parse(message);
      if (failed === undefined) resolve();
      else reject(new Error(`the worker did not start: ${failed}`));
    });
    child.once('exit', () => reject(new Error('the worker ended before it was ready')));
  });
  // Whoever kills it while it starts does not wait for it.
  ready.catch(() => undefined);
  return ready;
}

const ask = promisify(execFile);

async function stopped(pid: number): Promise<void> {
  await until(`process ${pid} to be frozen`, async () => {
    const { stdout } = await ask('ps', ['-o', 'state=', '-p', String(pid)]);
    return stdout.trim().startsWith('T');
  });
}

/** Whether a process is there. A zombie counts as gone: it runs nothing. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Waits until no process of a group is left. */
export async function groupGone(pgid: number): Promise<void> {
  await until(`process group ${pgid} to be gone`, () => !isAlive(-pgid));
}
