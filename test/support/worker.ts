import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import type { TurnInput, TurnResult } from '../../src/contract/turn';
import { defineConfig, type ConfigOptions } from '../../src/tools/define-config';
import { startWorker, type RunningWorker, type WorkerSettings } from '../../src/worker';
import { testAddress, testBundle } from './server';

/** A worker of one test on a queue of its own, and a plain Temporal client beside it. */
export interface TestBench {
  taskQueue: string;
  stateDir: string;
  client: Client;
  /** Starts a turn and returns its handle. */
  start(agent: string, prompt: string): Promise<TurnHandle>;
  /** Starts another worker on the same queue and state. */
  addWorker(extra?: Partial<WorkerSettings>): Promise<RunningWorker>;
  stop(): Promise<void>;
}

export type TurnHandle = ReturnType<Client['workflow']['getHandle']> & { result(): Promise<TurnResult> };

/** Starts a worker for these agents. `workers: 0` starts none; `address`: another server than that of the test run. */
export async function startBench(
  options: ConfigOptions & { workers?: number; worker?: Partial<WorkerSettings>; address?: string },
): Promise<TestBench> {
  const { workers = 1, worker = {}, address = testAddress(), ...rest } = options;
  const taskQueue = rest.taskQueue ?? `test-${randomUUID()}`;
  const stateDir = await mkdtemp(join(tmpdir(), 'countersign-test-'));
  const config = defineConfig({ log: { calls: false }, ...rest, taskQueue, stateDir });
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  const running: RunningWorker[] = [];
  const addWorker = async (extra: Partial<WorkerSettings> = {}): Promise<RunningWorker> => {
    const started = await startWorker({
      config,
      address,
      logLevel: 'ERROR',
      workflowBundle: testBundle(),
      ...worker,
      ...extra,
    });
    running.push(started);
    return started;
  };
  for (let n = 0; n < workers; n++) await addWorker();
  return {
    taskQueue,
    stateDir,
    client,
    addWorker,
    start: (agent, prompt) => startTurn(client, taskQueue, { agent, prompt }),
    stop: async () => {
      await Promise.all(running.map((one) => one.stop()));
      await connection.close();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

async function startTurn(client: Client, taskQueue: string, input: TurnInput): Promise<TurnHandle> {
  return client.workflow.start<(input: TurnInput) => Promise<TurnResult>>('agentTurn', {
    args: [input],
    taskQueue,
    workflowId: `test-turn-${randomUUID()}`,
  });
}

/** Waits until `look` gives something; fails after 30 s with what it waited for. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (Date.now() > deadline) throw new Error(`waited 30 s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}
