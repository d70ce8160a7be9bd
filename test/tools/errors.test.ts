import { isNetworkError } from '../../src/tools/errors';

const error = (message: string, facts: object = {}): Error => Object.assign(new Error(message), facts);
const reset = error('read ECONNRESET', { code: 'ECONNRESET' });

const broken: [string, unknown][] = [
  ['a cause', error('x', { cause: reset })],
  ['one of several errors', new AggregateError([new Error('a'), reset], 'x')],
  ['an object of errors', error('x', { errors: { a: reset } })],
  ['the detail of Stripe', error('x', { type: 'StripeConnectionError', detail: reset })],
  ['a raw error, two steps down', error('x', { originalError: error('y', { raw: reset }) })],
  ['axios that was cancelled', error('canceled', { code: 'ERR_CANCELED', name: 'CanceledError' })],
  ['axios without an answer', error('Network Error', { code: 'ERR_NETWORK' })],
  ['axios whose answer broke off', error('stream has been aborted', { code: 'ERR_BAD_RESPONSE' })],
  ['gRPC that lost its server', error('14 UNAVAILABLE: dropped', { code: 14, details: 'dropped' })],
  ['gRPC that had no answer in time', error('4 DEADLINE_EXCEEDED', { code: 4 })],
  ['gRPC with metadata', error('x', { code: 14, metadata: {} })],
  [
    'Connect that lost its server',
    error('[unavailable] read failed', { name: 'ConnectError', rawMessage: 'read failed' }),
  ],
  ['Postgres', error('Connection terminated unexpectedly')],
  ['node-fetch', error('socket hang up', { name: 'FetchError', code: 'ECONNRESET' })],
  ['the body of node-fetch', error('Response timeout', { type: 'body-timeout' })],
  ['an abort', new DOMException('x', 'AbortError')],
  ...[
    ...['EHOSTUNREACH', 'ENETUNREACH', 'EPROTO', 'EPIPE', 'HPE_INVALID_CONSTANT', 'ERR_STREAM_DESTROYED'],
    ...['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'PROTOCOL_CONNECTION_LOST', 'UND_ERR_SOCKET'],
  ].map((code): [string, unknown] => [code, error('x', { code })]),
];

test.each(broken)('a connection that broke: %s', (_, thrown) => {
  expect(isNetworkError(thrown)).toBe(true);
});

const circle = error('a');
Object.assign(circle, { inner: error('b', { outer: circle }) });
const hostile = error('x');
Object.defineProperty(hostile, 'detail', {
  get: () => {
    throw new Error('no');
  },
});

test.each<[string, unknown]>([
  ['a connection that was never made', error('x', { code: 'ECONNREFUSED' })],
  ['one of node-fetch that was never made', error('x', { name: 'FetchError', code: 'ECONNREFUSED' })],
  ['a name that is not there', error('x', { code: 'ENOTFOUND' })],
  ['gRPC that said no', error('7 PERMISSION_DENIED: x', { code: 7, details: 'x' })],
  ['a number that is not of gRPC', error('x', { code: 14 })],
  ['text', 'fetch failed'],
  ['a message that was wrapped', error('bank: fetch failed')],
  ['an error that holds others', error('x', { detail: new Error('y'), errors: { a: new Error('z') } })],
  ['a circle', circle],
  ['a getter that throws', hostile],
])('nothing that says so: %s', (_, thrown) => {
  expect(isNetworkError(thrown)).toBe(false);
});
