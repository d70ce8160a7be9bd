import { isGrpcServiceError } from '@temporalio/client';
import { CountersignError } from '../contract/errors';
import { SERVER_HINTS } from '../contract/server-hints';

/** gRPC's status codes that mean something to us. */
export const STATUS = {
  cancelled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  aborted: 10,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** The gRPC status of an error, or of what caused it; undefined where there is none. */
export function statusOf(error: unknown): number | undefined {
  if (isGrpcServiceError(error)) return error.code;
  return error instanceof Error && error.cause !== undefined ? statusOf(error.cause) : undefined;
}

/** What the server said, without the stack and without gRPC's prefix. */
export function detailsOf(error: unknown): string {
  if (isGrpcServiceError(error)) return error.details || error.message;
  if (error instanceof Error && error.cause !== undefined) return detailsOf(error.cause);
  return error instanceof Error ? error.message : String(error);
}

/** Whether the same call may work in a moment: a server that restarts, is busy, or did not answer in time. */
export function isTransient(error: unknown): boolean {
  const status = statusOf(error);
  const passing: readonly number[] = [
    STATUS.unavailable,
    STATUS.deadlineExceeded,
    STATUS.resourceExhausted,
    STATUS.aborted,
    STATUS.internal,
    STATUS.unknown,
  ];
  return status !== undefined && passing.includes(status);
}

/** A failed call to the server as the one error class; `what` is what was tried. An error of ours stays as it is. */
export function toCountersignError(error: unknown, what: string): CountersignError {
  if (error instanceof CountersignError) return error;
  const status = statusOf(error);
  if (status === STATUS.unavailable || status === STATUS.deadlineExceeded) return noServer(what, error);
  if (isNotReady(error)) return notReady(error);
  const details = detailsOf(error);
  // The SDK makes an error of its own of this one, without the status.
  if (/^namespace\b.* not found/i.test(details))
    return new CountersignError('namespace_missing', `${what} failed: ${details}`, {
      hint: 'check TEMPORAL_NAMESPACE',
      cause: error,
    });
  const hint =
    status === STATUS.permissionDenied || status === STATUS.unauthenticated
      ? SERVER_HINTS.keyRefused
      : 'see what the server says; countersign doctor tells what is reachable';
  return new CountersignError('server_failed', `${what} failed: ${details}`, { hint, cause: error });
}

/** Whether the server's answer is that the namespace does not know one of our search attributes. */
export function isNotReady(error: unknown): boolean {
  return statusOf(error) === STATUS.invalidArgument && /search ?attribute/i.test(detailsOf(error));
}

/** No worker has readied this namespace yet. */
export function notReady(cause: unknown): CountersignError {
  const hint = 'start a worker once (countersign worker): it registers them, or says which command to run';
  const message = `the namespace does not know Countersign's search attributes: ${detailsOf(cause)}`;
  return new CountersignError('not_ready', message, { hint, cause });
}

function noServer(what: string, cause: unknown): CountersignError {
  return new CountersignError('no_server', `${what} failed: the Temporal server does not answer`, {
    hint: SERVER_HINTS.unanswered,
    cause,
  });
}

/** There is no turn of this id. */
export function turnNotFound(turn: string): CountersignError {
  const hint =
    'countersign list shows the turns there are; one that has ended is kept as long as the retention of its namespace';
  return new CountersignError('turn_not_found', `there is no turn ${turn}`, { hint, data: { turn } });
}
