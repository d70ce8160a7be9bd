import { CountersignError } from '../contract/errors';
import { cacheRoute, pathRoute, settingRoute } from './binaries';
import { downloadRoute } from './download';
import type { Engine, Progress, Route } from './engine';
import { existingRoute } from './existing';
import { goRoute } from './go-build';
import { CLI_OLDEST, GO_OLDEST } from './version';

/** How to look for a server. */
export interface ResolveOptions {
  /** Told what is downloaded or built and how far it is, and why a route that one might expect was left. */
  progress?: Progress;
  /** False only looks: nothing is downloaded or built. @default true */
  acquire?: boolean;
  /** The routes in order; tests put their own here. */
  routes?: Route[];
}

/**
 * Finds the way to a Temporal server: the one the settings name, else a binary that can start one.
 * @throws CountersignError `no_server` (what was tried, what to install); `config_invalid` when settings cannot be read.
 */
export const resolveEngine = async (
  env: NodeJS.ProcessEnv = process.env,
  options: ResolveOptions = {},
): Promise<Engine> => {
  const progress = options.progress ?? (() => undefined);
  const routes = options.routes ?? allRoutes(env, progress);
  const tried: string[] = [];
  for (const route of routes.filter(({ acquires }) => !acquires || options.acquire !== false)) {
    const attempt = await route.attempt();
    if ('engine' in attempt) return attempt.engine;
    if (attempt.absent !== true) progress(attempt.missed);
    tried.push(attempt.missed);
  }
  throw noServer(tried);
};

const allRoutes = (env: NodeJS.ProcessEnv, progress: Progress): Route[] => [
  existingRoute(env),
  settingRoute(env),
  pathRoute(env),
  cacheRoute(env, progress),
  downloadRoute({ env, progress }),
  goRoute({ env, progress }),
];

const noServer = (tried: string[]): CountersignError =>
  new CountersignError(
    'no_server',
    ['no Temporal server was found:', ...tried.map((line) => `  - ${line}`)].join('\n'),
    {
      hint:
        `Install Temporal's command line ${CLI_OLDEST} or newer (https://docs.temporal.io/cli), or Go ${GO_OLDEST} or newer, ` +
        'or set TEMPORAL_ADDRESS to a running server.',
      data: { tried },
    },
  );
