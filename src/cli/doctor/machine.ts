import { existsSync } from 'node:fs';
import { journalFault, journalFolder } from '../../activities/journal';
import { CountersignError, errorMessage } from '../../contract/errors';
import type { Engine } from '../../engine/engine';
import { proxyFor } from '../../system/proxies';
import { ownersOfSdk, SDK_HINT, sdkCopies, sdkProblem, sdkVersion } from '../../worker/sdk-copies';
import { modelsOf } from '../../tools/define-agent';
import type { Config } from '../../tools/define-config';
import { CONFIG_FILES, loadConfig } from '../load-config';
import { foldersFrom } from '../own-modules';

/** The result of one check. `skipped`: the check could not be made because an earlier check failed. */
export interface Finding {
  name: string;
  state: 'ok' | 'warning' | 'bad' | 'skipped';
  detail: string;
  /** What a person can do about the finding. */
  todo?: string;
}

/** The name of the finding that says whether the server answers. */
export const SERVER = 'server';

/** An error in one line. */
export function errorLine(error: unknown): string {
  return errorMessage(error).split('\n')[0] ?? '';
}

/** The finding of a check that failed with an error. */
export function failed(name: string, error: unknown): Finding {
  const todo = error instanceof CountersignError ? error.hint : undefined;
  return { name, state: 'bad', detail: errorLine(error), todo };
}

/** What a check found, without its name. */
export type Found = Omit<Finding, 'name'>;

/** Makes a check. If it fails with an error, the finding says so. */
export async function checked(name: string, check: () => Promise<Found> | Found): Promise<Finding> {
  try {
    return { name, ...(await check()) };
  } catch (error) {
    return failed(name, error);
  }
}

const OLDEST_NODE = [20, 19] as const;

/** Whether this Node is new enough. */
export function checkNode(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [leastMajor, leastMinor] = OLDEST_NODE;
  const isFine = major > leastMajor || (major === leastMajor && minor >= leastMinor);
  if (isFine) return { name: 'Node.js', state: 'ok', detail: version };
  const detail = `${version} is older than ${OLDEST_NODE.join('.')}`;
  return { name: 'Node.js', state: 'bad', detail, todo: 'Install a newer one: https://nodejs.org' };
}

/**
 * Whether there is only one copy of Temporal's SDK, in the current folder and for this package. A copy of another package
 * is a warning: nobody here may use it.
 */
export function checkSdk(folder = process.cwd()): Finding {
  const name = "Temporal's SDK";
  const own = sdkProblem(sdkCopies([__dirname, folder]));
  const detail = own ?? sdkProblem(sdkCopies([__dirname, ...foldersFrom(folder).flatMap(ownersOfSdk)]));
  if (detail === undefined) return { name, state: 'ok', detail: sdkVersion() };
  const line = detail.replace(/\n +/g, ', ').replace(':,', ':');
  return { name, state: own === undefined ? 'warning' : 'bad', detail: line, todo: SDK_HINT };
}

/** The proxies that the environment names for the hosts of the internet. Passwords are not shown. */
export function checkProxies(env: NodeJS.ProcessEnv): Finding[] {
  return ['http', 'https'].flatMap((scheme) => {
    const name = `proxy for ${scheme}`;
    try {
      const proxy = proxyFor(new URL(`${scheme}://example.com`), env);
      return proxy ? [{ name, state: 'ok', detail: `${proxy.url.host}, by ${proxy.name}` }] : [];
    } catch (error) {
      return [failed(name, error)];
    }
  });
}

const ROUTES = {
  setting: 'named by COUNTERSIGN_TEMPORAL_CLI',
  path: 'found on PATH',
  cache: 'fetched earlier',
  download: 'downloaded',
  go: 'built with Go',
} as const;

/** Whether this machine can start a server. Nothing is downloaded or built for this check. */
export function checkCli(env: NodeJS.ProcessEnv): Promise<Finding> {
  return checked("Temporal's command line", async () => {
    try {
      const engine = await findHere(env);
      if (engine.kind === 'existing') return { state: 'ok', detail: `a server at ${engine.address}` };
      return { state: 'ok', detail: `${engine.version}, ${ROUTES[engine.route]}: ${engine.binary}` };
    } catch (error) {
      if (!(error instanceof CountersignError) || error.code !== 'no_server') throw error;
      const todo =
        'Nothing, if you use a server that runs elsewhere; `countersign dev` fetches it when it needs it.';
      return { state: 'warning', detail: 'none on this machine', todo };
    }
  });
}

/** Finds an engine that could start a server here. A server that already runs does not count. */
async function findHere(env: NodeJS.ProcessEnv): Promise<Engine> {
  const { resolveEngine, cacheRoute, pathRoute, settingRoute } = await import('../../engine/resolve.js');
  const routes = [settingRoute(env), pathRoute(env), cacheRoute(env, () => undefined)];
  return resolveEngine(env, { acquire: false, routes });
}

/**
 * Whether the config loads. A config is a program, so only a named one is run: people run `doctor` in a folder before
 * they trust its content.
 */
export async function checkConfig(named: string | undefined): Promise<{ finding: Finding; config?: Config }> {
  const name = 'config';
  if (named === undefined) return { finding: unnamed(name) };
  try {
    const { config, file } = await loadConfig(named);
    const agents = config.agents.map((agent) => agent.name).join(', ');
    return { finding: { name, state: 'ok', detail: `${file}: ${agents}` }, config };
  } catch (error) {
    return { finding: failed(name, error) };
  }
}

/** The models of a config: whether they can be made, whose they are, and what they are asked with. */
export async function checkModels({ agents }: Pick<Config, 'agents'>): Promise<Finding[]> {
  const { modelOf } = await import('../../models/providers.js');
  return [...new Set(agents.flatMap(modelsOf))].map((model) => {
    try {
      const { id, about } = modelOf(model);
      const users = agents.filter((agent) => modelsOf(agent).includes(model)).map(({ name }) => name);
      const detail = [`of ${users.join(', ')}`, ...(about === undefined ? [] : [about])].join('; ');
      return { name: id, state: 'ok', detail };
    } catch (error) {
      return failed(String(model), error);
    }
  });
}

/** Whether a worker of a config could keep its journal of unsafe calls here. */
export async function checkJournal({ stateDir }: Pick<Config, 'stateDir'>): Promise<Finding> {
  const name = 'journal';
  const folder = journalFolder(stateDir);
  const why = await journalFault(folder);
  if (why === undefined) return { name, state: 'ok', detail: folder };
  const todo = 'Repair or free the disk of `stateDir`. Until then a worker here runs no unsafe call.';
  return { name, state: 'bad', detail: `${folder} cannot be written: ${why}`, todo };
}

function unnamed(name: string): Finding {
  const there = CONFIG_FILES.find((file) => existsSync(file));
  if (there === undefined) return { name, state: 'ok', detail: 'none was named; deciding needs none' };
  const todo = `Name it to check it, and the queues of its tools: countersign doctor ${there}`;
  return { name, state: 'skipped', detail: `${there} is here and was not run`, todo };
}
