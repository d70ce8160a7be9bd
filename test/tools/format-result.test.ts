import fc from 'fast-check';
import {
  describeBytes,
  describeFailure,
  formatResult,
  messageOf,
  toPrettyJson,
} from '../../src/tools/format-result';
import { LIMITS } from '../../src/contract/limits';
import { ToolError, TransportError } from '../../src/tools/errors';

class Point {
  constructor(
    readonly x: number,
    readonly y: number,
  ) {}
}

const circle: Record<string, unknown> = { name: 'a' };
circle['self'] = circle;
circle['list'] = [circle];

const shared = { a: 1 };

const json = (value: unknown): string => JSON.stringify(value, null, 2);

it.each<[string, unknown, string, string]>([
  ['text', 'a\nb', 'a\nb', 'text'],
  ['empty text', '', '', 'text'],
  ['null', null, 'null', 'text'],
  ['undefined', undefined, 'null', 'text'],
  ['a number', 1.5, '1.5', 'text'],
  ['NaN', Number.NaN, 'NaN', 'text'],
  ['a boolean', false, 'false', 'text'],
  ['a bigint', 12345678901234567890n, '12345678901234567890', 'text'],
  ['a symbol', Symbol('s'), 'Symbol(s)', 'text'],
  ['a function', function work() {}, '[function work]', 'text'],
  ['a date', new Date(0), '1970-01-01T00:00:00.000Z', 'text'],
  ['a date that is none', new Date(Number.NaN), 'Invalid Date', 'text'],
  ['an error', new TypeError('no'), 'TypeError: no', 'text'],
  ['a buffer', Buffer.from('hello'), '[binary, 5 bytes, base64] aGVsbG8=', 'application/octet-stream'],
  [
    'a view on a part',
    new Uint8Array([0, 1, 2, 3]).subarray(1, 3),
    '[binary, 2 bytes, base64] AQI=',
    'application/octet-stream',
  ],
  ['an array buffer', new ArrayBuffer(1), '[binary, 1 bytes, base64] AA==', 'application/octet-stream'],
  ['a list', [1, 'a', null], json([1, 'a', null]), 'json'],
  ['an empty list', [], '[]', 'json'],
  ['an object', { a: { b: 1 } }, json({ a: { b: 1 } }), 'json'],
  ['an instance', new Point(1, 2), json({ x: 1, y: 2 }), 'json'],
  ['a map by text', new Map([['a', 1]]), json({ a: 1 }), 'json'],
  ['a map by else', new Map([[1, 'a']]), json([[1, 'a']]), 'json'],
  ['a set', new Set([1, 2]), json([1, 2]), 'json'],
  ['own toJSON', { toJSON: () => ({ a: 1 }) }, json({ a: 1 }), 'json'],
  [
    'odd things inside',
    {
      n: 1n,
      i: Infinity,
      d: new Date(0),
      e: new Error('x'),
      b: Buffer.from('a'),
      s: new Set(['x']),
      u: undefined,
    },
    json({
      n: '1',
      i: 'Infinity',
      d: '1970-01-01T00:00:00.000Z',
      e: { name: 'Error', message: 'x' },
      b: '[binary, 1 bytes, base64] YQ==',
      s: ['x'],
    }),
    'json',
  ],
  ['a circle', circle, json({ name: 'a', self: '[circular]', list: ['[circular]'] }), 'json'],
  ['a thing twice is no circle', [shared, shared], json([shared, shared]), 'json'],
  ['text of a kind', { content: '<p>', contentType: 'text/html' }, '<p>', 'text/html'],
  [
    'that and more',
    { content: 'a', contentType: 'b', c: 1 },
    json({ content: 'a', contentType: 'b', c: 1 }),
    'json',
  ],
  [
    'parts',
    [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ],
    'a\nb',
    'text',
  ],
  ['parts inside', { content: [{ type: 'text', text: 'a' }] }, 'a', 'text'],
  [
    'an image',
    [{ type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' }],
    '[image image/png, 5 bytes]',
    'text',
  ],
  ['a link', [{ type: 'resource_link', uri: 'file:///a' }], '[resource file:///a]', 'text'],
  ['a resource', [{ type: 'resource', resource: { uri: 'file:///a', text: 'words' } }], 'words', 'text'],
  ['no parts', [{ type: 'text' }], json([{ type: 'text' }]), 'json'],
])('%s', (...[, value, content, contentType]) => {
  expect(formatResult(value)).toEqual({ content, contentType });
});

const revoked = (): object => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const hostileError = (): Error => {
  const error = new Error('x');
  Object.defineProperty(error, 'message', {
    get() {
      throw error;
    },
  });
  return error;
};

const deep = (): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < 100_000; level++) value = [value];
  return value;
};

it.each<[string, unknown]>([
  [
    'a getter that throws',
    {
      get a() {
        throw new Error('boom');
      },
    },
  ],
  [
    'a toJSON that throws',
    {
      toJSON() {
        throw new Error('boom');
      },
    },
  ],
  [
    'something thrown that cannot be read',
    {
      toJSON() {
        throw hostileError();
      },
    },
  ],
  ['a revoked proxy', revoked()],
  ['an error that cannot be read', hostileError()],
  ['too deep a list', deep()],
  ['an object without a prototype', Object.create(null)],
  ['a typed name', Object.assign(() => 1, { toString: null })],
])('%s is text all the same', (_, value) => {
  expect(typeof formatResult(value).content).toBe('string');
});

it('never throws and always gives text', () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withTypedArray: true,
    withNullPrototype: true,
    withSparseArray: true,
  });
  fc.assert(
    fc.property(anything, (value) => {
      const { content, contentType } = formatResult(value);
      expect([typeof content, typeof contentType]).toEqual(['string', 'string']);
      if (contentType === 'json') expect(() => JSON.parse(content)).not.toThrow();
    }),
  );
});

it.each<[string, unknown, unknown]>([
  ['a map with text as keys is an object', new Map([['a', 1]]), { a: 1 }],
  ['any other map is a list of pairs', new Map([[1, 'a']]), [[1, 'a']]],
  ['a set is a list', new Set([1, 2]), [1, 2]],
  ['a bigint is text', [1n], ['1']],
  ['a symbol is text', [Symbol('s')], ['Symbol(s)']],
  ['a function is named', [function pay() {}], ['[function pay]']],
  ['a function without a name says so', [() => undefined], ['[function without a name]']],
  ['NaN and Infinity are text', [Number.NaN, Number.POSITIVE_INFINITY], ['NaN', 'Infinity']],
  ['an error is its name and message', [new TypeError('bad')], [{ name: 'TypeError', message: 'bad' }]],
  ['bytes are marked', [Buffer.from('hi')], ['[binary, 2 bytes, base64] aGk=']],
  ['a date is ISO 8601', [new Date(0)], ['1970-01-01T00:00:00.000Z']],
])('%s', (_, value, expected) => {
  expect(JSON.parse(toPrettyJson(value))).toEqual(expected);
});

it('marks a value within itself, but not a value that stands twice', () => {
  const shared = { n: 1 };
  const self: Record<string, unknown> = { one: shared, other: shared };
  self['self'] = self;
  expect(JSON.parse(toPrettyJson(self))).toEqual({ one: { n: 1 }, other: { n: 1 }, self: '[circular]' });
});

it.each<[string, unknown, string]>([
  ['a buffer', Buffer.from('hi'), 'hi'],
  ['a part of a buffer', Buffer.from('-hi-').subarray(1, 3), 'hi'],
  ['a typed array', new Uint8Array([104, 105]), 'hi'],
  ['an ArrayBuffer', new Uint8Array([104, 105]).buffer, 'hi'],
])('the bytes of %s', (_, value, text) => {
  expect(formatResult(value).content).toBe(describeBytes(Buffer.from(text)));
});

it('says how many bytes there are', () => {
  expect(describeBytes(Buffer.from('hi'))).toBe('[binary, 2 bytes, base64] aGk=');
});

/** An error that throws whenever it is read. */
const hostile = (): Error =>
  new Proxy(new Error('x'), {
    get() {
      throw new Error('no');
    },
  });

it.each<[string, unknown, string]>([
  ['an error', new Error('no bank'), 'no bank'],
  ['an error without a message', new Error(), 'it failed without a message'],
  ['text', 'no bank', 'no bank'],
  ['a number', 7, '7'],
  ['undefined', undefined, 'undefined'],
  ['an object', { why: 'no bank' }, '{\n  "why": "no bank"\n}'],
])('the message of %s', (_, thrown, message) => {
  expect(messageOf(thrown)).toBe(message);
});

it('reads an error that cannot be read as one without a message', () => {
  expect(messageOf(hostile())).toBe('it failed without a message');
  expect(describeFailure(hostile())).toEqual({ code: 'tool', message: 'it failed without a message' });
});

it('cuts a message that is too long', () => {
  expect(Buffer.byteLength(messageOf(new Error('é'.repeat(100_000))))).toBeLessThanOrEqual(4 * 1024);
});

it.each<[string, unknown]>([
  ['text', 'no bank'],
  ['an error without one', Object.assign(new Error('x'), { stack: undefined })],
])('%s has no stack', (_, thrown) => {
  expect(describeFailure(thrown)).not.toHaveProperty('stack', expect.anything());
});

it('cuts a stack to its limit', () => {
  const { stack = '' } = describeFailure(Object.assign(new Error('x'), { stack: 'at a\n'.repeat(100_000) }));
  expect(stack).toContain('at a');
  expect(Buffer.byteLength(stack)).toBeLessThanOrEqual(LIMITS.stackBytes);
});

it('cuts details that are too long into text', () => {
  const { details } = describeFailure(new ToolError('x', { details: { text: 'x'.repeat(100_000) } }));
  expect(typeof details).toBe('string');
  expect(Buffer.byteLength(String(details))).toBeLessThanOrEqual(16 * 1024);
});

it('writes details that JSON has no form for as text', () => {
  const error = new ToolError('x');
  Object.defineProperty(error, 'details', { value: { n: 1n } });
  expect(describeFailure(error)).toMatchObject({ details: { n: '1' } });
});

it.each<[string, unknown, object]>([
  [
    'a ToolError',
    new ToolError('no stock', { details: { left: 0 } }),
    { code: 'tool', details: { left: 0 } },
  ],
  ['a conflict', new ToolError('changed', { code: 'conflict' }), { code: 'conflict', message: 'changed' }],
  ['a TransportError', new TransportError('no route'), { code: 'transport', message: 'no route' }],
  [
    'a TransportError with facts',
    new TransportError('no route', { details: { code: -32602 } }),
    { code: 'transport', details: { code: -32602 } },
  ],
  ['another error', new Error('bug'), { code: 'tool', stack: expect.stringContaining('bug') }],
])('%s as a failure', (_, thrown, failure) => {
  expect(describeFailure(thrown)).toMatchObject(failure);
});

it('keeps the blocks beside a text, without secrets, and knows no other field there', () => {
  const hide = (text: string): string => text.replaceAll('hunter2', '***');
  const blocks = { content: [{ type: 'text', text: 'hunter2' }] };
  const given = { content: 'hunter2', contentType: 'text', blocks };
  expect(formatResult(given, hide)).toEqual({
    ...{ content: '***', contentType: 'text' },
    blocks: { content: [{ type: 'text', text: '***' }] },
  });
  expect(formatResult({ ...given, other: 1 }).contentType).toBe('json');
});
