import { NativeConnection } from '@temporalio/worker';
import type { ConnectionLike } from '@temporalio/client';
import { CountersignError } from '../contract/errors';
import { isKeyRefused, refusedAt, SERVER_HINTS, STATUS } from '../contract/text/server-hints';
import { describeError } from './run';
import { isSilent, reasonOfNoAnswer } from '../system/server-probe';
import { resolvePlace, type ServerPlace } from '../system/temporal-settings';

/** A worker's connection and its namespace. */
export interface NativePlace {
  connection: NativeConnection;
  address: string;
  namespace: string;
}

/**
 * Waits for the first answer of the server, at most some ten seconds.
 *
 * @throws CountersignError `no_server` if no answer comes, `config_invalid` when the settings cannot be read.
 */
export async function requireAnswer(place: ServerPlace): Promise<void> {
  const { address, connection } = resolvePlace(place);
  if (await isSilent({ address, connection })) throw noServer(address, SERVER_HINTS.silent);
}

/**
 * Connects a worker.
 *
 * @throws CountersignError `no_server` if nothing answers.
 */
export async function connectNative(place: ServerPlace): Promise<NativePlace> {
  const { address, namespace, connection: options } = resolvePlace(place);
  try {
    const connection = await NativeConnection.connect({ ...options, address });
    return { connection, address, namespace };
  } catch (error) {
    const said = describeError(error);
    if (KEY_REFUSED.test(said))
      throw new CountersignError('no_server', refusedAt(address, serverWords(said)), {
        hint: SERVER_HINTS.keyRefused,
        cause: error,
      });
    const reason = await reasonOfNoAnswer({ address, connection: options });
    throw noServer(address, SERVER_HINTS[reason], error);
  }
}

function noServer(address: string, hint: string, cause?: unknown): CountersignError {
  return new CountersignError('no_server', `no Temporal server answers at ${address}`, { hint, cause });
}

/** We match the message, because errors of the SDK's core have no codes. */
const KEY_REFUSED = /unauthenticated|unauthorized|permission|valid authentication credentials/i;

/** The server's own message, which the SDK's core quotes inside its message. */
function serverWords(said: string): string {
  return /, message: "([^"]+)"/.exec(said)?.[1] ?? said;
}

/**
 * Checks that a namespace exists. Without its namespace, a worker would wait forever for work that cannot come.
 *
 * @throws CountersignError `not_ready` naming the command to run, `no_server` if the server refuses our key.
 */
export async function requireNamespace(connection: ConnectionLike, namespace: string): Promise<void> {
  try {
    await connection.workflowService.describeNamespace({ namespace });
  } catch (error) {
    const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
    if (code === STATUS.notFound)
      throw new CountersignError('not_ready', `the server has no namespace ${namespace}`, {
        hint: `Check TEMPORAL_NAMESPACE, or ask somebody who may create namespaces to run:\n  temporal operator namespace create --namespace ${namespace} --retention 30d`,
        data: { namespace },
        cause: error,
      });
    if (isKeyRefused(code)) throw refused(namespace, error);
    throw error;
  }
}

function refused(namespace: string, cause: unknown): CountersignError {
  const said = describeError(cause);
  return new CountersignError('no_server', `the server refuses this key for ${namespace}: ${said}`, {
    hint: SERVER_HINTS.keyRefused,
    cause,
  });
}
