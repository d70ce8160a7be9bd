import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DefaultLogger, Runtime, Worker, type LogLevel, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from './activities';
import { createJournal } from './activities/journal';
import { createMemory } from './activities/memory';
import type { ActivityDeps } from './activities/deps';
import { connectNative, requireAnswer, type NativePlace, type ServerPlace } from './engine/connect-native';
import { loadEncryption, type Encryption, type EncryptionOptions } from './encryption';
import { ENCODES_FAILURES } from './encryption/sandbox-switch';
import { requireNamespace } from './engine/require-namespace';
import { ensureAttributes } from './engine/search-attributes';
import { userStateDir } from './state-dir';
import type { Config } from './tools/define-config';
import { createCallLog, type LineLogger } from './tools/call-log';
import { createExecutor } from './tools/executor';
import { createRegistry } from './tools/registry';
import type { Tool } from './tools/types';

/** What a worker is started with. */
export interface WorkerSettings extends ServerPlace {
  config: Config;
  /** Queues to work on. @default the config's own queue and every queue that a tool of it names */
  queues?: readonly string[];
  /**
   * Where the journal of unsafe calls is; it has to outlive the worker.
   * @default the config's, then `$XDG_STATE_HOME/countersign`, then `~/.local/state/countersign`
   */
  stateDir?: string;
  /** Least level that is written. @default 'WARN' for Temporal's own messages, 'INFO' for the lines about calls */
  logLevel?: LogLevel;
  /** Workflows kept in memory. @default the SDK's own measure of this machine */
  maxCachedWorkflows?: number;
  /** Keys that encrypt what Temporal keeps. @default those of `COUNTERSIGN_ENCRYPTION_*`; without any nothing is encrypted */
  encryption?: EncryptionOptions;
  /** Path of a prebuilt workflow bundle. @default the one in this package */
  workflowBundle?: string;
}

/** A worker that runs. */
export interface RunningWorker {
  taskQueue: string;
  queues: readonly string[];
  address: string;
  namespace: string;
  /** Drains: takes nothing new, waits for what runs (up to 10 s, then cancels it), closes the connection. */
  stop(): Promise<void>;
  /** Rejects when the worker fails; resolves when it has stopped. */
  done: Promise<void>;
}

/**
 * Starts a worker: registers missing search attributes, then takes turns and calls until `stop`.
 *
 * @throws CountersignError `no_server` (after some ten seconds where nothing comes back), `namespace_missing`, `attributes_missing`, `encryption_invalid`, or `config_invalid` for a queue nobody has.
 */
export async function startWorker(settings: WorkerSettings): Promise<RunningWorker> {
  const encryption = loadEncryption(settings.encryption);
  // Before the runtime is there, which would keep the process alive: settings that cannot be read, a server that is silent.
  await requireAnswer(settings);
  quietRuntime(settings.logLevel ?? 'WARN');
  const place = await connectNative(settings);
  try {
    return await startAt(place, settings, encryption);
  } catch (error) {
    // An open connection keeps the process alive. Where it cannot be closed the first error is the one to tell.
    await place.connection.close().catch(() => undefined);
    throw error;
  }
}

async function startAt(
  place: NativePlace,
  settings: WorkerSettings,
  encryption: ReturnType<typeof loadEncryption>,
): Promise<RunningWorker> {
  await requireNamespace(place.connection, place.namespace);
  await ensureAttributes(place);
  const { config } = settings;
  const queues = settings.queues ?? queuesOf(config);
  const shared = { ...(await makeShared(settings)), encryption };
  const workers = await Promise.all(
    queues.map((queue) => Worker.create(workerOptions(settings, place, { ...shared, queue }))),
  );
  return runAll(workers, place, { taskQueue: config.taskQueue, queues });
}

/** The SDK's core logs once a process; a runtime that is there already keeps its own settings. */
function quietRuntime(level: LogLevel): void {
  if (Runtime._instance !== undefined) return;
  const logging = { filter: { core: level, other: level }, forward: {} };
  Runtime.install({ logger: new DefaultLogger(level), telemetryOptions: { logging } });
}

/** The config's own queue, and one for each tool that names another. */
function queuesOf(config: Config): string[] {
  const named = toolsOf(config).map((tool) => tool.taskQueue ?? config.taskQueue);
  return [...new Set([config.taskQueue, ...named])];
}

function toolsOf(config: Config): Tool[] {
  return config.agents.flatMap((agent) => agent.registry.list());
}

/** What the workers of one process have in common, and the queue that tells them apart. */
type Shared = Pick<ActivityDeps, 'memory' | 'journal' | 'log'> & {
  callLogger: LineLogger;
  encryption: Encryption;
  queue: string;
};

async function makeShared({
  config,
  stateDir,
  logLevel,
}: WorkerSettings): Promise<Omit<Shared, 'queue' | 'encryption'>> {
  // One place for all workers of a user: a second start has to be seen wherever the first one was made.
  const journal = createJournal(join(stateDir ?? config.stateDir ?? userStateDir(), 'journal'));
  await journal.prune();
  const callLogger = new DefaultLogger(logLevel ?? 'INFO');
  return { memory: createMemory(), journal, log: Runtime.instance().logger, callLogger };
}

function workerOptions(settings: WorkerSettings, place: NativePlace, shared: Shared): WorkerOptions {
  const { maxCachedWorkflows } = settings;
  return {
    connection: place.connection,
    namespace: place.namespace,
    taskQueue: shared.queue,
    dataConverter: shared.encryption.worker(),
    activities: createActivities(activityDeps(settings.config, shared)),
    ...(shared.queue === settings.config.taskQueue
      ? workflowSource(settings.workflowBundle, shared.encryption)
      : {}),
    // A cancellation reaches a call with the answer to its heartbeat, so beats must not be held back for long.
    maxHeartbeatThrottleInterval: '2s',
    defaultHeartbeatThrottleInterval: '2s',
    shutdownGraceTime: '10s',
    shutdownForceTime: '30s',
    ...(maxCachedWorkflows === undefined ? {} : { maxCachedWorkflows }),
  };
}

/** The bundle that the build made; without one (running from sources) it is bundled now. */
function workflowSource(
  bundle = join(__dirname, 'workflow-bundle.js'),
  { enabled }: Encryption,
): Partial<WorkerOptions> {
  if (existsSync(bundle) && enabled)
    return { workflowBundle: { code: `${ENCODES_FAILURES}${readFileSync(bundle, 'utf8')}` } };
  if (existsSync(bundle)) return { workflowBundle: { codePath: bundle } };
  return { workflowsPath: require.resolve('./workflows') };
}

function activityDeps(config: Config, { queue, memory, journal, log, callLogger }: Shared): ActivityDeps {
  const own = toolsOf(config).filter((tool) => (tool.taskQueue ?? config.taskQueue) === queue);
  const toolNames = new Set(own.map((tool) => tool.name));
  const executor = createExecutor({
    // Activities bring the tool of their own agent; the executor looks none up.
    registry: createRegistry([]),
    log: createCallLog(callLogger, config.log),
    hooks: config.hooks,
    runner: config.runner,
  });
  const agents = new Map(config.agents.map((agent) => [agent.name, agent]));
  return { agents, toolNames, taskQueue: queue, executor, memory, journal, log };
}

function runAll(
  workers: readonly Worker[],
  { connection, address, namespace }: NativePlace,
  about: Pick<RunningWorker, 'taskQueue' | 'queues'>,
): RunningWorker {
  const stopAll = (): void => {
    for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
  };
  const done = Promise.all(workers.map((worker) => worker.run()))
    .finally(stopAll)
    .then(() => connection.close());
  const stop = async (): Promise<void> => {
    stopAll();
    await done;
  };
  return { ...about, address, namespace, stop, done };
}
