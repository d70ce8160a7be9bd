import { z } from 'zod';
import * as mini from 'zod/mini';
import { isFromLibrary, plainSchema, schemaOfLibrary } from '../../../src/contract/schema/standard';

it('tells a schema of a library from a JSON Schema', () => {
  expect(isFromLibrary(z.object({}))).toBe(true);
  expect(isFromLibrary({ _def: {} })).toBe(true);
  expect(isFromLibrary({ type: 'object' })).toBe(false);
});

it('gives the JSON Schema of what it takes, and refuses what it does not name', () => {
  const inner = z.object({ cents: z.int().positive() });
  const schema = schemaOfLibrary(z.object({ order: z.string(), pay: inner, why: z.string().default('') }));
  expect(schema).toMatchObject({
    type: 'object',
    required: ['order', 'pay'],
    additionalProperties: false,
    properties: { pay: { additionalProperties: false, required: ['cents'] }, why: { default: '' } },
  });
  expect(schema).not.toHaveProperty('$schema');
});

it('keeps an object open that says so', () => {
  expect(schemaOfLibrary(z.looseObject({}))['additionalProperties']).toEqual({});
});

it('leaves out a pattern of a format, which may look around, and keeps others', () => {
  const properties = { when: { format: 'x', pattern: '(?=a)' }, plain: { pattern: '(?=a)' } };
  expect(plainSchema({ $schema: 'https://example.com', type: 'object', properties })).toEqual({
    type: 'object',
    properties: { when: { format: 'x' }, plain: { pattern: '(?=a)' } },
  });
});

it.each<[string, object, RegExp]>([
  ['is not an object', z.string(), /must be an object/],
  ['has a type that JSON lacks', z.object({ at: z.date() }), /has no JSON Schema form: /],
  ['is of zod/mini', mini.object({}), /use zod 4\.2 or later \(not zod\/mini\)/],
  ['is of zod 3', { _def: {} }, /use zod 4\.2 or later/],
])('refuses one that %s', (_, schema, message) => {
  expect(() => schemaOfLibrary(schema)).toThrow(message);
});
