import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { CountersignError } from '../../contract/errors';
import { defined } from '../../contract/defined';
import { LOOPBACK_HOST } from '../../system/loopback';
import type { Context } from '../context';
import { loadConfig } from '../load-config';
import {
  drained,
  logOption,
  startCommandOf,
  startPatiently,
  type WorkerFacts,
  workerLines,
  type WorkerOptions,
} from './worker';
import { readCount, refuseApprovers, refuseOptions } from '../flags';
import { type OpenWebInbox, readPort, withWebInbox } from '../open-web-inbox';
import { takeStopSignals } from '../stop-signals';

interface DevOptions extends WorkerOptions {
  port?: string;
  uiPort?: string;
  dataDir?: string;
  web: boolean;
  webPort?: string;
}

/** Temporal's own defaults, so that every other command finds the server without options. */
export const DEV_PORT = 7233;
const UI_PORT = 8233;
const DEFAULTS = [`${LOOPBACK_HOST}:${DEV_PORT}`, `localhost:${DEV_PORT}`];

/** `dev [config]`. */
export function addDev(program: Command, context: Context): void {
  program
    .command('dev [config]')
    .description("run a Temporal server with Temporal's own UI, a worker and the web inbox, until Ctrl-C")
    .option('--port <port>', `port of the server (default: ${DEV_PORT})`)
    .option('--ui-port <port>', `port of Temporal's own UI (default: ${UI_PORT}, or a free one)`)
    .option('--data-dir <folder>', 'folder for the data of the server (default: .countersign)')
    .option('--no-web', 'without the web inbox')
    .option('--web-port <port>', 'port of the web inbox (default: 7243, or a free one)')
    // The turn's timeline shows a mistake in a user's agent. The stack of the mistake would hide the lines of this
    // command.
    .addOption(logOption('ERROR'))
    .action((config: string | undefined, options: DevOptions) => dev(config, options, context));
}

/** The ports of a server that this command starts. */
interface Ports {
  port: number;
  uiPort?: number;
}

/** A server: one that this command started, or one that already runs. */
interface DevServer {
  address: string;
  namespace: string;
  uiUrl?: string;
  /** This command started the server, so it also stops the server. */
  isOwn: boolean;
  stop(): Promise<void>;
  gone: Promise<string>;
}

async function dev(named: string | undefined, options: DevOptions, context: Context) {
  refuseApprovers(context);
  const loaded = await loadConfig(named);
  const uiPort = options.uiPort === undefined ? undefined : readCount(options.uiPort, '--ui-port');
  const port = options.port === undefined ? DEV_PORT : readCount(options.port, '--port');
  const wanted = { port, ...defined({ uiPort }) };
  const place = readPort(options.webPort, '--web-port');
  const { approvers } = loaded.config;
  const web = options.web ? { ...place, approvers } : undefined;
  const stop = takeStopSignals(() => undefined);
  const server = await openServer(wanted, options, context);
  try {
    if (stop.signal.aborted) return;
    const work = async (inbox?: OpenWebInbox) => {
      const { address, namespace, gone } = server;
      const { encryptionKeyFile: keyFile } = context.options();
      const settings = {
        address,
        namespace,
        logLevel: options.log ?? 'ERROR',
        encryption: { keyFile },
        stream: inbox?.stream,
      };
      const worker = await startPatiently({ config: loaded.config, ...settings }, context);
      printStart(server, { ...loaded, ...server, ...worker }, inbox, context);
      const lost = gone.then((why) =>
        Promise.reject(
          new CountersignError(
            'server_failed',
            `the Temporal server ended; ${why}`,
            'Nothing is lost: start again, and every turn goes on.',
          ),
        ),
      );
      await Promise.race([drained(worker, stop, context), lost]);
    };
    if (web === undefined) await work();
    else await context.withClient((client) => withWebInbox(client, web, { context, use: work }), server);
  } finally {
    stop.release();
    await server.stop();
  }
}

async function openServer(wanted: Ports, options: DevOptions, context: Context): Promise<DevServer> {
  const { address, namespace } = context.options();
  if (address !== undefined) {
    assertNoOwnServer(options, `--address names ${address}`);
    return foreign(address, namespace ?? 'default');
  }
  const { resolveEngine } = await import('../../engine/resolve.js');
  const progress = (line: string) => context.screen.note(line);
  const engine = await resolveEngine(context.env, { progress });
  if (engine.kind === 'existing') {
    assertNoOwnServer(options, `TEMPORAL_ADDRESS or temporal.toml names ${engine.address}`);
    return foreign(engine.address, namespace ?? engine.namespace);
  }
  const dataDir = resolve(options.dataDir ?? '.countersign');
  return ownServer(engine.binary, dataDir, { ...wanted, namespace }, progress);
}

/** @throws CountersignError `usage` for options of a server of this command, if the command uses another server. */
function assertNoOwnServer({ port, uiPort, dataDir }: DevOptions, why: string) {
  const hint = 'Leave it out to use that server, or unset what names it to start one.';
  refuseOptions({ port, uiPort, dataDir }, `has no effect: ${why}, so no server is started`, hint);
}

/** A server that the settings name: it is used and never stopped. */
function foreign(address: string, namespace: string): DevServer {
  const gone = new Promise<never>(() => undefined);
  return { address, namespace, isOwn: false, stop: () => Promise.resolve(), gone };
}

/** Starts a server of one's own, or uses the one that runs on the same data. */
export async function ownServer(
  binary: string,
  dataDir: string,
  wanted: Ports & { namespace?: string },
  progress: (line: string) => void,
): Promise<DevServer> {
  const { startServer } = await import('../../engine/server.js');
  const { isFree } = await import('../../engine/server-args.js');
  const uiPort = (await isFree(UI_PORT)) ? UI_PORT : undefined;
  progress('starting the Temporal server');
  const dbFile = join(dataDir, 'temporal.db');
  const server = await startServer({ binary, dbFile, progress, uiPort, ...wanted });
  const { address, namespace, uiUrl, reused, stop, exited, logFile } = server;
  if (reused) progress(`a server of ${dataDir} runs already at ${address}; it is used`);
  const gone = exited.then(() => `its log is ${logFile}`);
  return { address, namespace, uiUrl, isOwn: !reused, stop, gone };
}

function printStart(
  server: DevServer,
  facts: WorkerFacts,
  webInbox: OpenWebInbox | undefined,
  { screen, command, options }: Context,
) {
  const isFound = options().address !== undefined || DEFAULTS.includes(server.address);
  const flag = isFound ? '' : ` --address ${server.address}`;
  screen.lines([
    ...workerLines(facts, screen),
    ...(webInbox ? ['', ...webInbox.lines] : []),
    '',
    'In another terminal:',
    `  ${screen.style.link(command(`${startCommandOf(facts.config)}${flag}`))}`,
    `  ${screen.style.link(command(`inbox${flag}`))}`,
    server.isOwn ? 'Ctrl-C ends worker and server; the data stays.' : 'Ctrl-C ends the worker.',
  ]);
}
