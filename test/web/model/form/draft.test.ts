import fc from 'fast-check';
import type { Json, JsonObject } from '../../../../src/contract/json';
import {
  atField,
  issuesAt,
  issuesOf,
  parseJson,
  parseNumber,
  pointerOf,
  setAt,
  setText,
  valueAt,
  type ArgumentsDraft,
  type Path,
} from '../../../../src/web/model/form/draft';

const draft = (value: JsonObject, texts = {}): ArgumentsDraft => ({ value, texts });

const CASES: [string, JsonObject, Path, Json | undefined, JsonObject][] = [
  ['a leaf', { a: 1, b: 2 }, ['a'], 3, { a: 3, b: 2 }],
  ['a new leaf', { a: 1 }, ['b'], 2, { a: 1, b: 2 }],
  ['below', { a: { b: [1, 2] } }, ['a', 'b', 1], 3, { a: { b: [1, 3] } }],
  ['an item at the end', { a: [1] }, ['a', 1], 2, { a: [1, 2] }],
  ['a leaf out', { a: 1, b: 2 }, ['a'], undefined, { b: 2 }],
  ['an item out', { a: [1, 2, 3] }, ['a', 1], undefined, { a: [1, 3] }],
  ['into what is not there', {}, ['a', 'b'], 1, { a: { b: 1 } }],
  ['a name that every object has', {}, ['constructor'], 1, { constructor: 1 } as unknown as JsonObject],
];

it.each(CASES)('sets %s', (_, before, path, value, after) => {
  const given = structuredClone(before);
  expect(setAt(draft(given), path, value).value).toEqual(after);
  expect(given).toEqual(before);
});

it('keeps the order of names', () => {
  expect(Object.keys(setAt(draft({ b: 1, a: 2 }), ['b'], 3).value)).toEqual(['b', 'a']);
});

it('reads back what it set, and leaves the rest', () => {
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
  fc.assert(
    fc.property(fc.dictionary(fc.string(), leaf), fc.string(), leaf, (value, name, json) => {
      fc.pre(name !== '__proto__' && !Object.hasOwn(value, '__proto__'));
      const after = setAt(draft(value), [name], json).value;
      expect(valueAt(after, [name])).toEqual(json);
      for (const other of Object.keys(value)) if (other !== name) expect(after[other]).toEqual(value[other]);
    }),
  );
});

describe('typing JSON', () => {
  it('takes it when it is JSON', () => {
    expect(setText(draft({ a: 1 }, { '/a': '{' }), ['a'], '{"b":2}')).toEqual(draft({ a: { b: 2 } }));
  });

  it('keeps the last good value and says so until then', () => {
    const typed = setText(draft({ a: 1 }), ['a'], '{"b":');
    expect(typed).toEqual(draft({ a: 1 }, { '/a': '{"b":' }));
    expect(issuesOf(typed, undefined)).toEqual([{ path: '/a', message: 'is not JSON' }]);
  });

  it('wants an object as the whole', () => {
    const typed = setText(draft({ a: 1 }), [], '[1]');
    expect(issuesOf(typed, undefined)).toEqual([{ path: '', message: 'has to be an object' }]);
  });

  it('forgets what was typed below a place that gets another value', () => {
    const typed = draft({ a: { b: 1 } }, { '/a/b': '{', '/ab': '{' });
    expect(setAt(typed, ['a'], 1).texts).toEqual({ '/ab': '{' });
  });

  it.each(['', '{', '1e999', '{"__proto__":1}', 'undefined', '['.repeat(200) + ']'.repeat(200)])(
    'refuses %j',
    (text) => {
      expect(parseJson(text)).toBeUndefined();
    },
  );
});

it.each([
  ['1', 1],
  ['-1.50', -1.5],
  ['1.', 1],
  ['.5', 0.5],
  ['1e3', 1000],
  [' 7 ', 7],
  ['', ''],
  ['1,5', '1,5'],
  ['0x10', '0x10'],
  ['1e999', '1e999'],
  ['Infinity', 'Infinity'],
  ['9007199254740993', '9007199254740993'],
])('reads the number %j as %j', (text, value) => {
  expect(parseNumber(text)).toBe(value);
});

it.each([
  [[], ''],
  [['a', 0], '/a/0'],
  [['a/b', '~', 'x y'], '/a~1b/~0/x%20y'],
])('the pointer of %j is %j', (path, pointer) => {
  expect(pointerOf(path)).toBe(pointer);
});

describe('mistakes', () => {
  const schema = {
    type: 'object',
    required: ['order', 'lines'],
    additionalProperties: false,
    properties: {
      order: { type: 'string' },
      amount: { type: 'number', maximum: 500 },
      lines: {
        type: 'array',
        items: { type: 'object', required: ['a/b'], properties: { 'a/b': { type: 'integer' } } },
      },
    },
  };

  it.each([
    ['a number that is none', { order: '1', lines: [], amount: '12a' }, ['amount'], 1],
    ['a number that is too large', { order: '1', lines: [], amount: 900 }, ['amount'], 1],
    ['a missing field', { lines: [] }, ['order'], 1],
    ['a missing field of an item', { order: '1', lines: [{}] }, ['lines', 0, 'a/b'], 1],
    ['a wrong field of an item', { order: '1', lines: [{ 'a/b': 'x' }] }, ['lines', 0, 'a/b'], 1],
    ['nothing', { order: '1', lines: [] }, [], 0],
  ])('are told at their field: %s', (_, value, path, count) => {
    const issues = issuesOf(draft(JSON.parse(JSON.stringify(value))), schema);
    expect(issuesAt(issues, path).length).toBe(count);
    expect(issues.length === 0).toBe(count === 0);
  });

  it('leave others as they are', () => {
    expect(atField({ path: '/a', message: 'is too long' })).toEqual({ path: '/a', message: 'is too long' });
  });
});
