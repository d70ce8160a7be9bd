import { setTimeout as delay } from 'node:timers/promises';
import { type ConnectionLike, isGrpcServiceError, WorkflowNotFoundError } from '@temporalio/client';
import { CountersignError, errorMessage } from '../contract/errors';
import { isKeyRefused, SERVER_HINTS, STATUS } from '../contract/text/server-hints';

export { STATUS };

/**
 * The gRPC status of an error, or of its cause. Undefined if there is none. A call whose time is over may count as
 * cancelled: where a server resets its stream before the client's own time is over, and on the connection of a worker.
 * For a call that we cancel ourselves, gRPC uses other words.
 */
export function grpcStatusOf(error: unknown): number | undefined {
  if (isGrpcServiceError(error))
    return error.code === STATUS.cancelled && OUT_OF_TIME.includes(error.details)
      ? STATUS.deadlineExceeded
      : error.code;
  return error instanceof Error && error.cause !== undefined ? grpcStatusOf(error.cause) : undefined;
}

const OUT_OF_TIME = ['Call cancelled', 'Timeout expired'];

/** Whether an error says that a workflow does not exist or is closed. The server answers both cases in the same way. */
export function isNotFound(error: unknown): boolean {
  return (
    grpcStatusOf(error) === STATUS.notFound ||
    (error instanceof Error && error.name === 'WorkflowNotFoundError')
  );
}

/** The message of the server, without the stack and without gRPC's prefix. */
export function detailsOf(error: unknown): string {
  if (isGrpcServiceError(error)) return error.details || error.message;
  if (error instanceof Error && error.cause !== undefined) return detailsOf(error.cause);
  return errorMessage(error);
}

/** Whether the same call may work in a moment: the server restarts, is busy, or did not answer in time. */
export function isTransient(error: unknown): boolean {
  const status = grpcStatusOf(error);
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

/** Whether the answer was larger than the connection accepts. Asking again for the same does not help. */
export function isTooLarge(error: unknown): boolean {
  return grpcStatusOf(error) === STATUS.resourceExhausted && /larger than max/i.test(detailsOf(error));
}

/** Whether the server refused a call because it got too many of them. */
export function isLimited(error: unknown): boolean {
  return grpcStatusOf(error) === STATUS.resourceExhausted && !isTooLarge(error);
}

/** The error for a server that limits the number of requests. `retryInMs`: the time until we ask again ourselves. */
export function serverBusy(
  what: string,
  { retryInMs, cause }: { retryInMs?: number; cause?: unknown } = {},
): CountersignError {
  const said = cause === undefined ? '' : `: ${detailsOf(cause)}`;
  const message = `${what} failed: the Temporal server limits how often it is asked${said}`;
  const data = retryInMs === undefined ? {} : { retryInMs: Math.round(retryInMs) };
  return new CountersignError('server_busy', message, { hint: SERVER_HINTS.busy, data, cause });
}

/** The error for an answer that is too large for the connection. Either gRPC says so, or no other cause is left. */
export function answerTooLarge(what: string, cause: unknown): CountersignError {
  const why = isTooLarge(cause)
    ? `the server's answer is larger than this connection takes: ${detailsOf(cause)}`
    : 'the server answers, but this answer did not come; it is probably larger than this connection takes';
  return new CountersignError('too_large', `${what} failed: ${why}`, {
    hint: "give the connection channelArgs: { 'grpc.max_receive_message_length': 134217728 }, or let connect() make it",
    cause,
  });
}

/** Whether no worker answered an update in time. */
export function isSilence(error: unknown): boolean {
  if (error instanceof Error && error.name === 'WorkflowUpdateRPCTimeoutOrCancelledError') return true;
  return grpcStatusOf(error) === STATUS.deadlineExceeded;
}

/** Ends the details of a call whose last try did not leave, but an earlier one may have. */
export const SENT_BEFORE = 'an earlier try may have arrived';

/** How gRPC says that a request never left. The details of one that was sent name the times of the same stages. */
const UNSENT =
  /no connection established|ECONNREFUSED|connection refused|name resolution failed|waiting for (?:name resolution|metadata filters|LB pick)/i;

/** Whether a request may have left, by the details of its failure. */
export function wasSent(details: string): boolean {
  return !UNSENT.test(details) || details.endsWith(SENT_BEFORE);
}

/** Whether a request may have arrived although its answer did not. */
export function isAnswerLost(error: unknown): boolean {
  return wasSent(detailsOf(error)) && (isSilence(error) || grpcStatusOf(error) === STATUS.unavailable);
}

/**
 * Whether a worker fails at the workflow's tasks. The server takes no update for the workflow until a task succeeds.
 */
export function isTaskFailing(error: unknown): boolean {
  return grpcStatusOf(error) === STATUS.failedPrecondition && /workflow task/i.test(detailsOf(error));
}

/** Whether a run has had as many updates as the server allows for one run. Such a run never takes another update. */
export function isUpdateTotal(details: string): boolean {
  return /limit (?:\d+ )?on the total number of distinct updates/i.test(details);
}

/** Whether a turn has as many updates in flight as the server allows. */
export function isUpdateLimit(details: string): boolean {
  return /limit on (?:the )?(?:number of )?concurrent in-flight updates/i.test(details);
}

/** Whether a run has had as many signals as the server allows for one run. Such a run never takes another signal. */
export function isSignalLimit(error: unknown): boolean {
  return (
    grpcStatusOf(error) === STATUS.invalidArgument &&
    /exceeded workflow execution limit for signal events/i.test(detailsOf(error))
  );
}

/**
 * A failed call to the server as a CountersignError. `what` names what was tried. A CountersignError stays as it is.
 */
export function toCountersignError(error: unknown, what: string): CountersignError {
  if (error instanceof CountersignError) return error;
  if (isTooLarge(error)) return answerTooLarge(what, error);
  if (isLimited(error)) return serverBusy(what, { cause: error });
  const status = grpcStatusOf(error);
  if (status === STATUS.unavailable || status === STATUS.deadlineExceeded)
    return new CountersignError('no_server', `${what} failed: the Temporal server does not answer`, {
      hint: SERVER_HINTS.unanswered,
      cause: error,
    });
  if (isNotReady(error)) return notReady(error);
  const details = detailsOf(error);
  // The SDK turns this error into its own error, which has no status.
  if (/^namespace\b.* not found/i.test(details))
    return new CountersignError('not_ready', `${what} failed: ${details}`, {
      hint: 'check TEMPORAL_NAMESPACE',
      cause: error,
    });
  const hint = isKeyRefused(status)
    ? SERVER_HINTS.keyRefused
    : 'see what the server says; countersign doctor says what is reachable';
  return new CountersignError('server_failed', `${what} failed: ${details}`, { hint, cause: error });
}

/** Whether the server answers that the namespace does not know one of our search attributes. */
export function isNotReady(error: unknown): boolean {
  return grpcStatusOf(error) === STATUS.invalidArgument && /search ?attribute/i.test(detailsOf(error));
}

/** The error for a namespace that no worker has prepared yet. */
function notReady(cause: unknown) {
  const hint =
    'start a worker once (countersign worker): it registers them, or says which command to run; a dev server that was started again without its file has lost its turns, too';
  const message = `the namespace does not know Countersign's search attributes: ${detailsOf(cause)}`;
  return new CountersignError('not_ready', message, { hint, cause });
}

/** The error for an id that no turn has. */
export function turnNotFound(turn: string): CountersignError {
  const hint =
    'countersign list shows the turns there are; one that has ended is kept as long as the retention of its namespace';
  return new CountersignError('not_found', `there is no turn ${turn}`, { hint, data: { turn } });
}

/** The result of a read. Undefined if the server has no such turn or run, or has deleted it meanwhile. */
export async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof CountersignError && error.code === 'not_found') return undefined;
    throw error;
  }
}

/** What the server says of a workflow. Undefined if it has no such workflow. */
export async function unlessNotFound<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return undefined;
    throw error;
  }
}

/** The longest time for one request to the server, in milliseconds. */
export const ASK_MS = 10_000;

/** Sends one request to the server. A failure is a CountersignError that names `what` was tried. */
export async function ask<T>(
  { connection }: { connection: Pick<ConnectionLike, 'withDeadline'> },
  what: string,
  question: () => Promise<T>,
): Promise<T> {
  try {
    return await connection.withDeadline(Date.now() + ASK_MS, question);
  } catch (error) {
    throw toCountersignError(error, what);
  }
}

/** Which errors are worth another attempt, for how long, and after which wait. */
interface Retry {
  passes(error: unknown): boolean;
  /** After this many milliseconds the next error is thrown. */
  forMs: number;
  /** @default 200 */
  everyMs?: number;
}

/** Tries something again until it works, its error is not worth another attempt, or the time is over. */
export async function retry<T>(
  { passes, forMs, everyMs = 200 }: Retry,
  attempt: () => Promise<T>,
): Promise<T> {
  const until = performance.now() + forMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!passes(error) || performance.now() >= until) throw error;
      await delay(everyMs);
    }
  }
}
