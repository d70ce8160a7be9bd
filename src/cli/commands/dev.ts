import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { CountersignError } from '../../contract/errors';
import type { Engine, RunningServer } from '../../engine';
import type { Context } from '../context';
import { loadConfig, type LoadedConfig } from '../load-config';
import { workerLines } from '../print/worker';
import { readCount } from '../read-value';
import { readPort, withOpenDesk, type OpenDesk } from '../open-desk';
import { takeStopSignals, type StopSignals } from '../stop-signals';
import { drained, logOption, startPatiently, type WorkerOptions } from './worker';

interface DevOptions extends WorkerOptions {
  port: string;
  uiPort?: string;
  dataDir?: string;
  web: boolean;
  webPort?: string;
}

/** Temporal's own defaults, so that every other command finds the server without being told. */
const PORT = 7233;
const UI_PORT = 8233;
const DEFAULTS = [`127.0.0.1:${PORT}`, `localhost:${PORT}`];

/** `dev [config]`. */
export function addDev(program: Command, context: Context): void {
  program
    .command('dev [config]')
    .description(
      "run a Temporal server with Temporal's own UI, a worker and the desk in the browser, until Ctrl-C",
    )
    .option('--port <port>', 'port of the server', String(PORT))
    .option('--ui-port <port>', `port of Temporal's own UI (default: ${UI_PORT}, or a free one)`)
    .option('--data-dir <folder>', 'where the server keeps its data (default: .countersign)')
    .option('--no-web', 'without the desk in the browser')
    .option('--web-port <port>', 'port of the desk (default: 7243, or a free one)')
    // A mistake of a user's agent is in the turn's timeline; its stack would bury what is told here.
    .addOption(logOption('ERROR'))
    .action((config: string | undefined, options: DevOptions) => dev(config, options, context));
}

/** A server, ours or one that runs already. */
interface Place {
  address: string;
  namespace: string;
  uiUrl?: string;
  /** Started by this command, so ended by it. */
  isOwn: boolean;
  stop(): Promise<void>;
  gone: Promise<string>;
}

async function dev(named: string | undefined, options: DevOptions, context: Context): Promise<void> {
  const loaded = await loadConfig(named);
  const ports = { port: readCount(options.port, '--port'), ...readUiPort(options.uiPort) };
  const web = options.web ? { ...readPort(options.webPort, '--web-port') } : undefined;
  const stop = takeStopSignals(() => undefined);
  const place = await openPlace({ ...ports, dataDir: resolve(options.dataDir ?? '.countersign') }, context);
  try {
    if (stop.signal.aborted) return;
    const work = (desk?: OpenDesk): Promise<void> =>
      workAt(place, { loaded, log: options.log, desk, stop }, context);
    if (web === undefined) await work();
    else await context.withDesk((client) => withOpenDesk(client, web, { context, use: work }), place);
  } finally {
    stop.release();
    await place.stop();
  }
}

/** What works at a place. */
interface Work {
  loaded: LoadedConfig;
  log: WorkerOptions['log'];
  desk: OpenDesk | undefined;
  stop: StopSignals;
}

/** Works until it is asked to end, or the server is gone. */
async function workAt(place: Place, { loaded, log, desk, stop }: Work, context: Context): Promise<void> {
  const { address, namespace } = place;
  const { encryptionKeyFile: keyFile } = context.options();
  const settings = { config: loaded.config, address, namespace, logLevel: log ?? 'ERROR' };
  const encryption = keyFile === undefined ? {} : { encryption: { keyFile } };
  const worker = await startPatiently({ ...settings, ...encryption }, context);
  tellPlace(place, { loaded, queues: worker.queues, desk }, context);
  const lost = place.gone.then((why) => Promise.reject(serverLost(why)));
  await Promise.race([drained(worker, stop, context), lost]);
}

function readUiPort(uiPort: string | undefined): { uiPort?: number } {
  return uiPort === undefined ? {} : { uiPort: readCount(uiPort, '--ui-port') };
}

interface Wanted {
  port: number;
  uiPort?: number;
  dataDir: string;
}

async function openPlace(wanted: Wanted, context: Context): Promise<Place> {
  const { address, namespace } = context.options();
  if (address !== undefined) return foreign(address, namespace ?? 'default');
  const { resolveEngine } = await import('../../engine/index.js');
  const progress = (line: string): void => context.screen.note(line);
  const engine = await resolveEngine(context.env, { progress });
  if (engine.kind === 'existing') return foreign(engine.address, namespace ?? engine.namespace);
  return ownServer(engine, { ...wanted, ...(namespace === undefined ? {} : { namespace }) }, context);
}

/** A server that the settings name: it is used and never stopped. */
function foreign(address: string, namespace: string): Place {
  return {
    address,
    namespace,
    isOwn: false,
    stop: () => Promise.resolve(),
    gone: new Promise(() => undefined),
  };
}

async function ownServer(
  { binary }: Extract<Engine, { kind: 'binary' }>,
  { dataDir, ...wanted }: Wanted & { namespace?: string },
  context: Context,
): Promise<Place> {
  const { startServer } = await import('../../engine/index.js');
  const { isFree } = await import('../../engine/ports.js');
  const uiPort = (await isFree(UI_PORT)) ? { uiPort: UI_PORT } : {};
  const progress = (line: string): void => context.screen.note(line);
  progress('starting the Temporal server');
  const server = await startServer({
    binary,
    dbFile: join(dataDir, 'temporal.db'),
    progress,
    ...uiPort,
    ...wanted,
  });
  if (server.reused) progress(`a server of ${dataDir} runs already at ${server.address}; it is used`);
  return toPlace(server);
}

function toPlace({ address, namespace, uiUrl, reused, stop, exited, logFile }: RunningServer): Place {
  const gone = exited.then(() => `its log is ${logFile}`);
  return { address, namespace, ...(uiUrl === undefined ? {} : { uiUrl }), isOwn: !reused, stop, gone };
}

function tellPlace(
  place: Place,
  { loaded, queues, desk }: Pick<Work, 'loaded' | 'desk'> & { queues: readonly string[] },
  { screen, command, options }: Context,
): void {
  const agent = loaded.config.agents[0]?.name ?? '<agent>';
  const queue = loaded.config.taskQueue === 'countersign' ? '' : ` --queue ${loaded.config.taskQueue}`;
  const flag =
    options().address !== undefined || DEFAULTS.includes(place.address) ? '' : ` --address ${place.address}`;
  screen.lines([
    ...workerLines({ ...loaded, ...place, queues }, screen),
    ...(desk === undefined ? [] : ['', ...desk.lines]),
    '',
    'In another terminal:',
    `  ${screen.style.link(command(`run ${agent} "…"${queue}${flag}`))}`,
    `  ${screen.style.link(command(`inbox${flag}`))}`,
    place.isOwn ? 'Ctrl-C ends worker and server; the data stays.' : 'Ctrl-C ends the worker.',
  ]);
}

function serverLost(why: string): CountersignError {
  return new CountersignError('server_failed', `the Temporal server ended; ${why}`, {
    hint: 'Nothing is lost: start again, and every turn goes on.',
  });
}
