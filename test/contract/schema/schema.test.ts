import { applyDefaults, checkSchema } from '../../../src/contract/schema/schema';
import type { JsonObject } from '../../../src/contract/json';

const counted: JsonObject = { type: 'object', properties: { n: { type: 'number', default: 7 } } };
const schema: JsonObject = {
  type: 'object',
  properties: {
    list: { type: 'array', items: counted },
    record: { type: 'object', additionalProperties: counted },
    either: { anyOf: [counted, { type: 'null' }] },
    path: { type: 'string', minLength: 1 },
    depth: { type: 'integer', default: 2 },
    options: { type: 'object', properties: { all: { type: 'boolean', default: true } }, default: {} },
    edits: {
      type: 'array',
      items: { type: 'object', properties: { old: { type: 'string' } }, required: ['old'] },
    },
  },
  required: ['path'],
  additionalProperties: false,
};

it.each<[string, unknown, string[]]>([
  ['what fits', { path: 'a' }, []],
  ['a missing property', {}, ['']],
  ['a wrong type', { path: 7 }, ['/path']],
  ['an unknown property', { path: 'a', extra: 1 }, ['/extra']],
  ['a nested one', { path: 'a', edits: [{ old: 'x' }, { old: 1 }] }, ['/edits/1/old']],
  ['two at once', { path: '', depth: 1.5 }, ['/path', '/depth']],
  ['null', null, ['']],
  ['undefined', undefined, ['']],
  ['a function', () => 1, ['']],
])('%s', (_, value, paths) => {
  expect([...new Set(checkSchema(schema, value).map((issue) => issue.path))].sort()).toEqual(
    [...paths].sort(),
  );
});

it('does not let a schema that cannot be followed pass', () => {
  expect(checkSchema({ $ref: '#/$defs/none' }, {})).toHaveLength(1);
});

it('says what is wrong with an unknown property', () => {
  expect(checkSchema(schema, { path: 'a', extra: 1 })).toEqual([
    { path: '/extra', message: 'is not a known property' },
  ]);
});

it('does not take bytes for an object', () => {
  expect(checkSchema(schema, new Uint8Array(3))).not.toEqual([]);
});

it.each<[JsonObject, JsonObject]>([
  [{ path: 'a' }, { path: 'a', depth: 2, options: { all: true } }],
  [
    { path: 'a', depth: 0, options: { all: false } },
    { path: 'a', depth: 0, options: { all: false } },
  ],
  [{ options: { other: 1 } }, { depth: 2, options: { other: 1, all: true } }],
  [
    {
      list: [{}, { n: 1 }, 'text'],
      record: { a: {}, b: { n: 2 } },
      either: {},
    },
    {
      depth: 2,
      options: { all: true },
      list: [{ n: 7 }, { n: 1 }, 'text'],
      record: { a: { n: 7 }, b: { n: 2 } },
      either: {},
    },
  ],
])('defaults of %j', (given, expected) => {
  const before = JSON.stringify(given);
  expect(applyDefaults(schema, given)).toEqual(expected);
  expect(JSON.stringify(given)).toBe(before);
});

it('leaves out defaults that alone make the arguments unfit', () => {
  const given = { properties: { a: { default: 1 }, b: {} }, dependentRequired: { a: ['b'] } };
  expect(applyDefaults(given, {})).toEqual({});
  expect(applyDefaults(given, { b: 2 })).toEqual({ a: 1, b: 2 });
});

it('takes null for an optional key as absent, so that its default counts', () => {
  expect(applyDefaults(schema, { path: 'a', depth: null })).toMatchObject({ depth: 2 });
});

it('takes a key called __proto__ for a key', () => {
  const given: JsonObject = JSON.parse('{"__proto__":{"depth":9}}');
  const filled = applyDefaults(schema, given);
  expect(filled['depth']).toBe(2);
  expect(Object.getPrototypeOf(filled)).toBe(Object.prototype);
  expect(JSON.stringify(filled)).toContain('"__proto__":{"depth":9}');
});
