import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { z } from 'zod';

const JITI = join(__dirname, '..', 'node_modules', 'jiti', 'lib', 'jiti-cli.mjs');

/** Whose worker: see ./subjects.ts. */
export type Side = 'ours' | 'baseline';

const Measured = z.object({ held: z.number(), rss: z.number(), longestMs: z.number() });

/**
 * Megabytes: `held` is what the heaps hold without garbage, `rss` is what the process has of the machine. `longestMs` is
 * what the longest activation of a workflow took so far.
 */
export type Measured = z.infer<typeof Measured>;

/** A worker in a process of its own. */
export interface WorkerProcess {
  pid: number;
  measure(): Promise<Measured>;
  /** Whether it still runs. */
  isAlive(): boolean;
  /** Rejects when it ends without being killed from here. */
  died: Promise<never>;
  kill(): Promise<void>;
}

/** Where an operator sees what one of ours does. */
export interface Sight {
  /** Where Prometheus reads. */
  metrics: string;
  /** The collector that takes its spans. */
  traces: string;
}

/** Starts one and waits until it works. */
export async function startProcess(side: Side, address: string, sight?: Sight): Promise<WorkerProcess> {
  const place = sight === undefined ? [] : [sight.metrics, sight.traces];
  return startScript(join(__dirname, 'worker-process.ts'), [side, address, ...place]);
}

/** Starts a script that says when it works, and what it is measured at. */
export async function startScript(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<WorkerProcess> {
  const child = fork(script, args, {
    env: { ...process.env, ...env },
    execArgv: ['--expose-gc', '--require', join(__dirname, 'thread-probe.cjs'), JITI],
  });
  let wasKilled = false;
  const died = new Promise<never>((_, reject) => {
    child.once('exit', (code, signal) => {
      if (!wasKilled) reject(new Error(`a worker of the bench ended with ${String(signal ?? code)}`));
    });
  });
  // It may end while nobody waits for it.
  died.catch(() => undefined);
  const message = async (): Promise<unknown> => {
    const [received]: unknown[] = await Promise.race([once(child, 'message'), died]);
    return received;
  };
  await message();
  const isAlive = (): boolean => child.exitCode === null && child.signalCode === null;
  return {
    pid: child.pid ?? 0,
    isAlive,
    died,
    measure: async () => {
      child.send('measure');
      return Measured.parse(await message());
    },
    kill: async () => {
      if (!isAlive()) return;
      wasKilled = true;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}
