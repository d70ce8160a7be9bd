import fc from 'fast-check';
import { formatResult } from '../../src/tools/format-result';

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
