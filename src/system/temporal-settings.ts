import { type ClientConnectConfig, loadClientConfigProfile, toClientOptions } from '@temporalio/envconfig';
import { defined } from '../contract/defined';
import { CountersignError, errorMessage } from '../contract/errors';

/** The place of a server as a caller names it. Temporal's own settings say what is missing here. */
export interface ServerPlace {
  /** `host:port`. @default `TEMPORAL_ADDRESS`, then temporal.toml, then `localhost:7233` */
  address?: string;
  /** @default `TEMPORAL_NAMESPACE`, then temporal.toml, then `default` */
  namespace?: string;
  /** Profile of temporal.toml. @default `TEMPORAL_PROFILE`, then `default` */
  profile?: string;
}

/** What `TEMPORAL_*` and `temporal.toml` set. Each setting stands by itself: a key may be set without an address. */
export interface TemporalSettings {
  address?: string;
  namespace?: string;
  /** TLS, API key and headers, if they are set. */
  connection: Pick<ClientConnectConfig['connectionOptions'], 'tls' | 'apiKey' | 'metadata'>;
}

/** The server to connect to, and how. */
export type ResolvedPlace = Required<TemporalSettings>;

/** The namespace of a server if the settings name no other. */
export const DEFAULT_NAMESPACE = 'default';

/**
 * The server to connect to. Options win over the environment, the environment wins over the file.
 *
 * @throws CountersignError `config_invalid` when the settings cannot be read, or name a URL.
 */
export function resolvePlace(
  { address, namespace, profile }: ServerPlace,
  env: NodeJS.ProcessEnv = process.env,
): ResolvedPlace {
  const settings = temporalSettings(env, profile);
  const place = address ?? settings.address ?? 'localhost:7233';
  if (place.includes('//')) {
    const message = `${place} is a URL, and not the address of a Temporal server`;
    throw new CountersignError('config_invalid', message, 'write host:port, such as localhost:7233');
  }
  return {
    address: place,
    namespace: namespace ?? settings.namespace ?? DEFAULT_NAMESPACE,
    connection: settings.connection,
  };
}

/**
 * Reads Temporal's own settings. `profile` wins over `TEMPORAL_PROFILE`.
 *
 * @throws CountersignError `config_invalid` when they cannot be read.
 */
export function temporalSettings(
  env: NodeJS.ProcessEnv,
  profile: string | undefined = env['TEMPORAL_PROFILE'],
): TemporalSettings {
  const { connectionOptions, namespace } = loadProfile(env, profile);
  const { address, tls, apiKey, metadata } = connectionOptions;
  return defined({
    address: address || undefined,
    namespace,
    connection: defined({ tls: tls ?? undefined, apiKey, metadata }),
  });
}

function loadProfile(
  env: NodeJS.ProcessEnv,
  profile: string | undefined,
): ReturnType<typeof toClientOptions> {
  try {
    return toClientOptions(
      loadClientConfigProfile({ overrideEnvVars: defined(env), ...(profile ? { profile } : {}) }),
    );
  } catch (cause) {
    const hint = 'check the TEMPORAL_ variables and the temporal.toml they point to';
    const message = `Temporal's settings cannot be read: ${errorMessage(cause)}`;
    throw new CountersignError('config_invalid', message, { hint, cause });
  }
}
