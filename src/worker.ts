import { Client, type ConnectionLike } from '@temporalio/client';
import { DefaultLogger, Runtime, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from './activities';
import { startControl } from './authority/pauses/client';
import { workersOf } from './client/pollers';
import { errorMessage } from './contract/errors';
import { LIMITS, TIMES } from './contract/limits';
import { CONTROL } from './contract/names';
import { escapeHidden } from './contract/text/unsafe-text';
import { connectNative, type NativePlace, requireAnswer, requireNamespace } from './engine/connect-native';
import { type Encryption, loadEncryption } from './encryption/load';
import { ensureAttributes, missingAttributes } from './engine/search-attributes';
import { hasRuntime } from './history/replay/sdk-internals';
import { createWorkers, explainFrozen, runWorkers } from './worker/run-workers';
import { requireOneSdk } from './worker/sdk-copies';
import { type Config, queuesOf, statefulTools } from './tools/define-config';
import type { OpenConfig } from './tools/mcp';
import {
  activityDeps,
  converterOf,
  type LentTools,
  makeShared,
  openTools,
  type Shared,
  TIMING,
  workerOptions,
} from './worker/options';
import { openHealth } from './worker/health';
import type { ServerPlace } from './system/temporal-settings';
import type { TurnWorkerSettings } from './worker/settings';
import { metricsExporter, metricsFailed } from './worker/metrics';
import { identityOn } from './worker/build-id-and-identity';
import { whenForgotten } from './worker/lost-data';
import { toolSetIn } from './contract/worker-name';

/** The settings of a worker that `startWorker` starts. */
export interface WorkerSettings extends ServerPlace, TurnWorkerSettings {
  /** The task queues to work on. @default the config's own queue and every queue that a tool of it names */
  queues?: readonly string[];
  /**
   * Called with a line about workers with other agents or tools on the same task queue, or about an MCP server.
   * @default it goes to the log
   */
  warn?: (line: string) => void;
  /**
   * Where Temporal's own metrics and ours go: `host:port` for Prometheus, or the address of an OpenTelemetry collector.
   * @default the config's
   */
  metrics?: string;
  /** The address (`host:port`) at which `/health` and `/ready` are served. @default none */
  health?: string;
}

/** A worker that runs. */
export interface RunningWorker {
  taskQueue: string;
  queues: readonly string[];
  address: string;
  namespace: string;
  /** The config in use: its agents have the allowed tools of the MCP servers. */
  config: Config;
  /** SHA-256 of its approvers file when it started. Absent: it has none, so anybody may decide. */
  approvers?: string;
  /**
   * Drains the worker. It takes nothing new, waits up to 10 s for what runs and then cancels that, and closes the
   * connection. Rejects as `done` does.
   */
  stop(): Promise<void>;
  /**
   * Resolves when the worker has stopped. Rejects with CountersignError `failed` when the worker failed, at most
   * some 12 s after the first failure. By then everything is closed or cannot be closed, so end the process.
   */
  done: Promise<void>;
}

/**
 * Starts a worker: registers missing search attributes, then takes turns and calls until `stop`. `lent`: the process has
 * the tools open already, and closes them itself.
 *
 * @throws CountersignError `not_installed`, `no_server` (after some ten seconds if nothing comes back),
 * `not_ready`, `config_invalid`, also for a queue that no agent or tool has and for an address that cannot be opened.
 */
export async function startWorker(settings: WorkerSettings, lent?: LentTools): Promise<RunningWorker> {
  requireOneSdk();
  // Keys are read before the network is tried, because wrong keys can be found without a server.
  const encryption = loadEncryption(settings.encryption);
  // The server is checked before the runtime exists, because a runtime keeps the process alive.
  await requireAnswer(settings);
  installRuntime(settings);
  const place = await connectNative(settings);
  try {
    return await startAt(place, settings, { encryption, lent });
  } catch (error) {
    // An open connection keeps the process alive. If closing fails, too, the first error matters more.
    await place.connection.close().catch(() => undefined);
    throw explainFrozen(error);
  }
}

async function startAt(
  place: NativePlace,
  settings: WorkerSettings,
  { encryption, lent }: { encryption: Encryption; lent: LentTools | undefined },
): Promise<RunningWorker> {
  await requireNamespace(place.connection, place.namespace);
  await ensureAttributes(place);
  const queues = settings.queues ?? queuesOf(settings.config);
  const shared = await makeShared(settings, encryption, lent);
  const { warn = (line) => shared.log.warn(line) } = settings;
  const tools = lent?.open ?? (await openTools({ ...settings, queues, warn }, shared));
  try {
    return await startWith({ ...settings, queues, warn }, { place, shared, tools });
  } catch (error) {
    shared.news?.close();
    await tools.close();
    throw error;
  }
}

interface Opened {
  place: NativePlace;
  shared: Shared;
  tools: OpenConfig;
}

async function startWith(
  settings: WorkerSettings & Required<Pick<WorkerSettings, 'queues' | 'warn'>>,
  { place, shared, tools }: Opened,
): Promise<RunningWorker> {
  const { queues, warn } = settings;
  const { config } = tools;
  const { connection, address, namespace } = place;
  const options = await Promise.all(
    queues.map((taskQueue) =>
      workerOptions({ ...settings, config }, { connection, namespace, taskQueue }, shared),
    ),
  );
  const holder = holderOptions(config, { connection, namespace, queues }, shared);
  const control = controlOptions(config, options, shared);
  const workers = await createWorkers(
    [...options, ...[holder, control].filter((one) => one !== undefined)],
    shared.log,
  );
  await ensureControl(place, shared, warn);
  const newcomers = queues.map((queue) => ({
    queue,
    identity: identityOn(config, queue),
    isMain: queue === config.taskQueue,
  }));
  await warnOfOtherWorkers(newcomers, { connection, namespace, warn });
  const { health } = settings;
  const probes =
    health === undefined ? undefined : await openHealth(health, workers, { connection, ...shared });
  const stopLooking = whenForgotten({
    look: () => missingAttributes(place),
    setUp: async () => {
      await ensureAttributes(place);
      await ensureControl(place, shared, warn);
    },
    warn,
  });
  const close = async (): Promise<void> => {
    stopLooking();
    shared.news?.close();
    await Promise.all([tools.close(), connection.close(), probes?.close()]);
  };
  const running = runWorkers({ workers, close, log: shared.log });
  const file = { approvers: (await shared.approvers?.current())?.digest };
  return { taskQueue: config.taskQueue, queues, address, namespace, config, ...file, ...running };
}

/**
 * The number of polls. This worker takes the calls one by one as they come, so the SDK's five polls would only cost the
 * server more.
 */
const HOLDER_POLLS = 2;

/**
 * The options of the worker whose task queue belongs to this process alone. This worker takes the calls whose state
 * this process holds. Undefined if no tool of these task queues has state.
 */
function holderOptions(
  config: Config,
  { queues, ...server }: Pick<WorkerOptions, 'connection' | 'namespace'> & { queues: readonly string[] },
  shared: Shared,
): WorkerOptions | undefined {
  const tools = statefulTools(config, queues);
  if (tools.length === 0) return undefined;
  const taskQueue = shared.holderQueue;
  // The worker has no build, because its task queue belongs to this process, and calls of turns on other builds must
  // reach it, too.
  return {
    ...TIMING,
    ...server,
    taskQueue,
    maxConcurrentActivityTaskPolls: HOLDER_POLLS,
    identity: identityOn(config, taskQueue),
    dataConverter: converterOf(shared),
    activities: createActivities(activityDeps(config, { queue: taskQueue, tools }, shared)),
  };
}

/**
 * The options of the worker for the workflows that hold the pauses and the grants. Every process that takes turns has
 * such a worker, so that a person who pauses something always gets an answer. It has no build, so any worker answers,
 * also while the current build cannot start. If a worker dies, another takes its task after a second.
 */
function controlOptions(
  config: Config,
  options: readonly WorkerOptions[],
  shared: Shared,
): WorkerOptions | undefined {
  const main = options.find(({ taskQueue }) => taskQueue === config.taskQueue);
  if (main?.workflowBundle === undefined) return undefined;
  const { connection, namespace, workflowBundle } = main;
  return {
    ...TIMING,
    connection,
    namespace,
    taskQueue: CONTROL.taskQueue,
    identity: identityOn(config, CONTROL.taskQueue),
    dataConverter: converterOf(shared),
    workflowBundle,
    maxCachedWorkflows: LIMITS.grants,
    stickyQueueScheduleToStartTimeout: '1s',
    maxConcurrentWorkflowTaskPolls: 2,
    // No task comes for these activities. But without any activity, the SDK writes a warning into every log.
    activities: createActivities(activityDeps(config, { queue: CONTROL.taskQueue, tools: [] }, shared)),
    maxConcurrentActivityTaskPolls: 1,
  };
}

/** Starts the workflow that holds the pauses. */
async function ensureControl(
  { connection, namespace }: NativePlace,
  { encryption }: Shared,
  warn: (line: string) => void,
): Promise<void> {
  const client = new Client({ connection, namespace, dataConverter: encryption.client() });
  try {
    await client.withDeadline(Date.now() + TIMES.updateAnswer, () => startControl(client));
  } catch (error) {
    warn(`nothing can be paused: ${CONTROL.workflowId} could not be started: ${shown(errorMessage(error))}`);
  }
}

/** Where the metrics of this process's runtime go. Undefined if the runtime is not ours. */
let metricsPlace: string | undefined;

/**
 * Installs the runtime. The SDK's core has one log and one set of metrics for each process. An existing runtime keeps
 * its own settings.
 */
function installRuntime({ logLevel = 'WARN', config, metrics = config.metrics, warn }: WorkerSettings): void {
  const exporter = metrics === undefined ? undefined : metricsExporter(metrics);
  if (hasRuntime()) {
    if (metrics !== undefined && metrics !== metricsPlace)
      (warn ?? ((line) => Runtime.instance().logger.warn(line)))(
        `no metrics at ${shown(metrics)}: this process has a runtime of Temporal's SDK, which keeps its own settings`,
      );
    return;
  }
  const logging = { filter: { core: logLevel, other: logLevel }, forward: {} };
  try {
    Runtime.install({
      logger: new DefaultLogger(logLevel),
      telemetryOptions: { logging, metrics: exporter },
      // This decides how soon `doctor` knows which agents a worker has.
      workerHeartbeatInterval: '10s',
    });
  } catch (error) {
    throw metrics === undefined ? error : metricsFailed(metrics, error);
  }
  metricsPlace = metrics;
}

/** A worker that starts on a task queue. */
interface StartingWorker {
  queue: string;
  identity: string;
  /** Whether the worker also takes turns from the task queue, and not only calls. */
  isMain: boolean;
}

/** The server of the workers, and the function for warnings about them. */
interface WarningOptions {
  connection: ConnectionLike;
  namespace: string;
  warn(line: string): void;
}

/** The longest time that a worker waits for a mere warning, in milliseconds. */
const ASK_MS = 2_000;

/** The most workers that a warning names. */
const MOST_NAMED = 3;

/**
 * Warns if a task queue has workers with other agents or tools. A task may go to any of these workers, and a wrong
 * worker costs time. This is only a warning, so a worker starts even when the server cannot answer.
 */
export async function warnOfOtherWorkers(
  starting: readonly StartingWorker[],
  { connection, namespace, warn }: WarningOptions,
): Promise<void> {
  const lines = starting.map(async ({ queue, identity, isMain }) => {
    try {
      const half = isMain ? 'turns' : 'activities';
      const there = await connection.withDeadline(Date.now() + ASK_MS, () =>
        workersOf(connection, namespace, { name: queue, half }),
      );
      const set = toolSetIn(identity);
      const others = there.flatMap((one) => (toolSetIn(one.identity) === set ? [] : one.identity));
      return lineOf(queue, others);
    } catch (error) {
      return `the other workers of queue ${shown(queue)} could not be listed: ${shown(String(error))}`;
    }
  });
  for (const line of await Promise.all(lines)) if (line !== undefined) warn(line);
}

function lineOf(queue: string, others: readonly string[]): string | undefined {
  if (others.length === 0) return undefined;
  const named = others.slice(0, MOST_NAMED).map(shown).join(', ');
  const more = others.length > MOST_NAMED ? ` and ${others.length - MOST_NAMED} more` : '';
  return (
    `queue ${shown(queue)} has workers with other agents or tools: ${named}${more}. ` +
    'That is fine during a deploy; unrelated agents need queues of their own.'
  );
}

/** A name for a log line. It is escaped, because any poller can choose its own name. */
function shown(name: string): string {
  return escapeHidden(JSON.stringify(name.slice(0, 200)));
}
