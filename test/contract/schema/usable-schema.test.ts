import { usableSchema, isUsablePattern, toPlainJson } from '../../../src/contract/schema/usable-schema';
import { SchemaChecker } from '../../../src/contract/schema/check-value';
import type { JsonObject } from '../../../src/contract/json';
import type { JsonSchema } from '../../../src/contract/tool';

it.each<[string, unknown, RegExp]>([
  ['a text', 'object', /plain JSON/],
  ['a root that is not an object', { type: 'string' }, /must have `type: "object"`/],
  ['a schema with a date in it', holding(new Date(0)), /plain JSON/],
  ['a schema with a function in it', holding(() => 1), /plain JSON/],
  ['a schema with a number that JSON cannot write', holding(NaN), /plain JSON/],
  ['a schema with what is not defined', holding(undefined), /plain JSON/],
  ['a schema with a map in it', holding(new Map()), /plain JSON/],
  ['a schema with a hole in a list', holding(new Array(1)), /plain JSON/],
  ['a schema without an end', endless(), /at most 100 levels/],
])('refuses %s', (_, schema, message) => {
  expect(() => usableSchema(schema)).toThrow(message);
});

const of = (a: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { a },
  ...more,
});
const looser: JsonObject = { pattern: '(?=a)' };

it.each<[string, JsonObject]>([
  ['no parameters', { type: 'object' }],
  ['a reference inside', of({ $ref: '#/$defs/b' }, { $defs: { b: { type: 'string' } } })],
  ['a reference in data', of({ const: { $ref: 'http://x/y' } })],
  ['a parameter that has the name of a keyword', of({}, { properties: { $ref: { type: 'string' } } })],
  ['a unique list without a limit', of({ type: 'array', uniqueItems: true })],
  ['a required name that a branch declares', of({}, { required: ['b'], anyOf: [{ properties: { b: {} } }] })],
  ['defaults that fit', of({ type: 'string', default: 'x' })],
  [
    'a default that fits once the defaults in it are filled in',
    of({ type: 'object', properties: { n: { type: 'integer', default: 1 } }, required: ['n'], default: {} }),
  ],
])('takes a schema with %s', (_, schema) => {
  expect(usableSchema(schema)).toEqual({ schema, unchecked: [], misfits: [] });
});

it.each<[string, JsonObject]>([
  ['no type', { anyOf: [{ required: ['a'] }, { required: ['b'] }] }],
  ['an object or nothing', { type: ['object', 'null'] }],
])('takes a root with %s for an object', (_, schema) => {
  expect(usableSchema(schema)).toEqual({ schema: { ...schema, type: 'object' }, unchecked: [], misfits: [] });
});

it.each<[string, JsonObject, JsonObject, RegExp]>([
  ['a pattern that looks around', of(looser), of({}), /^pattern of \/a: .*linear time/],
  ['an escape that the flag u forbids', of({ pattern: '^\\@\\w+$' }), of({}), /with the flag `u`/],
  ['a flag in a pattern', of({ pattern: '(?i)abc' }), of({}), /^pattern of \/a/],
  ['a huge repetition', of({ pattern: '.{1,10000}' }), of({}), /few repetitions/],
  ['a reference out of the schema', of({ $ref: 'http://x/y' }), of({}), /\$ref http:\/\/x\/y leads outside/],
  ['a reference to nothing', of({ $ref: '#/$defs/b' }), of({}), /leads nowhere/],
  ['an old dynamic reference', of({ $recursiveRef: '#' }), of({}), /^\$recursiveRef of \/a/],
  [
    'a required name that there is none of',
    of({}, { required: ['a', 'b'] }),
    of({}, { required: ['a'] }),
    /^required parameter b is not among/,
  ],
  ['a part of what must not fit', of({ not: looser }), of({}), /pattern/],
  ['a part of a condition', of({ if: looser, then: { maxLength: 1 } }), of({}), /pattern/],
  ['what may stand only so often', of({ contains: looser, maxContains: 1 }), of({ contains: {} }), /pattern/],
  [
    'a pattern of names',
    of({}, { patternProperties: { '(?=a)': {} }, additionalProperties: false }),
    of({}, { patternProperties: {} }),
    /^patternProperties of \//,
  ],
  [
    'one of several',
    of({ oneOf: [looser, { type: 'null' }] }),
    of({ allOf: [{ anyOf: [{}, { type: 'null' }] }] }),
    /pattern/,
  ],
  [
    'what is left over',
    of({ allOf: [{ $ref: 'x:y' }], unevaluatedProperties: false }),
    of({ allOf: [{}] }),
    /leads outside/,
  ],
  [
    'a shared part of what must not fit',
    of({ not: { $ref: '#/$defs/b' } }, { $defs: { b: looser } }),
    of({}, { $defs: { b: {} } }),
    /pattern/,
  ],
])('leaves out what it cannot check: %s', (_, schema, expected, said) => {
  const usable = usableSchema(schema);
  expect(usable.schema).toEqual(expected);
  expect(usable.unchecked[0]).toMatch(said);
});

it('leaves out patterns that are large together, and keeps those before', () => {
  const large = Object.fromEntries(
    Array.from({ length: 30 }, (_, index) => [`a${index}`, { pattern: '\\p{L}'.repeat(10) }]),
  );
  const { schema, unchecked } = usableSchema({ type: 'object', properties: large });
  expect(unchecked).toHaveLength(10);
  expect(unchecked[0]).toMatch(/too large together: it has more than 200/);
  expect(schema).toMatchObject({ properties: { a19: { pattern: expect.anything() }, a20: {} } });
});

it.each<[string, JsonObject, JsonObject]>([
  ['null for a text', of({ type: 'string', default: null }), of({ type: 'string' })],
  ['a text for a number', of({ type: 'integer', default: '10' }), of({ type: 'integer' })],
  [
    'null for a reference',
    of({ $ref: '#/$defs/b', default: null }, { $defs: { b: { enum: ['x'] } } }),
    of({ $ref: '#/$defs/b' }, { $defs: { b: { enum: ['x'] } } }),
  ],
  [
    'one in a list',
    of({ type: 'array', items: of({ minimum: 1, type: 'number', default: 0 }) }),
    of({ type: 'array', items: of({ minimum: 1, type: 'number' }) }),
  ],
  ['one in a branch', of({ anyOf: [{ type: 'string', default: 1 }] }), of({ anyOf: [{ type: 'string' }] })],
  [
    'one of free names',
    of({ additionalProperties: { type: 'string', default: null } }),
    of({ additionalProperties: { type: 'string' } }),
  ],
  [
    'an object that lacks what it needs',
    of({ type: 'object', required: ['x'], default: {} }),
    of({ type: 'object', required: ['x'] }),
  ],
])('leaves out a default that does not fit: %s', (_, schema, expected) => {
  const { misfits, ...usable } = usableSchema(schema);
  expect(usable).toEqual({ schema: expected, unchecked: [] });
  expect(misfits).toEqual([expect.stringMatching(/^default .* of \/.* does not fit its own schema$/)]);
});

it('never makes a schema refuse more', () => {
  const schema = of({ oneOf: [{ pattern: '(?=a)' }, { pattern: '(?=b)' }] });
  expect(new SchemaChecker(usableSchema(schema).schema).fits({ a: 'x' })).toBe(true);
});

it('returns a copy that shares nothing with the schema', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  for (const copy of [usableSchema(schema).schema, toPlainJson(schema)]) {
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
