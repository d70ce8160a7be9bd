import { loadClientConfigProfile, toClientOptions } from '@temporalio/envconfig';
import { CountersignError } from '../contract/errors';
import { describeError } from './run';
import type { Attempt, ExistingEngine, Route } from './engine';

/** Namespace of a server unless the settings name one. */
const NAMESPACE = 'default';

/**
 * The server that `TEMPORAL_ADDRESS` or the official `temporal.toml` names (`TEMPORAL_PROFILE`, `TEMPORAL_CONFIG_FILE`).
 * @throws CountersignError `config_invalid` when the settings cannot be read.
 */
export const existingServer = (env: NodeJS.ProcessEnv): ExistingEngine | undefined => {
  const { connectionOptions, namespace } = readSettings(env);
  if (!connectionOptions.address) return undefined;
  return {
    kind: 'existing',
    address: connectionOptions.address,
    namespace: namespace ?? NAMESPACE,
    connection: connectionOptions,
  };
};

/** The first route: a server that is there already. */
export const existingRoute = (env: NodeJS.ProcessEnv): Route => ({
  name: 'existing',
  acquires: false,
  attempt: async (): Promise<Attempt> => {
    const engine = existingServer(env);
    if (engine !== undefined) return { engine };
    return { missed: 'TEMPORAL_ADDRESS and temporal.toml name no address', absent: true };
  },
});

const readSettings = (env: NodeJS.ProcessEnv): ReturnType<typeof toClientOptions> => {
  try {
    const profile = env['TEMPORAL_PROFILE'];
    return toClientOptions(
      loadClientConfigProfile({ overrideEnvVars: defined(env), ...(profile ? { profile } : {}) }),
    );
  } catch (error) {
    throw new CountersignError(
      'config_invalid',
      `Temporal's settings cannot be read: ${describeError(error)}`,
      {
        hint: 'Check the TEMPORAL_ variables and the temporal.toml they point to.',
        cause: error,
      },
    );
  }
};

const defined = (env: NodeJS.ProcessEnv): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
