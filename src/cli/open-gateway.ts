import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import { Option } from 'commander';
import type { Countersign } from '../client';
import type { Link } from '../gateway/backend';
import type { Gateway } from '../gateway/gateway';
import type { Served } from '../gateway/tools';
import { EVERYTHING, type Permit } from '../authority/rules/permits';
import { usageError } from '../contract/errors';
import type { SignInOptions } from '../server';
import { userStateDir } from '../system/files';
import type { Config } from '../tools/define-config';
import type { LentTools } from '../worker/options';
import { escapeText } from '../contract/text/escape';
import type { Context } from './context';
import { refuseApprovers } from './flags';
import { loadConfig } from './load-config';
import { defaultUsersFile } from './open-web-inbox';

/** Options of every command that opens a gateway. */
export interface GatewayOptions {
  config?: string;
  worker: boolean;
  record?: string;
}

/** The option `--no-worker`. */
export function workerOption(): Option {
  return new Option('--no-worker', "leave calls to the workers of the config's own queue; start no server");
}

/** A gateway with all that it is made of. */
interface OpenedGateway {
  gateway: Gateway;
  config: Config;
  who: string;
  usersFile: string;
  permitOf(user: string): Promise<Permit>;
  /** Reads how people of the config's approvers file sign in. */
  signInBy(file: string): Promise<SignInOptions>;
  /** Starts the servers, and reaches for Temporal. A call does so, too. */
  begin(): void;
  /** Calls `tell` when a tool is gone. */
  onToolsChanged(tell: () => void): void;
  close(): Promise<void>;
}

/**
 * Opens a gateway: its tools by the lock, and in the background the Temporal server and a worker. Without a server that the
 * settings name or that answers at the usual address, it starts one, whose data all gateways of this user share.
 */
export async function openGateway(
  served: Served,
  options: GatewayOptions,
  context: Context,
  loaded?: Awaited<ReturnType<typeof loadConfig>>,
): Promise<OpenedGateway> {
  refuseApprovers(context);
  const { screen, env } = context;
  const { config, file } = loaded ?? (await loadConfig(options.config));
  const { openGatewayTools } = await import('../gateway/tools.js');
  const { openBackend } = await import('../gateway/backend.js');
  const { createGateway } = await import('../gateway/gateway.js');
  const { gatewayQueue } = await import('../gateway/call-id.js');
  const { createSecrets } = await import('../tools/secrets.js');
  const { createCallLog } = await import('../tools/call-log.js');
  const { openRules } = await import('../authority/rules/worker-verdict.js');
  const note = (line: string) => screen.note(escapeText(line));
  const secrets = createSecrets(config.secrets, note);
  const warn = (line: string) => note(secrets.hide(line));
  const log = createCallLog({ log: (level, line) => (level === 'WARN' || level === 'ERROR') && note(line) });
  let changed: () => void = () => undefined;
  let startServers: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => (startServers = resolve));
  const tools = await openGatewayTools(config, served, { secrets, warn, begun, onGone: () => changed() });
  const own = gatewayQueue(file, served.server ?? served.agent ?? '', {
    user: userInfo().username,
    host: hostname(),
  });
  const taskQueue = options.worker ? own : config.taskQueue;
  const others = config.agents.filter(({ name }) => name !== tools.agent.name);
  const rules = await openRules({ ...config, agents: [...others, tools.agent] }, log);
  const worker = { config: tools.config, taskQueue, secrets, rules };
  const backend = openBackend({
    agent: tools.agent.name,
    taskQueue,
    warn,
    open: () => {
      startServers();
      return openLink(options.worker ? worker : undefined, context);
    },
  });
  const recordsAll = options.record === 'all';
  const gateway = createGateway({ tools, backend, config, secrets, log, rules, recordsAll });
  return {
    gateway,
    config,
    who: context.as,
    usersFile: defaultUsersFile(env),
    permitOf: async (user) => (await rules.approvers?.current())?.permitOf(user) ?? EVERYTHING,
    signInBy: async (path) => {
      const { approvers } = rules;
      if (approvers === undefined)
        throw usageError('--sign-in wants `approvers` in the config: its people are those who sign in');
      const { readSignInFile } = await import('./sign-in-file.js');
      return { ...(await readSignInFile(path, env)), people: () => approvers.current() };
    },
    begin: backend.begin,
    onToolsChanged: (tell) => (changed = tell),
    close: async () => {
      await backend.close();
      await tools.close();
    },
  };
}

/** The worker of a gateway. */
interface GatewayWorker extends Omit<LentTools, 'open'> {
  config: Config;
  taskQueue: string;
}

async function openLink(worker: GatewayWorker | undefined, context: Context): Promise<Link> {
  const server = worker === undefined ? {} : await findServer(context);
  try {
    const { client, release } = await lendClient(context, server);
    const running = worker && startGatewayWorker(worker, server, context);
    const never = new Promise<never>(() => undefined);
    return {
      client,
      lost: Promise.race([running?.then(({ done }) => done) ?? never, server.gone ?? never]),
      close: async () => {
        await running?.then((one) => one.stop()).catch(() => undefined);
        release();
        await server.stop?.();
      },
    };
  } catch (error) {
    await server.stop?.();
    throw error;
  }
}

/** The server of a link. Without an address it is the one that the settings name. */
interface LinkServer {
  address?: string;
  namespace?: string;
  gone?: Promise<unknown>;
  stop?(): Promise<void>;
}

async function findServer(context: Context): Promise<LinkServer> {
  const { address } = context.options();
  const { resolveEngine, existingServer } = await import('../engine/resolve.js');
  if (address !== undefined || existingServer(context.env) !== undefined) return {};
  const { ownServer, DEV_PORT } = await import('./commands/dev.js');
  const { isFree } = await import('../engine/server-args.js');
  // What listens there is used, however slowly it answers: another server could not have its port.
  if (!(await isFree(DEV_PORT))) return {};
  const progress = (line: string) => context.screen.note(escapeText(line));
  const engine = await resolveEngine(context.env, { progress });
  if (engine.kind === 'existing') return {};
  const folder = join(userStateDir(context.env), 'gateway');
  return ownServer(engine.binary, folder, { port: DEV_PORT }, progress);
}

/** A connection that stays open until it is released. */
function lendClient(
  context: Context,
  { address, namespace }: LinkServer,
): Promise<{ client: Countersign; release(): void }> {
  return new Promise((resolve, reject) => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((done) => (release = done));
    const use = async (client: Countersign) => {
      resolve({ client, release });
      await released;
    };
    context.withClient(use, { ...(address && { address }), ...(namespace && { namespace }) }).catch(reject);
  });
}

async function startGatewayWorker(
  { config, taskQueue, ...lent }: GatewayWorker,
  server: LinkServer,
  { screen, options }: Context,
) {
  const { startWorker } = await import('../worker.js');
  const { withAgents } = await import('../tools/define-config.js');
  const { address, namespace, profile, encryptionKeyFile: keyFile } = { ...options(), ...server };
  const own = withAgents({ ...config, taskQueue }, config.agents);
  const open = { config: own, close: () => Promise.resolve() };
  return startWorker(
    {
      config: own,
      address,
      namespace,
      profile,
      encryption: { keyFile },
      logLevel: 'ERROR',
      queues: [taskQueue],
      warn: (line) => screen.note(escapeText(line)),
    },
    { open, ...lent },
  );
}
