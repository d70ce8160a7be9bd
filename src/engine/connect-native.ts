import { NativeConnection } from '@temporalio/worker';
import { CountersignError } from '../contract/errors';
import { existingServer } from './existing';
import { hintForNoAnswer } from './no-answer';

/** Where a server is: what is not said comes from `TEMPORAL_*` and `temporal.toml`, then `localhost:7233` and `default`. */
export interface ServerPlace {
  address?: string;
  namespace?: string;
}

/** A worker's connection, and the namespace it works in. */
export interface NativePlace {
  connection: NativeConnection;
  address: string;
  namespace: string;
}

/**
 * Connects a worker.
 *
 * @throws CountersignError `no_server` where nothing answers.
 */
export async function connectNative(place: ServerPlace): Promise<NativePlace> {
  const settings = existingServer(process.env);
  const address = place.address ?? settings?.address ?? 'localhost:7233';
  const namespace = place.namespace ?? settings?.namespace ?? 'default';
  try {
    const connection = await NativeConnection.connect({ ...settings?.connection, address });
    return { connection, address, namespace };
  } catch (error) {
    throw new CountersignError('no_server', `no Temporal server answers at ${address}`, {
      hint: hintForNoAnswer(error),
      cause: error,
    });
  }
}
