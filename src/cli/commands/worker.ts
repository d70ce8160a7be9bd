import { type Command, Option } from 'commander';
import { errorMessage, usageError } from '../../contract/errors';
import type { BuildId } from '../../client';
import type { RunningWorker, WorkerSettings } from '../../worker';
import type { Context } from '../context';
import { loadConfig, shown } from '../load-config';
import { deploymentOption, refuseApprovers } from '../flags';
import { manifest } from '../own-modules';
import { TASK_QUEUE } from '../../contract/names';
import { shellWord } from '../../contract/text/shell-word';
import { escapeText } from '../../contract/text/escape';
import { withWaitingNote } from '../progress';
import { takeStopSignals } from '../stop-signals';
import { LOG_LEVELS, type LogLevel } from '../../tools/call-log';
import type { Agent } from '../../tools/define-agent';
import type { Config } from '../../tools/define-config';
import type { Screen } from '../print/screen';
import { type TableFact, factLines } from '../print/table';
import { shortDigest } from '../../contract/worker-name';

/** Options of every command that runs a worker. */
export interface WorkerOptions {
  log?: LogLevel;
}

interface PortOptions {
  metrics?: string;
  health?: string;
}

interface BuildOptions {
  buildId?: string;
  deployment?: string;
  makeCurrent?: boolean;
}

/** `worker [config]`. */
export function addWorker(program: Command, context: Context): void {
  program
    .command('worker [config]')
    .description('run a worker; SIGTERM or Ctrl-C drains it, a second one ends it at once')
    .option(
      '--build-id <id>',
      'which build it is: turns stay on theirs; auto makes an id of agents and tools',
    )
    .addOption(deploymentOption())
    .option('--make-current', 'once it works, new turns begin on this build')
    .option(
      '--metrics <address>',
      "where metrics go: host:port for Prometheus, or an OpenTelemetry collector's http://… (default: the config's)",
    )
    .option('--health <address>', 'host:port that answers /health and /ready')
    .addOption(logOption('WARN'))
    .action((config: string | undefined, options: WorkerOptions & BuildOptions & PortOptions) =>
      work(config, options, context),
    );
}

/** The option `--log` with its default. WARN includes failed attempts with their stacks. */
export function logOption(level: WorkerOptions['log']): Option {
  return new Option('--log <level>', 'how much the worker logs (INFO: also each call)')
    .choices(LOG_LEVELS)
    .default(level);
}

async function work(
  named: string | undefined,
  options: WorkerOptions & BuildOptions & PortOptions,
  context: Context,
) {
  const { log, deployment, metrics, health } = options;
  if (options.buildId === undefined && (options.makeCurrent === true || deployment !== undefined))
    throw usageError(
      '--make-current and --deployment need --build-id',
      'Only a build is part of a deployment.',
    );
  refuseApprovers(context);
  const loaded = await loadConfig(named);
  const { autoBuildId } = await import('../../worker/build-id-and-identity.js');
  const isAuto = options.buildId === 'auto';
  const buildId = isAuto ? autoBuildId(loaded.config, manifest().version) : options.buildId;
  const { address, namespace, profile, encryptionKeyFile: keyFile } = context.options();
  const place = { address, namespace, profile, encryption: { keyFile } };
  const about = { config: loaded.config, logLevel: log, buildId, deployment, metrics, health };
  const worker = await startPatiently({ ...place, ...about }, context);
  const stop = takeStopSignals(() =>
    context.screen.note('ended at once; what ran is picked up by another worker'),
  );
  const { screen, command } = context;
  screen.lines(workerLines({ ...worker, file: loaded.file }, screen));
  screen.lines(['', `Start a turn: ${command(startCommandOf(worker.config))}`, 'Ctrl-C ends the worker.']);
  if (buildId !== undefined) await tellBuild({ build: buildId, deployment }, options, context);
  await drained(worker, stop, context);
}

/**
 * Makes the build current and prints which build runs. The worker continues even if this fails, because turns of its
 * build may wait for it.
 */
async function tellBuild(build: BuildId, { makeCurrent }: BuildOptions, context: Context) {
  const { screen, command, withClient } = context;
  const name = escapeText(build.build);
  if (makeCurrent !== true)
    return screen.note(`build ${name}; new turns begin on it after ${command(`deploy ${name}`)}`);
  try {
    await withClient((client) => client.makeCurrent(build));
    screen.note(`build ${name} is the current one`);
  } catch (error) {
    screen.note(`build ${name} is not the current one: ${escapeText(errorMessage(error))}`);
  }
}

/** Starts a worker. If the server is slow to answer, a note is printed. */
export async function startPatiently(settings: WorkerSettings, { screen }: Context): Promise<RunningWorker> {
  const { startWorker } = await import('../../worker.js');
  const { resolvePlace } = await import('../../system/temporal-settings.js');
  const say = () => `waiting for the Temporal server at ${escapeText(resolvePlace(settings).address)}`;
  return withWaitingNote(screen, say, () => startWorker({ warn: (line) => screen.note(line), ...settings }));
}

/** The command that starts a turn of the first agent of a config. */
export function startCommandOf({ agents, taskQueue }: Config): string {
  const queue = taskQueue === TASK_QUEUE ? '' : ` --queue ${shellWord(taskQueue)}`;
  return `run ${agents[0]?.name ?? '<agent>'} "…"${queue}`;
}

/** Waits until the worker is asked to end or fails, and drains it. */
export async function drained(
  worker: RunningWorker,
  stop: ReturnType<typeof takeStopSignals>,
  { screen }: Context,
): Promise<void> {
  try {
    const why = await Promise.race([stop.asked, worker.done]);
    if (why !== undefined)
      screen.note(`${why}: taking nothing new, waiting for what runs (again to end at once)`);
    await worker.stop();
    screen.note('worker stopped');
  } finally {
    stop.release();
  }
}

/** The facts that are printed when a worker has started. */
export interface WorkerFacts {
  config: Config;
  file: string;
  address: string;
  namespace: string;
  queues: readonly string[];
  /** SHA-256 of the approvers file. Absent: there is none. */
  approvers?: string;
  /** Temporal's own UI. */
  uiUrl?: string;
}

const NOBODY_RULES = 'no file: anybody may decide';

/** The facts about a worker: server, namespace, queues, agents and their tools by safety. */
export function workerLines(facts: WorkerFacts, screen: Screen): string[] {
  const { config, file, address, namespace, queues, approvers, uiUrl } = facts;
  const places: TableFact[] = [
    ['server', escapeText(address)],
    ['Temporal UI', uiUrl === undefined ? undefined : { text: escapeText(uiUrl), paint: screen.style.link }],
    ['namespace', escapeText(namespace)],
    [queues.length === 1 ? 'task queue' : 'task queues', escapeText(queues.join(', '))],
    ['config', escapeText(shown(file))],
    [
      'approvers',
      approvers === undefined
        ? NOBODY_RULES
        : `${escapeText(config.approvers ?? '')} (${shortDigest(approvers)})`,
    ],
  ];
  const agents = config.agents.flatMap((agent) => ['', ...factLines(agentFacts(agent), screen)]);
  return [...factLines(places, screen), ...agents];
}

function agentFacts({ name, model, fallback, registry }: Agent): TableFact[] {
  const bySafety = (safety: string) => {
    const tools = registry.list().filter((tool) => tool.safety === safety);
    return tools.length === 0 ? undefined : tools.map((tool) => tool.name).join(', ');
  };
  return [
    ['agent', name],
    [
      'model',
      escapeText(
        [model, ...fallback.models].map((one) => (typeof one === 'string' ? one : one.id)).join(', else '),
      ),
    ],
    ['runs freely', bySafety('safe')],
    ['is logged', bySafety('cautious')],
    ['asks first', bySafety('dangerous')],
  ];
}
