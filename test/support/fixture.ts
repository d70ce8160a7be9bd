import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, type WorkflowOptions } from '@temporalio/client';
import type { TurnInput, TurnResult } from '../../src/contract/turn';
import type { ScriptedReply } from '../../src/models/scripted';
import { defineConfig, type ConfigOptions } from '../../src/tools/define-config';
import { startWorker, type RunningWorker, type WorkerSettings } from '../../src/worker';
import { spawnWorker, type FixtureSettings, type ProcessWorker } from './process-worker';
import { startOwnServer, testAddress, testBundle, testConnection } from './server';
import { until } from './until';
import { startWorkerHere, WITHOUT_THREADS, type WorkerHere } from './worker-here';

export type TurnHandle = ReturnType<Client['workflow']['getHandle']> & { result(): Promise<TurnResult> };

/** How long a worker has for a workflow task; 10 s without it, and each that fails is waited for so long. */
export type TaskTimeout = Pick<WorkflowOptions, 'workflowTaskTimeout'>;

/** One line of the effects of worker processes: what really happened, whatever a turn says. */
export interface Effect {
  tool: string;
  tag: string;
  key: string;
  pid: number;
}

export interface FixtureOptions extends Partial<ConfigOptions> {
  /** Workers in this process. @default 1 where there are agents */
  workers?: number;
  worker?: Partial<WorkerSettings>;
  /** Another server than that of the test run. */
  address?: string;
  /** Settings of a server that is of this fixture alone, and ends with it. */
  ownServer?: Parameters<typeof startOwnServer>[0];
}

/** A queue, a folder and a Temporal client of one test. Turns are worked on in this process, or by processes that may be killed. */
export interface Fixture {
  address: string;
  taskQueue: string;
  directory: string;
  stateDir: string;
  client: Client;
  /** Starts a turn and returns its handle. */
  start(agent: string, prompt: string, timeouts?: TaskTimeout): Promise<TurnHandle>;
  /** Starts a worker in this process on the same queue and state; its config is that of the options, with `config` over it. */
  addWorker(settings?: Partial<WorkerSettings>, config?: Partial<ConfigOptions>): Promise<RunningWorker>;
  /** Those in this process, in the order of their starts. */
  workers: readonly RunningWorker[];
  /** Starts a worker's process and waits until it works. Without settings: this machine's journal, no sticky queue. */
  addProcess(settings?: Partial<FixtureSettings>): Promise<ProcessWorker>;
  /** Starts the same worker in this process, for tests that stop it only where no call of it runs. */
  addHere(settings?: Partial<FixtureSettings>): Promise<WorkerHere>;
  /** Starts a worker's process that may be killed before it works. */
  spawn(settings?: Partial<FixtureSettings>): ReturnType<typeof spawnWorker>;
  /** A state directory that no other worker has: another machine. */
  otherMachine(): { stateDir: string };
  /** Starts a turn of the agent that worker processes have. It follows these steps, then answers with what the tools said. */
  startSteps(...steps: ScriptedReply[]): Promise<TurnHandle>;
  /** What the tools of worker processes did for a tag. */
  effects(tag: string): Promise<Effect[]>;
  /** Waits until a tag has had so many effects. */
  effectsOf(tag: string, count: number): Promise<Effect[]>;
  /** Lets the tools of worker processes go on that wait with this tag. */
  open(tag: string): Promise<void>;
  /** Waits for the process group that the tool `group` started for a tag. */
  groupOf(tag: string): Promise<number>;
  /** Ends it before the test file does. */
  stop(): Promise<void>;
}

const running: Fixture[] = [];

afterAll(() => Promise.all(running.map((fixture) => fixture.stop())));

/** Starts what a test on a server needs; it ends with the test file. */
export async function startFixture(options: FixtureOptions = {}): Promise<Fixture> {
  const { workers, worker, ownServer, address: named, ...rest } = options;
  const server = ownServer && (await startOwnServer(ownServer));
  const address = server?.address ?? named ?? testAddress();
  const directory = await mkdtemp(join(tmpdir(), 'countersign-test-'));
  const place = {
    address,
    taskQueue: rest.taskQueue ?? `test-${randomUUID()}`,
    directory,
    stateDir: join(directory, 'state'),
  };
  await mkdir(place.stateDir, { mode: 0o700 });
  const connection = await testConnection(address);
  const client = new Client({ connection });
  const inProcess = workersHere(place, rest, worker);
  const processes = workerProcesses(place);
  const start: Fixture['start'] = (agent, prompt, timeouts) =>
    startTurn(client, { taskQueue: place.taskQueue, ...timeouts }, { agent, prompt });
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await Promise.all([inProcess.stop(), processes.stop()]);
    try {
      if (address === testAddress()) await endTurns(place.taskQueue, client);
    } finally {
      await connection.close();
      await server?.stop();
      await rm(directory, { recursive: true, force: true });
    }
  };
  const fixture: Fixture = {
    ...place,
    ...inProcess,
    ...processes,
    client,
    start,
    startSteps: (...steps) => start('crash', JSON.stringify(steps)),
    stop: () => (stopped ??= stop()),
  };
  running.push(fixture);
  for (let n = 0; n < (workers ?? (rest.agents ? 1 : 0)); n++) await fixture.addWorker();
  return fixture;
}

/** Ends what still waits: every page and every list of the tests after this one would read it, over and over. */
async function endTurns(taskQueue: string, { workflow }: Client): Promise<void> {
  const query = `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
  const ids: string[] = [];
  for await (const { workflowId } of workflow.list({ query })) ids.push(workflowId);
  await Promise.allSettled(ids.map((id) => workflow.getHandle(id).terminate()));
}

type Place = Pick<Fixture, 'address' | 'taskQueue' | 'directory' | 'stateDir'>;

function workersHere(
  { address, taskQueue, stateDir }: Place,
  options: Partial<ConfigOptions>,
  settings: Partial<WorkerSettings> = {},
): Pick<Fixture, 'addWorker' | 'workers' | 'stop'> {
  const started: RunningWorker[] = [];
  return {
    workers: started,
    addWorker: async (extra = {}, over = {}) => {
      const { agents = [], ...rest } = { ...options, ...over };
      const worker = await startWorker({
        config: defineConfig({ log: { calls: false }, taskQueue, stateDir, ...rest, agents }),
        address,
        logLevel: 'ERROR',
        workflowBundle: testBundle(),
        ...settings,
        ...extra,
        worker: { ...WITHOUT_THREADS, ...settings.worker, ...extra.worker },
      });
      started.push(worker);
      return worker;
    },
    stop: async () => {
      await Promise.all(started.map((worker) => worker.stop()));
    },
  };
}

function workerProcesses(
  place: Place,
): Pick<
  Fixture,
  'addHere' | 'addProcess' | 'spawn' | 'otherMachine' | 'effects' | 'effectsOf' | 'open' | 'groupOf' | 'stop'
> {
  const { directory } = place;
  const spawned: ProcessWorker[] = [];
  const here: WorkerHere[] = [];
  const spawn: Fixture['spawn'] = (settings) => {
    const worker = spawnWorker({ ...place, maxCachedWorkflows: 0, ...settings });
    spawned.push(worker);
    return worker;
  };
  const read = (name: string): Promise<string> => readFile(join(directory, name), 'utf8').catch(() => '');
  const effects: Fixture['effects'] = async (tag) =>
    (await read('effects'))
      .split('\n')
      .map((line) => line.split(' '))
      .filter((words) => words[1] === tag)
      .map(([tool = '', , key = '', pid]) => ({ tool, tag, key, pid: Number(pid) }));
  return {
    spawn,
    effects,
    addProcess: async (settings) => {
      const worker = spawn(settings);
      await worker.ready;
      return worker;
    },
    addHere: async (settings) => {
      const worker = await startWorkerHere({ ...place, maxCachedWorkflows: 0, ...settings });
      here.push(worker);
      return worker;
    },
    otherMachine: () => ({ stateDir: join(directory, randomUUID()) }),
    effectsOf: (tag, count) =>
      until(`${count} effects of ${tag}`, async () => {
        const found = await effects(tag);
        return found.length >= count && found;
      }),
    open: (tag) => writeFile(join(directory, `go-${tag}`), ''),
    groupOf: (tag) =>
      until(`the process group of ${tag}`, async () => {
        const text = await read(`group-${tag}`);
        return text.endsWith('\n') && Number(text);
      }),
    stop: async () => {
      await Promise.all([...spawned.map((worker) => worker.kill()), ...here.map((worker) => worker.stop())]);
    },
  };
}

async function startTurn(
  client: Client,
  options: TaskTimeout & { taskQueue: string },
  input: TurnInput,
): Promise<TurnHandle> {
  return client.workflow.start<(input: TurnInput) => Promise<TurnResult>>('agentTurn', {
    args: [input],
    ...options,
    workflowId: `test-turn-${randomUUID()}`,
  });
}

/** One step with these calls, each `tool:tag`, for `startSteps`. */
export function calls(...names: string[]): ScriptedReply {
  return {
    toolCalls: names.map((name) => {
      const [tool = '', tag = ''] = name.split(':');
      return { name: tool, arguments: { tag } };
    }),
  };
}
