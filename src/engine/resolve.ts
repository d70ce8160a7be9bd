import { rm } from 'node:fs/promises';
import { CountersignError } from '../contract/errors';
import { downloadRoute, goRoute } from './download-or-build';
import {
  type Attempt,
  type BinaryEngine,
  type Engine,
  ENGINE_ROUTES,
  type EngineRoute,
  type ExistingEngine,
  type Progress,
  type RouteName,
} from './engine';
import { cachedBinary, cacheDirectory, CLI_OLDEST, GO_OLDEST, probeBinary } from './install-binary';
import { DEFAULT_NAMESPACE, temporalSettings } from '../system/temporal-settings';

/** The options of a search for a server. */
interface ResolveOptions {
  /** Receives lines about downloads and builds, and the reason why an expected route did not work. */
  progress?: Progress;
  /** False: nothing is downloaded or built. @default true */
  acquire?: boolean;
  /** The routes in order. Tests pass their own routes. */
  routes?: EngineRoute[];
}

/**
 * Finds a Temporal server: the server that the settings name, or else a binary that can start a server.
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

const allRoutes = (env: NodeJS.ProcessEnv, progress: Progress): EngineRoute[] => {
  const routes: Record<RouteName, EngineRoute> = {
    existing: existingRoute(env),
    setting: settingRoute(env),
    path: pathRoute(env),
    cache: cacheRoute(env, progress),
    download: downloadRoute({ env, progress }),
    go: goRoute({ env, progress }),
  };
  return ENGINE_ROUTES.map((name) => routes[name]);
};

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

/**
 * The route of `COUNTERSIGN_TEMPORAL_CLI`, a path. A path that does not work stops the search, because the user wants
 * that binary.
 * @throws CountersignError `no_server`
 */
export const settingRoute = (env: NodeJS.ProcessEnv): EngineRoute => ({
  acquires: false,
  attempt: async (): Promise<Attempt> => {
    const binary = env['COUNTERSIGN_TEMPORAL_CLI'];
    if (!binary) return { missed: 'COUNTERSIGN_TEMPORAL_CLI is not set', absent: true };
    const attempt = await tryBinary(binary, 'setting', env);
    if ('engine' in attempt) return attempt;
    throw new CountersignError(
      'no_server',
      `COUNTERSIGN_TEMPORAL_CLI does not work: ${attempt.missed}`,
      "Set it to the path of Temporal's command line, or unset it.",
    );
  },
});

/** The route of `temporal` on PATH. */
export const pathRoute = (env: NodeJS.ProcessEnv): EngineRoute => ({
  acquires: false,
  attempt: async (): Promise<Attempt> => {
    const attempt = await tryBinary('temporal', 'path', env);
    return isAbsent(attempt) ? { missed: 'temporal is not on PATH', absent: true } : attempt;
  },
});

/**
 * The route of a binary that an earlier run downloaded or built. A broken binary is removed, so that a later route
 * replaces it.
 */
export const cacheRoute = (env: NodeJS.ProcessEnv, progress: Progress): EngineRoute => ({
  acquires: false,
  attempt: async (): Promise<Attempt> => {
    const binary = cachedBinary(cacheDirectory(env));
    const attempt = await tryBinary(binary, 'cache', env);
    if ('engine' in attempt) return attempt;
    if (isAbsent(attempt)) return { missed: `nothing is cached at ${binary}`, absent: true };
    progress(`removing a broken binary: ${attempt.missed}`);
    await rm(binary, { force: true });
    return attempt;
  },
});

const tryBinary = async (
  binary: string,
  route: BinaryEngine['route'],
  env: NodeJS.ProcessEnv,
): Promise<Attempt> => {
  const probe = await probeBinary(binary, env);
  return 'missed' in probe ? probe : { engine: { kind: 'binary', binary, version: probe.version, route } };
};

const isAbsent = (attempt: Attempt): boolean => 'missed' in attempt && attempt.absent === true;

/**
 * The server that `TEMPORAL_ADDRESS` or the official `temporal.toml` names (`TEMPORAL_PROFILE`, `TEMPORAL_CONFIG_FILE`).
 * @throws CountersignError `config_invalid` when the settings cannot be read.
 */
export const existingServer = (env: NodeJS.ProcessEnv): ExistingEngine | undefined => {
  const { address, namespace = DEFAULT_NAMESPACE, connection } = temporalSettings(env);
  return address === undefined ? undefined : { kind: 'existing', address, namespace, connection };
};

/** The first route: a server that is there already. */
const existingRoute = (env: NodeJS.ProcessEnv): EngineRoute => ({
  acquires: false,
  attempt: async (): Promise<Attempt> => {
    const engine = existingServer(env);
    if (engine !== undefined) return { engine };
    return { missed: 'TEMPORAL_ADDRESS and temporal.toml name no address', absent: true };
  },
});
