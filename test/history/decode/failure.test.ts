import { defaultDataConverter, defaultPayloadConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { decodeFailure, rootOf } from '../../../src/history/decode/failure';
import { Payloads } from '../../../src/history/decode/payloads';

type Failure = temporal.api.failure.v1.IFailure;

const { TimeoutType } = temporal.api.enums.v1;
const payload = (value: unknown) => defaultPayloadConverter.toPayload(value) ?? {};
const decode = (failure: Failure | null | undefined) =>
  decodeFailure(failure, new Payloads(defaultDataConverter, undefined));
const timeout = (timeoutType: number, more: object = {}): Failure => ({
  message: 'late',
  timeoutFailureInfo: { timeoutType, ...more },
});

it.each<[string, Failure | null | undefined, object]>([
  ['none', undefined, { message: '', kind: 'other', details: [] }],
  ['null', null, { message: '', kind: 'other', details: [] }],
  ['one without a message', {}, { message: '', kind: 'other', details: [] }],
  [
    'of an application, with its details',
    {
      message: 'no',
      applicationFailureInfo: { type: 'a.b', details: { payloads: [payload(1), payload('x')] } },
    },
    { message: 'no', kind: 'application', type: 'a.b', details: [1, 'x'] },
  ],
  [
    'of an application without a type',
    { message: 'no', applicationFailureInfo: { type: '' } },
    { message: 'no', kind: 'application', details: [] },
  ],
  [
    'details that cannot be read',
    { applicationFailureInfo: { details: { payloads: [{ data: Buffer.from('?') }, payload(2)] } } },
    { message: '', kind: 'application', details: [undefined, 2] },
  ],
  ['a cancellation', { canceledFailureInfo: {} }, { message: '', kind: 'canceled', details: [] }],
  [
    'a timeout of the attempt',
    timeout(TimeoutType.TIMEOUT_TYPE_START_TO_CLOSE),
    { message: 'late', kind: 'timeout', timeout: 'START_TO_CLOSE', details: [] },
  ],
  [
    'a timeout before any start',
    timeout(TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_START),
    { message: 'late', kind: 'timeout', timeout: 'SCHEDULE_TO_START', details: [] },
  ],
  [
    'a timeout over all attempts',
    timeout(TimeoutType.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE),
    { message: 'late', kind: 'timeout', timeout: 'SCHEDULE_TO_CLOSE', details: [] },
  ],
  [
    'a heartbeat that stayed away, after some with details',
    timeout(TimeoutType.TIMEOUT_TYPE_HEARTBEAT, { lastHeartbeatDetails: { payloads: [payload('half')] } }),
    { message: 'late', kind: 'timeout', timeout: 'HEARTBEAT', beaten: true, beat: 'half', details: [] },
  ],
  ['a timeout of a kind nobody knows', timeout(99), { message: 'late', kind: 'timeout', details: [] }],
  [
    'a message that the failure converter encoded',
    { message: 'Encoded failure', encodedAttributes: payload({ message: 'really' }) },
    { message: 'really', kind: 'other', details: [] },
  ],
  [
    'encoded attributes without a message',
    { message: 'Encoded failure', encodedAttributes: payload({ message: 7 }) },
    { message: 'Encoded failure', kind: 'other', details: [] },
  ],
  [
    'encoded attributes that cannot be read',
    { message: 'Encoded failure', encodedAttributes: { data: Buffer.from('?') } },
    { message: 'Encoded failure', kind: 'other', details: [] },
  ],
])('decodes a failure: %s', async (_case, failure, expected) => {
  expect(await decode(failure)).toEqual(expected);
});

it('finds what really went wrong at the end of the causes', async () => {
  const failure = await decode({
    message: 'outer',
    cause: { message: 'middle', cause: { message: 'inner' } },
  });
  expect(failure).toMatchObject({ cause: { message: 'middle', cause: { message: 'inner' } } });
  expect(rootOf(failure).message).toBe('inner');
  expect(rootOf(await decode({ message: 'alone' })).message).toBe('alone');
});
