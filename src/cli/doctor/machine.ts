import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { CountersignError } from '../../contract/errors';
import type { Engine } from '../../engine';
import type { Config } from '../../tools/define-config';
import { CONFIG_FILES, loadConfig } from '../load-config';
import { hintOf, reason, type Finding } from './check';

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

const ROUTES = {
  setting: 'named by COUNTERSIGN_TEMPORAL_CLI',
  path: 'found on PATH',
  cache: 'fetched earlier',
  download: 'downloaded',
  go: 'built with Go',
} as const;

/** Whether this machine can start a server. Nothing is fetched or built to find out. */
export async function checkCli(env: NodeJS.ProcessEnv): Promise<Finding> {
  const name = "Temporal's command line";
  try {
    const engine = await findHere(env);
    if (engine.kind === 'existing') return { name, state: 'ok', detail: `a server at ${engine.address}` };
    return { name, state: 'ok', detail: `${engine.version}, ${ROUTES[engine.route]}: ${engine.binary}` };
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'no_server') {
      const todo =
        'Nothing, if you use a server that runs elsewhere; `countersign dev` fetches it when it needs it.';
      return { name, state: 'warning', detail: 'none on this machine', todo };
    }
    return { name, state: 'bad', detail: reason(error), ...hintOf(error) };
  }
}

/** Without the route to a server that runs already: the question is what could be started here. */
async function findHere(env: NodeJS.ProcessEnv): Promise<Engine> {
  const { resolveEngine } = await import('../../engine/index.js');
  const { cacheRoute, pathRoute, settingRoute } = await import('../../engine/binaries.js');
  const routes = [settingRoute(env), pathRoute(env), cacheRoute(env, () => undefined)];
  return resolveEngine(env, { acquire: false, routes });
}

/** Whether the config loads; without one there is nothing to check. */
export async function checkConfig(named: string | undefined): Promise<{ finding: Finding; config?: Config }> {
  const name = 'config';
  if (named === undefined && !CONFIG_FILES.some((file) => existsSync(resolve(file)))) {
    const detail = `no ${CONFIG_FILES[0] ?? ''} here; deciding needs none`;
    return { finding: { name, state: 'ok', detail } };
  }
  try {
    const { config, file } = await loadConfig(named);
    const agents = config.agents.map((agent) => agent.name).join(', ');
    return { finding: { name, state: 'ok', detail: `${file}: ${agents}` }, config };
  } catch (error) {
    return { finding: { name, state: 'bad', detail: reason(error), ...hintOf(error) } };
  }
}
