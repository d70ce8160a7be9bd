import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { TurnInput, TurnResult } from '../../src/contract/turn';
import type { ScriptedReply } from '../../src/models/scripted';
import { spawnWorker, type FixtureSettings, type ProcessWorker } from './process-worker';
import { testAddress } from './server';
import { until, type TurnHandle } from './worker';

/** One line of the effects: what really happened, whatever a turn says. */
export interface Effect {
  tool: string;
  tag: string;
  key: string;
  pid: number;
}

/** Turns on a queue of their own, worked on by processes that may be killed. */
export interface FaultBench {
  client: Client;
  taskQueue: string;
  directory: string;
  /** Starts a worker's process and waits until it works. Without settings: this machine's journal, no sticky queue. */
  worker(settings?: Partial<FixtureSettings>): Promise<ProcessWorker>;
  /** Starts a worker's process that may be killed before it works. */
  spawn(settings?: Partial<FixtureSettings>): ReturnType<typeof spawnWorker>;
  /** A state directory that no other worker has: another machine. */
  otherMachine(): { stateDir: string };
  /** Starts a turn whose model follows these steps and then answers with what the tools said. */
  start(...steps: ScriptedReply[]): Promise<TurnHandle>;
  effects(tag: string): Promise<Effect[]>;
  /** Waits until a tag has had so many effects. */
  effectsOf(tag: string, count: number): Promise<Effect[]>;
  /** Lets the tools go on that wait with this tag. */
  open(tag: string): Promise<void>;
  stop(): Promise<void>;
}

/** Makes a bench; nothing works until a worker is started. `address`: of the server, for workers and clients both. */
export async function faultBench(address = testAddress()): Promise<FaultBench> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-fault-'));
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  const taskQueue = `fault-${randomUUID()}`;
  const defaults = {
    address,
    taskQueue,
    directory,
    stateDir: join(directory, 'state'),
    maxCachedWorkflows: 0,
  };
  const spawned: ProcessWorker[] = [];
  const spawn: FaultBench['spawn'] = (settings) => {
    const worker = spawnWorker({ ...defaults, ...settings });
    spawned.push(worker);
    return worker;
  };
  const effects = (tag: string): Promise<Effect[]> => readEffects(join(directory, 'effects'), tag);
  return {
    client,
    taskQueue,
    directory,
    spawn,
    effects,
    worker: async (settings) => {
      const worker = spawn(settings);
      await worker.ready;
      return worker;
    },
    otherMachine: () => ({ stateDir: join(directory, randomUUID()) }),
    start: (...steps) => startTurn(client, taskQueue, { agent: 'crash', prompt: JSON.stringify(steps) }),
    effectsOf: (tag, count) =>
      until(`${count} effects of ${tag}`, async () => {
        const found = await effects(tag);
        return found.length >= count && found;
      }),
    open: (tag) => writeFile(join(directory, `go-${tag}`), ''),
    stop: async () => {
      await Promise.all(spawned.map((worker) => worker.kill()));
      await connection.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Benches of one test file; all end with it. */
export function useFaultBenches(): (address?: string) => Promise<FaultBench> {
  const benches: FaultBench[] = [];
  afterAll(() => Promise.all(benches.map((bench) => bench.stop())));
  return async (address) => {
    const bench = await faultBench(address);
    benches.push(bench);
    return bench;
  };
}

async function readEffects(file: string, tag: string): Promise<Effect[]> {
  const text = await readFile(file, 'utf8').catch(() => '');
  return text
    .split('\n')
    .map((line) => line.split(' '))
    .filter((words) => words[1] === tag)
    .map(([tool = '', , key = '', pid]) => ({ tool, tag, key, pid: Number(pid) }));
}

/** Starts a turn on a queue. */
export async function startTurn(client: Client, taskQueue: string, input: TurnInput): Promise<TurnHandle> {
  return client.workflow.start<(input: TurnInput) => Promise<TurnResult>>('agentTurn', {
    args: [input],
    taskQueue,
    workflowId: `fault-turn-${randomUUID()}`,
  });
}

/** One step with these calls, each `tool:tag`. */
export function calls(...names: string[]): ScriptedReply {
  return {
    toolCalls: names.map((name) => {
      const [tool = '', tag = ''] = name.split(':');
      return { name: tool, arguments: { tag } };
    }),
  };
}

/** The process group that the tool `group` started for a tag. */
export function groupOf(bench: FaultBench, tag: string): Promise<number> {
  return until(`the process group of ${tag}`, async () => {
    const text = await readFile(join(bench.directory, `group-${tag}`), 'utf8').catch(() => '');
    return text.endsWith('\n') && Number(text);
  });
}

/** How often an activity of this type was scheduled in a turn's current run, and what runs or waits to run now. */
export async function attemptsOf(
  handle: TurnHandle,
  type: string,
): Promise<{ scheduled: number; pending: number }> {
  const events = (await handle.fetchHistory()).events ?? [];
  const scheduled = events.filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === type,
  ).length;
  const { pendingActivities } = (await handle.describe()).raw;
  const pending = (pendingActivities ?? []).filter((one) => one.activityType?.name === type).length;
  return { scheduled, pending };
}
