import {
  defaultDataConverter,
  defaultPayloadConverter,
  type Payload,
  type PayloadCodec,
} from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { makeDecode, type HistoryEvent } from '../../../src/history/decode/decode';
import { rootOf } from '../../../src/history/decode/failure';
import { toIso, toNumber } from '../../../src/history/decode/proto';

const payload = (value: unknown): Payload => defaultPayloadConverter.toPayload(value) ?? {};
const signal = (payloads: Payload[] | null): HistoryEvent => ({
  workflowExecutionSignaledEventAttributes: {
    signalName: 'approval',
    identity: 'me',
    input: payloads && { payloads },
  },
});

test('what every event has', async () => {
  const eventTime = { seconds: 1767225600, nanos: 123_456_789 } as unknown as HistoryEvent['eventTime'];
  const event = { eventId: 7, eventTime } as unknown as HistoryEvent;
  expect(await makeDecode()(event)).toEqual({ eventId: 7, at: '2026-01-01T00:00:00.123Z', kind: 'other' });
});

test('a kind of event without payloads is decoded at once', () => {
  const decode = makeDecode();
  expect(decode({ workflowTaskCompletedEventAttributes: {} })).toMatchObject({ kind: 'task_completed' });
  expect(decode(signal(null))).toBeInstanceOf(Promise);
});

test.each([
  ['JSON', [payload({ callId: '1.1' })], { callId: '1.1' }],
  ['null', [payload(null)], null],
  ['nothing', [], undefined],
  ['no payloads at all', null, undefined],
  [
    'bytes that are no JSON',
    [{ metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('{"a') }],
    undefined,
  ],
  [
    'an encoding nobody knows',
    [{ metadata: { encoding: Buffer.from('secret/x') }, data: Buffer.from('x') }],
    undefined,
  ],
  ['a payload without metadata', [{ data: Buffer.from('x') }], undefined],
])('a signal with %s', async (_, payloads, input) => {
  expect(await makeDecode()(signal(payloads))).toMatchObject({
    kind: 'signaled',
    name: 'approval',
    identity: 'me',
    input,
  });
});

/** Turns bytes around; enough to tell that codecs are used, in order. */
const mirror: PayloadCodec = {
  encode: async (payloads) => payloads.map(turn),
  decode: async (payloads) => payloads.map(turn),
};
const turn = (one: Payload): Payload => ({ ...one, data: Uint8Array.from(one.data ?? []).reverse() });
const broken: PayloadCodec = {
  encode: async (payloads) => payloads,
  decode: async () => {
    throw new Error('no key');
  },
};

test('payloads go through the codecs, last one first', async () => {
  const last: PayloadCodec = {
    ...mirror,
    decode: async (payloads) => payloads.map((one) => ({ ...one, data: one.data?.slice(1) ?? null })),
  };
  const decode = makeDecode({ ...defaultDataConverter, payloadCodecs: [mirror, last] });
  const sent = turn(payload({ callId: '1.1' }));
  const encoded = { ...sent, data: Uint8Array.from([0, ...(sent.data ?? [])]) };
  expect(await decode(signal([encoded]))).toMatchObject({ input: { callId: '1.1' } });
});

test('without its key a payload is unreadable, and nothing throws', async () => {
  const decode = makeDecode({ ...defaultDataConverter, payloadCodecs: [broken] });
  expect(await decode(signal([payload(1)]))).toMatchObject({ kind: 'signaled', input: undefined });
});

test('a failure with its cause, details and timeout; its message too where that was encoded', async () => {
  const { TIMEOUT_TYPE_HEARTBEAT } = temporal.api.enums.v1.TimeoutType;
  const failure = {
    message: 'Encoded failure',
    encodedAttributes: payload({ message: 'real words' }),
    applicationFailureInfo: { type: 'x', details: { payloads: [payload(1)] } },
    cause: { message: 'late', timeoutFailureInfo: { timeoutType: TIMEOUT_TYPE_HEARTBEAT } },
  };
  const event = await makeDecode()({ workflowExecutionFailedEventAttributes: { failure } });
  if (event.kind !== 'failed') throw new Error(event.kind);
  expect(event.failure).toMatchObject({
    message: 'real words',
    kind: 'application',
    type: 'x',
    details: [1],
  });
  expect(rootOf(event.failure)).toMatchObject({ message: 'late', kind: 'timeout', timeout: 'HEARTBEAT' });
});

test('a reset differs from a failed workflow task', async () => {
  const cause = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW;
  const failed = { cause, baseRunId: 'a', newRunId: 'b', failure: { message: 'me: oops' } };
  const decode = makeDecode();
  expect(await decode({ workflowTaskFailedEventAttributes: failed })).toMatchObject({
    kind: 'reset',
    baseRunId: 'a',
    newRunId: 'b',
  });
  expect(await decode({ workflowTaskFailedEventAttributes: { failure: { message: 'x' } } })).toMatchObject({
    kind: 'task_failed',
    message: 'x',
  });
});

test.each([
  [null, 0],
  [undefined, 0],
  [3, 3],
  [{ toNumber: () => 9 }, 9],
])('%p as a number', (value, expected) => expect(toNumber(value)).toBe(expected));

test('a missing time stays missing', () => expect(toIso(null)).toBeUndefined());
