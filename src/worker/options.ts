import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import {
  DefaultLogger,
  type Logger,
  Runtime,
  type WorkerOptions,
  type WorkerPlugin,
} from '@temporalio/worker';
import { createActivities, type Activities } from '../activities';
import { createGiveBacks } from '../activities/given-back';
import { createJournal, journalFolder } from '../activities/journal';
import { createMemory } from '../activities/conversation';
import type { ActivityDeps } from '../activities/deps';
import { openRules } from '../authority/rules/worker-verdict';
import { createGrantsReader, listOpenGrants } from '../authority/grants/worker-claim';
import { createPausesReader, lookAtControl } from '../authority/pauses/worker-hold';
import type { Observe } from '../activities/observed';
import { observing } from '../activities/spans';
import { createTextStreams } from '../activities/text-streams';
import { bundleCode, LENIENT_CONVERTER } from './bundle-workflows';
import { startControl } from '../authority/pauses/client';
import { streamSender } from '../client/streamed-text';
import { defined } from '../contract/defined';
import { CountersignError } from '../contract/errors';
import { type Encryption, loadEncryption } from '../encryption/load';
import { holderQueue } from '../contract/names';
import { formatTools } from '../contract/worker-tools';
import { deploymentOptions, digestsOf, identityOn } from './build-id-and-identity';
import { ENCODES_FAILURES } from '../encryption/bundle-converters';
import { hasGate, withGateWorker } from './gate-bundle';
import { requireOneSdk } from './sdk-copies';
import { InboxNews } from '../client/stream-news';
import { createMetrics } from './metrics';
import type { TurnWorkerSettings } from './settings';
import { hasOwnSlots, makeTuner } from './slots';
import { openFileStore } from '../store';
import { requireModels } from '../models/providers';
import { type Config, statefulTools, toolsOf } from '../tools/define-config';
import { type CallLog, createCallLog } from '../tools/call-log';
import { type OpenConfig, openConfig } from '../tools/mcp';
import { createSecrets, type Secrets } from '../tools/secrets';
import type { Tool } from '../tools/types';
import { openTraces } from '../system/traces';
import { agentPlugin, approversPlugin } from '../contract/worker-name';

/** The settings of a worker that you make yourself: its connection, and what it does apart from turns. */
export interface CreateWorkerOptions extends Omit<TurnWorkerSettings, 'logLevel'> {
  connection: NonNullable<WorkerOptions['connection']>;
  /** @default 'default' */
  namespace?: string;
  /** @default the config's own; another is for calls of tools that name it */
  taskQueue?: string;
}

/**
 * The options for Temporal's own `Worker.create`, for cases where `startWorker` does not fit. The worker runs turns,
 * their calls, and what `worker` adds. The namespace must have the search attributes, which `countersign doctor --setup`
 * registers.
 *
 * @throws CountersignError `not_installed`; `config_invalid`, also if an activity has the name of one of ours, a bundle
 * cannot be read, or a tool has state, which needs the second worker that only `startWorker` starts.
 * @example
 * const connection = await NativeConnection.connect();
 * const own = { workflowsPath: require.resolve('./workflows'), activities };
 * const worker = await Worker.create(await createWorkerOptions({ config, connection, worker: own }));
 * await worker.run();
 */
export async function createWorkerOptions({
  connection,
  namespace = 'default',
  ...settings
}: CreateWorkerOptions): Promise<WorkerOptions> {
  requireOneSdk();
  const { taskQueue = settings.config.taskQueue } = settings;
  const shared = await makeShared(settings, loadEncryption(settings.encryption));
  const { config, close } = await openTools({ ...settings, queues: [taskQueue] }, shared);
  try {
    requireNoState(config, taskQueue);
    const place = { connection, namespace, taskQueue };
    const options = await workerOptions({ ...settings, config }, place, shared);
    const closeAll = async () => {
      shared.news?.close();
      await close();
    };
    return { ...options, plugins: [...(options.plugins ?? []), closingPlugin(closeAll)] };
  } catch (error) {
    await close();
    throw error;
  }
}

function requireNoState(config: Config, taskQueue: string) {
  const [first] = statefulTools(config, [taskQueue]);
  if (first === undefined) return;
  throw new CountersignError(
    'config_invalid',
    `the tool ${first.name} has state of a ${first.state}`,
    'Start the worker with `startWorker`: calls that share state need a second queue, which one worker cannot poll.',
  );
}

/** A plugin that closes what a worker opened, once the worker has ended. */
function closingPlugin(close: () => Promise<void>): WorkerPlugin {
  return {
    name: 'countersign.close',
    async runWorker(worker, next) {
      try {
        await next(worker);
      } finally {
        await close();
      }
    },
  };
}

/** The tools to open, and the function for lines about them. */
interface Opening {
  config: Config;
  queues: readonly string[];
  warn?: (line: string) => void;
}

/**
 * Gives the agents the tools of the config's MCP servers. Their calls run only on the config's own task queue, so a
 * worker without that queue starts none of the servers.
 */
export function openTools(
  { config, queues, warn }: Opening,
  { secrets, callLog }: Shared,
): Promise<OpenConfig> {
  if (!queues.includes(config.taskQueue)) return Promise.resolve({ config, close: () => Promise.resolve() });
  const tell = warn ?? ((line: string) => callLog.warn(line));
  return openConfig(config, { secrets, warn: (line) => tell(secrets.hide(line)) });
}

type OfQueue = 'agents' | 'toolNames' | 'taskQueue' | 'pricing' | 'agentWaitMs' | 'run' | 'observe';

export type Shared = Omit<ActivityDeps, OfQueue> & {
  metrics: ReturnType<typeof createMetrics>;
  callLog: CallLog;
  secrets: Secrets;
  encryption: Encryption;
  /** Sends the web inbox the names of turns that have changed. Undefined: no web inbox is configured. */
  news?: InboxNews;
};

/** What this process has open already: tools, the secrets that they hand out, and the rules. */
export interface LentTools {
  open: OpenConfig;
  secrets: Secrets;
  rules: Pick<ActivityDeps, 'approvers' | 'rules'>;
}

/** The resources that the workers of one process share. */
export async function makeShared(
  { config, stateDir, logLevel, stream }: TurnWorkerSettings,
  encryption: Encryption,
  given?: Partial<LentTools>,
): Promise<Shared> {
  const sender = streamSender(stream);
  // All workers of a user share one folder, so that each knows which calls another worker started.
  const directory = journalFolder(stateDir ?? config.stateDir);
  const metrics = createMetrics(Runtime.instance().metricMeter);
  const callLog = createCallLog(new DefaultLogger(logLevel ?? 'INFO'), config.log);
  const authority = given?.rules ?? (await openRules(config, callLog));
  // All task queues share the secrets, because a value that was given to one call may appear in the output of another.
  const secrets = given?.secrets ?? createSecrets(config.secrets, (message) => callLog.warn(message));
  const log = Runtime.instance().logger;
  const onFault = (why: string | undefined) => tellOfJournal(log, { directory, why });
  const sealer = encryption.sealer();
  const journal = metrics.watchJournal(createJournal(directory, sealer, onFault));
  // A worker whose journal fails from the start says so now, and not only at its first unsafe call.
  await journal.fault();
  const texts = createTextStreams({ send: sender?.text, secrets, log: callLog });
  const news = sender?.news && new InboxNews(sender.news, callLog);
  const files = openFileStore(config.files, { sealer: encryption.fileSealer() });
  const traces = await openTraces({ hasContent: config.traces.content });
  const listing = encryption.listing();
  return {
    memory: createMemory(),
    holderQueue: holderQueue({ pid: process.pid, host: hostname() }, randomUUID()),
    texts,
    journal,
    log,
    metrics,
    callLog,
    secrets,
    encryption,
    files,
    traces,
    news,
    ...authority,
    giveBacks: sealer && createGiveBacks(sealer),
    pauses: createPausesReader({
      look: () => lookAtControl(startControl),
      warn: (line) => log.warn(line),
    }),
    grants: createGrantsReader({ list: () => listOpenGrants(listing) }),
  };
}

function tellOfJournal(log: Logger, { directory, why }: { directory: string; why: string | undefined }) {
  if (why === undefined) log.warn(`the journal in ${directory} works again; unsafe calls run here`);
  else log.error(`the journal in ${directory} fails, so unsafe calls are left to other workers: ${why}`);
}

/**
 * Timing of a worker. A cancellation reaches a call with the answer to its heartbeat, so heartbeats must not be held
 * back for long.
 */
export const TIMING = {
  maxHeartbeatThrottleInterval: '2s',
  defaultHeartbeatThrottleInterval: '2s',
  shutdownGraceTime: '10s',
  shutdownForceTime: '30s',
} as const;

/** The converter that encodes and decodes everything that a worker exchanges with the server. */
export function converterOf({ encryption }: Shared): NonNullable<WorkerOptions['dataConverter']> {
  return { ...encryption.worker(), payloadConverterPath: LENIENT_CONVERTER };
}

/** The options of the worker of one task queue. */
export async function workerOptions(
  settings: TurnWorkerSettings,
  place: WorkerPlace,
  shared: Shared,
): Promise<WorkerOptions> {
  const { config, maxCachedWorkflows } = settings;
  const isMain = place.taskQueue === config.taskQueue;
  const file = await shared.approvers?.current();
  // Workflows are bundled below, together with ours.
  const { workflowsPath: _bundled, ...own } = (isMain ? settings.worker : undefined) ?? {};
  const tools = toolsOf(config).filter((tool) => (tool.taskQueue ?? config.taskQueue) === place.taskQueue);
  const deps = activityDeps(config, { queue: place.taskQueue, tools }, shared);
  const options: WorkerOptions = {
    ...TIMING,
    // The time that a turn waits for the worker that has it in memory. Then another worker takes it, because the first
    // worker may have been killed.
    stickyQueueScheduleToStartTimeout: '2s',
    ...defined({ maxCachedWorkflows }),
    ...own,
    ...rateOf(config, place.taskQueue),
    ...place,
    // The workers of every task queue belong to the build, because a call must find a worker of the build that its turn
    // is pinned to.
    ...deploymentOptions(settings),
    identity: identityOn(config, place.taskQueue),
    plugins: [
      ...config.agents.map(({ name }) => agentPlugin(name)),
      ...(file === undefined ? [] : [approversPlugin(file.digest)]),
      ...(own.plugins ?? []),
    ],
    dataConverter: converterOf(shared),
    activities: withOwn(createActivities(deps), own.activities),
    ...(isMain ? await workflowSide(settings, place.namespace, shared) : {}),
  };
  // Workflows of the application ask by `createGate`.
  return hasGate(own.plugins) ? options : withGateWorker(options, { deps, gated: new Map() });
}

/** The rate limit of a task queue. The server uses the rate that it got from the worker that polled last. */
function rateOf(
  { callsPerMinute }: Config,
  taskQueue: string,
): Pick<WorkerOptions, 'maxTaskQueueActivitiesPerSecond'> {
  const calls = new Map(Object.entries(callsPerMinute)).get(taskQueue);
  return calls === undefined ? {} : { maxTaskQueueActivitiesPerSecond: calls / 60 };
}

/** The server and task queue that a worker polls. */
type WorkerPlace = Required<Pick<WorkerOptions, 'connection' | 'namespace' | 'taskQueue'>>;

function withOwn(
  ours: Activities,
  own: WorkerOptions['activities'] = {},
): NonNullable<WorkerOptions['activities']> {
  const both = Object.keys(own).filter((name) => Object.hasOwn(ours, name));
  if (both.length === 0) return { ...ours, ...own };
  throw new CountersignError(
    'config_invalid',
    `two activities are called ${both.join(', ')}`,
    "rename your own: a tool's name is an activity, and `default` is Countersign's",
  );
}

/**
 * The number of polls at the same time. The SDK's five are too few: many decisions at the same time make many workflow
 * tasks, and each poll brings only one.
 */
const POLLS = 50;

/** The options that only a worker of turns has. */
async function workflowSide(
  settings: TurnWorkerSettings,
  namespace: string,
  { encryption, metrics, traces, news }: Shared,
): Promise<Partial<WorkerOptions>> {
  const { worker: own = {}, config } = settings;
  news?.begin(namespace);
  const slots = hasOwnSlots(own) ? undefined : makeTuner();
  const count = metrics.observer(config);
  const observe: Observe = (fact) => {
    if (fact.kind === 'waited') slots?.rest.note();
    count(fact);
  };
  return {
    sinks: { ...own.sinks, ...ourSinks(observing(observe, traces), news) },
    workflowBundle: { code: await workflowCode(settings, encryption) },
    ...(own.workflowTaskPollerBehavior !== undefined || own.maxConcurrentWorkflowTaskPolls !== undefined
      ? {}
      : { workflowTaskPollerBehavior: { type: 'simple-maximum', maximum: POLLS } }),
    ...(slots && { tuner: slots.tuner }),
  };
}

/** The sinks for the reports of workflows. Replayed code does not report a second time. */
function ourSinks(
  observe: ReturnType<typeof observing>,
  news?: InboxNews,
): NonNullable<WorkerOptions['sinks']> {
  const changed = ({ workflowId }: { workflowId: string }): void => news?.note(workflowId);
  return {
    countersign: {
      observe: { fn: observe, callDuringReplay: false },
      changed: { fn: changed, callDuringReplay: false },
    },
  };
}

async function workflowCode(settings: TurnWorkerSettings, { enabled }: Encryption) {
  const head = `${enabled ? ENCODES_FAILURES : ''}${formatTools(digestsOf(settings.config))}`;
  return `${head}${await bundleCode(settings)}`;
}

/** A task queue and the tools whose calls come through it. */
interface QueueTools {
  queue: string;
  tools: readonly Tool[];
}

/** The dependencies of the activities of one task queue. */
export function activityDeps(
  config: Config,
  { queue, tools }: QueueTools,
  {
    memory,
    journal,
    log,
    callLog,
    secrets,
    holderQueue,
    metrics,
    encryption: _workers,
    news: _turns,
    ...optional
  }: Shared,
): ActivityDeps {
  const toolNames = new Set(tools.map((tool) => tool.name));
  const run = { log: callLog, hooks: config.hooks, runner: config.runner, secrets };
  const agents = new Map(config.agents.map((agent) => [agent.name, agent]));
  const { agentWaitMs, pricing } = config;
  // A worker that only runs tools needs no model.
  if (queue === config.taskQueue) requireModels(config.agents);
  const observe = metrics.observer(config);
  const shared = { holderQueue, memory, journal, log, pricing, observe, ...defined(optional) };
  return { agents, toolNames, taskQueue: queue, agentWaitMs, run, ...shared };
}
