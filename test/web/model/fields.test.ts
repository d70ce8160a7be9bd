import type { JsonObject } from '../../../src/contract/json';
import { formOf, type Field } from '../../../src/web/model/fields';

const of = (property: JsonObject): Field | undefined =>
  formOf({ type: 'object', properties: { x: property } }, {}).fields?.[0]?.field;

it.each([
  ['a string', { type: 'string' }, { kind: 'text', initial: '' }],
  ['a long string', { type: 'string', maxLength: 2_000 }, { kind: 'lines' }],
  ['a number', { type: 'number' }, { kind: 'number', initial: 0 }],
  ['a number with a least', { type: 'number', minimum: 0.5 }, { kind: 'number', initial: 0.5 }],
  ['an integer', { type: 'integer' }, { kind: 'integer' }],
  ['a boolean', { type: 'boolean' }, { kind: 'boolean', initial: false }],
  ['a choice', { enum: ['a', 2, null] }, { kind: 'choice', options: ['a', 2, null], initial: 'a' }],
  ['one value', { const: 'a' }, { kind: 'choice', options: ['a'] }],
  ['a default', { type: 'string', default: 'EUR' }, { kind: 'text', initial: 'EUR' }],
  ['a list', { type: 'array', items: { type: 'integer' } }, { kind: 'list', initial: [] }],
  ['a tuple', { type: 'array', prefixItems: [{}], items: {} }, { kind: 'json' }],
  ['a list of anything', { type: 'array' }, { kind: 'json', initial: [] }],
  ['an object', { type: 'object', properties: { a: {} } }, { kind: 'object' }],
  ['an object with free names', { type: 'object' }, { kind: 'json', initial: {} }],
  ['several types', { type: ['string', 'null'] }, { kind: 'json' }],
  ['one of', { oneOf: [{ type: 'string' }, { type: 'object' }] }, { kind: 'json' }],
  ['an object in parts', { type: 'object', properties: {}, allOf: [{}] }, { kind: 'json' }],
  ['nothing said', {}, { kind: 'json', initial: null }],
  ['a reference that leads nowhere', { $ref: '#/$defs/none' }, { kind: 'json' }],
  ['a reference to elsewhere', { $ref: 'https://example.com/x' }, { kind: 'json' }],
])('%s', (_, property, field) => {
  expect(of(property)).toMatchObject(field);
});

it('takes label, help and need from the schema', () => {
  const schema = {
    type: 'object',
    required: ['a'],
    properties: { a: { type: 'string', title: 'Amount', description: 'In cents.' }, b: { type: 'string' } },
  };
  expect(formOf(schema, {}).fields).toMatchObject([
    { name: 'a', field: { label: 'Amount', description: 'In cents.', required: true } },
    { name: 'b', field: { label: 'b', required: false } },
  ]);
});

it('starts a new object with what it needs', () => {
  const item = {
    type: 'object',
    required: ['sku'],
    properties: { sku: { type: 'string' }, note: { type: 'string' } },
  };
  expect(of({ type: 'array', items: item })?.item?.initial).toEqual({ sku: '' });
});

it('shows what the schema does not name', () => {
  const form = formOf({ type: 'object', properties: { a: { type: 'string' } } }, { a: '', b: { c: 1 } });
  expect(form.fields?.map(({ name, field }) => [name, field.kind])).toEqual([
    ['a', 'text'],
    ['b', 'json'],
  ]);
});

it('makes a form of what is there where the record has no schema', () => {
  expect(formOf(undefined, { a: 1 }).fields).toMatchObject([{ name: 'a', field: { kind: 'json' } }]);
});

it('follows references', () => {
  const schema = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/money' } },
    $defs: { money: { $ref: '#/$defs/a~1b' }, 'a/b': { type: 'integer' } },
  };
  expect(formOf(schema, {}).fields?.[0]?.field.kind).toBe('integer');
});

it.each([
  ['holds itself', { $ref: '#/$defs/tree' }],
  ['refers to itself', { $ref: '#/$defs/loop' }],
])('ends with a schema that %s', (_, property) => {
  const tree = { type: 'object', required: ['next'], properties: { next: { $ref: '#/$defs/tree' } } };
  const form = formOf(
    { type: 'object', properties: { x: property }, $defs: { tree, loop: { $ref: '#/$defs/loop' } } },
    {},
  );
  expect(JSON.stringify(form)).toContain('"kind":"json"');
});
