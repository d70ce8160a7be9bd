import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type Countersign, type StartedTurn } from '../client';
import { defined } from '../history/defined';
import { defineConfig, type ConfigOptions } from '../tools/define-config';
import { startWorker, type RunningWorker } from '../worker';
import type { TestServer } from './server';

/** What a bench is made of: agents, and hooks, a runner or a log where a test needs them. */
export interface BenchOptions extends Omit<ConfigOptions, 'taskQueue' | 'stateDir'> {
  /** From `startTestServer`, or where another server is. */
  server: Pick<TestServer, 'address' | 'namespace'>;
  /** A workflow bundle of one's own, by path. @default the one in this package */
  workflowBundle?: string;
}

/** A worker on a task queue of its own, and a client beside it. */
export interface TestBench {
  readonly client: Countersign;
  readonly taskQueue: string;
  /** Starts a turn of one of the agents. */
  start(agent: string, prompt: string): Promise<StartedTurn>;
  /** Stops the worker as a deploy would, draining it, and starts another one on the same queue. */
  restart(): Promise<void>;
  /** Ends worker and client and removes what they kept. */
  stop(): Promise<void>;
}

/**
 * Starts a worker for these agents, with a queue, a state directory and a client of its own: benches do not disturb each
 * other, so one server is enough for all tests of a run. Calls are not logged unless `log` says so.
 *
 * @throws CountersignError as `startWorker` and `connect`.
 */
export async function startBench({ server, workflowBundle, ...config }: BenchOptions): Promise<TestBench> {
  const { address, namespace } = server;
  const taskQueue = `test-${randomUUID()}`;
  const stateDir = await mkdtemp(join(tmpdir(), 'countersign-bench-'));
  const settings = {
    ...{ address, namespace, logLevel: 'ERROR' as const },
    ...defined({ workflowBundle }),
    config: defineConfig({ log: { calls: false }, ...config, taskQueue, stateDir }),
  };
  let worker: RunningWorker = await startWorker(settings);
  const client = await connect({ address, namespace });
  return {
    client,
    taskQueue,
    start: (agent, prompt) => client.start({ agent, prompt, taskQueue }),
    restart: async () => {
      await worker.stop();
      worker = await startWorker(settings);
    },
    stop: async () => {
      await client.close();
      await worker.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}
