import { assertUsableSchema, isUsablePattern, toPlainJson } from '../../../src/contract/schema/usable-schema';
import type { JsonSchema } from '../../../src/contract/tool';

it.each<[string, unknown, RegExp]>([
  [
    'a required name that there is none of',
    { type: 'object', required: ['a'] },
    /required parameter a is not among/,
  ],
  ['a text', 'object', /plain JSON/],
  ['a root that is not an object', { type: 'string' }, /must have `type: "object"`/],
  ['a schema with a date in it', holding(new Date(0)), /plain JSON/],
  ['a schema with a function in it', holding(() => 1), /plain JSON/],
  ['a schema with a number that JSON cannot write', holding(NaN), /plain JSON/],
  ['a schema with what is not defined', holding(undefined), /plain JSON/],
  ['a schema with a map in it', holding(new Map()), /plain JSON/],
  ['a schema with a hole in a list', holding(new Array(1)), /plain JSON/],
  ['a schema without an end', endless(), /at most 100 levels/],
  [
    'a pattern that needs look-around',
    { type: 'object', properties: { a: { pattern: '(?=a)' } } },
    /linear time/,
  ],
  [
    'many patterns that are large together',
    {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 30 }, (_, index) => [`a${index}`, { pattern: '\\p{L}'.repeat(10) }]),
      ),
    },
    /too large together: it has more than 200/,
  ],
  [
    'a reference out of the schema',
    { type: 'object', properties: { a: { $ref: 'http://x/y' } } },
    /leads outside/,
  ],
  ['a reference to nothing', { type: 'object', properties: { a: { $ref: '#/$defs/b' } } }, /leads nowhere/],
  [
    'a unique list without a limit',
    { type: 'object', properties: { a: { type: 'array', uniqueItems: true } } },
    /needs `maxItems`/,
  ],
])('refuses %s', (_, schema, message) => {
  expect(() => assertUsableSchema(schema)).toThrow(message);
});

it.each([
  ['no parameters', { type: 'object' }],
  [
    'a reference inside',
    { type: 'object', properties: { a: { $ref: '#/$defs/b' } }, $defs: { b: { type: 'string' } } },
  ],
  ['a reference in data', { type: 'object', properties: { a: { const: { $ref: 'http://x/y' } } } }],
  [
    'a short unique list',
    { type: 'object', properties: { a: { type: 'array', uniqueItems: true, maxItems: 9 } } },
  ],
])('takes a schema with %s', (_, schema) => {
  expect(assertUsableSchema(schema)).toEqual(schema);
});

it('returns a copy that shares nothing with the schema', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  for (const copy of [assertUsableSchema(schema), toPlainJson(schema)]) {
    expect(copy).toEqual(schema);
    expect(copy['properties']).not.toBe(schema.properties);
  }
});

it.each([
  ['^[a-z]+$', true],
  ['(?=a)', false],
  ['(', false],
])('says of the pattern %s whether it can be used: %s', (pattern, expected) => {
  expect(isUsablePattern(pattern)).toBe(expected);
});

/** What callers without types may hand over: a schema with any value as a default. */
function holding(value: unknown): JsonSchema {
  const schema: JsonSchema = { type: 'object', properties: { a: {} } };
  Reflect.set(schema, 'default', value);
  return schema;
}

function endless(): JsonSchema {
  const schema = holding({});
  return Object.assign(schema, { properties: { a: schema } });
}
