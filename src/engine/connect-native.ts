import { NativeConnection } from '@temporalio/worker';
import { CountersignError } from '../contract/errors';
import { refusedAt, SERVER_HINTS } from '../contract/server-hints';
import type { ExistingEngine } from './engine';
import { existingServer } from './existing';
import { meaningOf, wordsOf } from './no-answer';
import { says } from './silence';

/** Where a server is: what is not said comes from `TEMPORAL_*` and `temporal.toml`, then `localhost:7233` and `default`. */
export interface ServerPlace {
  address?: string;
  namespace?: string;
  /** Profile of temporal.toml. @default `TEMPORAL_PROFILE`, then `default` */
  profile?: string;
}

/** A worker's connection, and the namespace it works in. */
export interface NativePlace {
  connection: NativeConnection;
  address: string;
  namespace: string;
}

/** Where a worker connects to. Errors: `config_invalid` when the settings cannot be read. */
export function addressOf(place: ServerPlace): string {
  return resolvePlace(place).address;
}

/**
 * Waits until anything comes back from the server, at most some ten seconds.
 *
 * @throws CountersignError `no_server` where nothing does, `config_invalid` when the settings cannot be read.
 */
export async function requireAnswer(place: ServerPlace): Promise<void> {
  const { address, connection } = resolvePlace(place);
  // As the SDK has it: with a key TLS is on unless it is switched off.
  const isTls = Boolean(connection?.tls ?? connection?.apiKey !== undefined);
  if (!(await says(address, isTls))) throw noServer(address, SERVER_HINTS.silent);
}

/**
 * Connects a worker.
 *
 * @throws CountersignError `no_server` where nothing answers.
 */
export async function connectNative(place: ServerPlace): Promise<NativePlace> {
  const { address, namespace, connection: options } = resolvePlace(place);
  try {
    const connection = await NativeConnection.connect({ ...options, address });
    return { connection, address, namespace };
  } catch (error) {
    const meaning = meaningOf(error);
    const hint = SERVER_HINTS[meaning];
    if (meaning !== 'keyRefused') throw noServer(address, hint, error);
    throw new CountersignError('no_server', refusedAt(address, wordsOf(error)), { hint, cause: error });
  }
}

type ResolvedPlace = Required<Omit<ServerPlace, 'profile'>> & {
  connection: ExistingEngine['connection'] | undefined;
};

function resolvePlace(place: ServerPlace): ResolvedPlace {
  const { profile = process.env['TEMPORAL_PROFILE'] } = place;
  const settings = existingServer({ ...process.env, TEMPORAL_PROFILE: profile });
  return {
    address: place.address ?? settings?.address ?? 'localhost:7233',
    namespace: place.namespace ?? settings?.namespace ?? 'default',
    connection: settings?.connection,
  };
}

function noServer(address: string, hint: string, cause?: unknown): CountersignError {
  return new CountersignError('no_server', `no Temporal server answers at ${address}`, { hint, cause });
}
