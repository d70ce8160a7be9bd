import type { JsonObject } from '../../src/contract/json';
import { schemaForProvider } from '../../src/models/tool-schemas';

const of = (a: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'object',
  properties: { a },
  ...more,
});

it.each<[string, JsonObject, JsonObject]>([
  ['a number literal', { type: 'number', const: 1 }, { type: 'number', description: 'one of: 1' }],
  [
    'numbers',
    { description: 'D', type: 'integer', enum: [1, 2] },
    { description: 'D; one of: 1, 2', type: 'integer' },
  ],
  [
    'mixed values',
    { enum: ['a', 1, null] },
    { type: ['string', 'number', 'null'], description: 'one of: "a", 1, null' },
  ],
  ['an empty text', { type: 'string', enum: ['', 'a'] }, { type: 'string', description: 'one of: "", "a"' }],
  ['texts', { type: 'string', enum: ['a', 'b'] }, { type: 'string', enum: ['a', 'b'] }],
  ['a text', { const: 'a' }, { type: 'string', enum: ['a'] }],
  [
    'a tuple',
    { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }, { type: 'string' }] },
    {
      type: 'array',
      items: { anyOf: [{ type: 'string' }, { type: 'number' }] },
      description: 'items in this order: [{"type":"string"},{"type":"number"},{"type":"string"}]',
    },
  ],
  ['a list of anything', { type: 'array' }, { type: 'array', items: {} }],
  ['a format', { type: 'string', format: 'email' }, { type: 'string', description: 'format: email' }],
  ['a time', { type: 'string', format: 'date-time' }, { type: 'string', format: 'date-time' }],
  [
    'a record',
    { type: 'object', additionalProperties: { type: 'number', const: 2 } },
    {
      type: 'object',
      additionalProperties: { type: 'number', description: 'one of: 2' },
      description: 'any names; each value is: {"type":"number","description":"one of: 2"}',
    },
  ],
  [
    'one of several',
    { oneOf: [{ type: 'string' }, { type: 'number' }] },
    { anyOf: [{ type: 'string' }, { type: 'number' }] },
  ],
  [
    'parts that all hold',
    { allOf: [of({ type: 'string' }, { required: ['a'] }), { properties: { b: {} }, required: ['b'] }] },
    { type: 'object', properties: { a: { type: 'string' }, b: {} }, required: ['a', 'b'] },
  ],
  ['a required name that there is none of', of({}, { required: ['a', 'b'] }), of({}, { required: ['a'] })],
])('says to Gemini what it can say: %s', (_, schema, expected) => {
  expect(schemaForProvider(of(schema), 'gemini')).toEqual(of(expected));
});

it('puts the properties of a choice at the root, where providers refuse a choice', () => {
  const schema = {
    type: 'object',
    properties: { z: {} },
    required: ['z'],
    anyOf: [of({ type: 'string' }, { required: ['a'] }), { required: ['z'] }],
    allOf: [{ properties: { b: {} }, required: ['b'] }],
  };
  const expected = {
    type: 'object',
    properties: { b: {}, a: { type: 'string' }, z: {} },
    required: ['z', 'b'],
  };
  expect(schemaForProvider(schema, 'flat')).toEqual(expected);
  expect(schemaForProvider(schema, undefined)).toEqual(schema);
});
