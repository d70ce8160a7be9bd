import type { ConnectionOptions } from '@temporalio/client';
import { loadClientConfigProfile, toClientOptions } from '@temporalio/envconfig';
import { CountersignError } from '../contract/errors';
import type { ConnectOptions } from './types';

/** Where to connect, after options, `TEMPORAL_*` and `temporal.toml`. */
export interface Settings {
  address: string;
  namespace: string;
  /** TLS, API key and headers, where they are set. */
  connection: Pick<ConnectionOptions, 'tls' | 'apiKey' | 'metadata'>;
}

/**
 * Reads Temporal's own settings; options win over the environment, which wins over the file.
 *
 * @throws CountersignError `config_invalid` when they cannot be read.
 */
export function readSettings(options: Pick<ConnectOptions, 'address' | 'namespace' | 'profile'>): Settings {
  const { connectionOptions, namespace } = loadProfile(options.profile ?? process.env['TEMPORAL_PROFILE']);
  const { address, tls, apiKey, metadata } = connectionOptions;
  return {
    address: options.address ?? address ?? 'localhost:7233',
    namespace: options.namespace ?? namespace ?? 'default',
    connection: {
      ...(tls === undefined || tls === null ? {} : { tls }),
      ...(apiKey === undefined ? {} : { apiKey }),
      ...(metadata === undefined ? {} : { metadata }),
    },
  };
}

function loadProfile(profile: string | undefined): ReturnType<typeof toClientOptions> {
  try {
    return toClientOptions(loadClientConfigProfile(profile ? { profile } : {}));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const hint = 'check the TEMPORAL_ variables and the temporal.toml they point to';
    throw new CountersignError('config_invalid', `Temporal's settings cannot be read: ${why}`, {
      hint,
      cause,
    });
  }
}
