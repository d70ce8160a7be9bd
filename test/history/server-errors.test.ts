import { ServiceError } from '@temporalio/client';
import { CountersignError } from '../../src/contract/errors';
import {
  ask,
  detailsOf,
  isAnswerLost,
  isNotFound,
  isNotReady,
  isSignalLimit,
  isSilence,
  isTaskFailing,
  isTooLarge,
  isTransient,
  isUpdateLimit,
  isUpdateTotal,
  STATUS,
  grpcStatusOf,
  toCountersignError,
  retry,
  SENT_BEFORE,
  turnNotFound,
  unlessGone,
} from '../../src/history/server-errors';

const grpc = (code: number, details: string): Error =>
  Object.assign(new Error(`${code} X: ${details}`), { code, details, metadata: {} });

test('the status is found in the error and in what caused it', () => {
  const error = grpc(STATUS.notFound, 'gone');
  expect(grpcStatusOf(error)).toBe(STATUS.notFound);
  expect(grpcStatusOf(new ServiceError('failed', { cause: error }))).toBe(STATUS.notFound);
  expect(grpcStatusOf(new Error('other'))).toBeUndefined();
  expect(grpcStatusOf('text')).toBeUndefined();
  expect(detailsOf(new ServiceError('failed', { cause: error }))).toBe('gone');
  expect(detailsOf(new Error('other'))).toBe('other');
});

test('a stream that the server resets was late, and a call of a worker; a call that we cancel was not', () => {
  expect(grpcStatusOf(grpc(STATUS.cancelled, 'Call cancelled'))).toBe(STATUS.deadlineExceeded);
  expect(grpcStatusOf(grpc(STATUS.cancelled, 'Timeout expired'))).toBe(STATUS.deadlineExceeded);
  expect(grpcStatusOf(grpc(STATUS.cancelled, 'Cancelled on client'))).toBe(STATUS.cancelled);
});

test.each([
  ['unavailable', true],
  ['deadlineExceeded', true],
  ['resourceExhausted', true],
  ['notFound', false],
  ['permissionDenied', false],
] as const)('%s may pass: %s', (status, passes) => {
  expect(isTransient(grpc(STATUS[status], ''))).toBe(passes);
});

test.each([
  ["the server's own answer", grpc(STATUS.notFound, 'workflow execution already completed'), true],
  ["the SDK's error", Object.assign(new Error('gone'), { name: 'WorkflowNotFoundError' }), true],
  ['another answer', grpc(STATUS.invalidArgument, 'bad'), false],
  ['no error at all', undefined, false],
])('not found is known from %s', (_, error, is) => {
  expect(isNotFound(error)).toBe(is);
});

test('limits of the server are known by its words', () => {
  expect(isTooLarge(grpc(STATUS.resourceExhausted, 'Received message larger than max (5 vs 4)'))).toBe(true);
  expect(isTooLarge(grpc(STATUS.resourceExhausted, 'busy'))).toBe(false);
  expect(isUpdateLimit('limit on number of concurrent in-flight updates has been reached')).toBe(true);
  expect(
    isSignalLimit(grpc(STATUS.invalidArgument, 'exceeded workflow execution limit for signal events')),
  ).toBe(true);
  expect(isNotReady(grpc(STATUS.invalidArgument, 'no mapping for search attribute X'))).toBe(true);
});

test.each<[string, Error, string]>([
  ['no answer', grpc(STATUS.unavailable, 'refused'), 'no_server'],
  ['too late', grpc(STATUS.deadlineExceeded, 'late'), 'no_server'],
  ['too large', grpc(STATUS.resourceExhausted, 'larger than max'), 'too_large'],
  ['no search attributes', grpc(STATUS.invalidArgument, 'search attribute X'), 'not_ready'],
  ['no namespace', new Error('Namespace x is not found'), 'not_ready'],
  ['a refused key', grpc(STATUS.permissionDenied, 'no'), 'server_failed'],
  ['anything else', new Error('odd'), 'server_failed'],
])('%s', (_, error, code) => {
  expect(toCountersignError(error, 'listing')).toMatchObject({ code, cause: error });
});

test('an error of ours stays as it is', () => {
  const error = new CountersignError('usage', 'no');
  expect(toCountersignError(error, 'listing')).toBe(error);
  expect(turnNotFound('t')).toMatchObject({ code: 'not_found', data: { turn: 't' } });
});

test('only a turn that is gone gives nothing; every other failure is passed on', async () => {
  await expect(unlessGone(Promise.resolve(1))).resolves.toBe(1);
  await expect(unlessGone(Promise.reject(turnNotFound('t')))).resolves.toBeUndefined();
  const other = new CountersignError('key_missing', 'no');
  await expect(unlessGone(Promise.reject(other))).rejects.toBe(other);
});

describe('retry', () => {
  /** Fails with these errors first, then gives how often it was tried. */
  const failing = (...errors: Error[]) => {
    let tried = 0;
    return async (): Promise<number> => {
      const error = errors[tried++];
      if (error !== undefined) throw error;
      return tried;
    };
  };
  const busy = grpc(STATUS.unavailable, 'busy');
  const refused = grpc(STATUS.permissionDenied, 'no');
  const quick = { passes: isTransient, forMs: 60_000, everyMs: 1 };

  test('an error that passes is tried again until it works', async () => {
    await expect(retry(quick, failing(busy, busy))).resolves.toBe(3);
  });

  test.each([
    ['that does not pass is thrown at once', quick, [refused]],
    ['that does not pass ends the attempts', quick, [busy, refused]],
    ['is thrown when time is over', { ...quick, forMs: 0 }, [busy]],
  ])('an error %s', async (_, how, errors) => {
    await expect(retry(how, failing(...errors))).rejects.toBe(errors.at(-1));
  });
});

describe('a question to the server', () => {
  const given: number[] = [];
  const connection = {
    withDeadline: <T>(deadline: number | Date, question: () => Promise<T>): Promise<T> => {
      given.push(Number(deadline) - Date.now());
      return question();
    },
  };

  it('gives the answer, and the server ten seconds for it', async () => {
    expect(await ask({ connection }, 'listing', async () => 7)).toBe(7);
    expect(Math.round(Number(given.at(-1)) / 1000)).toBe(10);
  });

  it('names what was tried where it fails', async () => {
    const late = Promise.reject(grpc(STATUS.deadlineExceeded, 'late'));
    await expect(ask({ connection }, 'listing', () => late)).rejects.toMatchObject({
      code: 'no_server',
      message: 'listing failed: the Temporal server does not answer',
    });
  });
});

test.each([
  [
    STATUS.deadlineExceeded,
    'context deadline exceeded',
    { isSilent: true, isFailing: false, isSpent: false },
  ],
  [
    STATUS.failedPrecondition,
    'Unable to perform workflow execution update due to Workflow Task in failed state.',
    { isSilent: false, isFailing: true, isSpent: false },
  ],
  [
    STATUS.failedPrecondition,
    'The limit on the total number of distinct updates in this workflow has been reached (2000). Make sure …',
    { isSilent: false, isFailing: false, isSpent: true },
  ],
  [
    STATUS.resourceExhausted,
    'limit on number of concurrent in-flight updates has been reached (10).',
    { isSilent: false, isFailing: false, isSpent: false },
  ],
])('why an update got no answer: %s %s', (code, details, expected) => {
  const error = new ServiceError('failed', { cause: grpc(code, details) });
  const [isSilent, isFailing] = [isSilence(error), isTaskFailing(error)];
  expect({ isSilent, isFailing, isSpent: isUpdateTotal(detailsOf(error)) }).toEqual(expected);
});

const SENT_TIMES = 'name resolution: 0.001s,metadata filters: 0.001s,LB pick: 0.001s';

test.each([
  [
    'sent, and not answered in time',
    STATUS.deadlineExceeded,
    `Deadline exceeded after 10.000s,${SENT_TIMES},remote_addr=127.0.0.1:7233`,
    true,
  ],
  [
    'sent, in a moment in which gRPC names no address',
    STATUS.deadlineExceeded,
    `Deadline exceeded after 10.000s,${SENT_TIMES}`,
    true,
  ],
  ['sent, and its connection broke', STATUS.unavailable, 'Connection dropped', true],
  [
    'never sent: no address was found in time',
    STATUS.deadlineExceeded,
    'Deadline exceeded after 5.000s,waiting for name resolution',
    false,
  ],
  [
    'never sent: no connection was made in time',
    STATUS.deadlineExceeded,
    'Deadline exceeded after 5.000s,name resolution: 0.001s,metadata filters: 0.001s,Waiting for LB pick',
    false,
  ],
  [
    'never sent: the name is not known',
    STATUS.unavailable,
    'Name resolution failed for target dns:nowhere:7233',
    false,
  ],
  [
    'never sent: nobody listens',
    STATUS.unavailable,
    'No connection established. Last error: connect ECONNREFUSED 127.0.0.1:7233',
    false,
  ],
  ['sent by an earlier try', STATUS.unavailable, `No connection established; ${SENT_BEFORE}`, true],
  ['answered with a no', STATUS.permissionDenied, 'no', false],
])('whether the answer of a request is lost that was %s', (_, code, details, isLost) => {
  expect(isAnswerLost(new ServiceError('failed', { cause: grpc(code, details) }))).toBe(isLost);
});
