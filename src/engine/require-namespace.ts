import type { ConnectionLike } from '@temporalio/client';
import { CountersignError } from '../contract/errors';
import { SERVER_HINTS } from '../contract/server-hints';
import { describeError } from './run';

/** gRPC's own numbers. */
const STATUS = { notFound: 5, permissionDenied: 7, unauthenticated: 16 } as const;

/**
 * Checks that a namespace is there: without it a worker would wait for ever for work that cannot come.
 *
 * @throws CountersignError `namespace_missing` naming the command to run, `no_server` where the server does not let us.
 */
export async function requireNamespace(connection: ConnectionLike, namespace: string): Promise<void> {
  try {
    await connection.workflowService.describeNamespace({ namespace });
  } catch (error) {
    const code = codeOf(error);
    if (code === STATUS.notFound) throw missing(namespace, error);
    if (code === STATUS.unauthenticated || code === STATUS.permissionDenied) throw refused(namespace, error);
    throw error;
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

function missing(namespace: string, cause: unknown): CountersignError {
  return new CountersignError('namespace_missing', `the server has no namespace ${namespace}`, {
    hint: `Check TEMPORAL_NAMESPACE, or have somebody who may run:\n  ${createCommand(namespace)}`,
    data: { namespace },
    cause,
  });
}

function refused(namespace: string, cause: unknown): CountersignError {
  const said = describeError(cause);
  return new CountersignError(
    'no_server',
    `the server lets nobody into ${namespace} with this key: ${said}`,
    {
      hint: SERVER_HINTS.keyRefused,
      cause,
    },
  );
}

const createCommand = (namespace: string): string =>
  `temporal operator namespace create --namespace ${namespace} --retention 30d`;
