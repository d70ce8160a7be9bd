import type { JsonObject } from '../../../src/contract/json';
import { formOf, type Field, variantOf, withUnnamed } from '../../../src/web/model/argument-form';
import { startProcessorTime } from '../../support/processor-time';

const of = (property: JsonObject): Field | undefined =>
  formOf({ type: 'object', properties: { x: property } }, {}).fields?.[0]?.field;

it.each<[string, JsonObject, object]>([
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
  ['a date', { type: 'string', format: 'date' }, { kind: 'date', initial: '' }],
  ['null', { type: 'null' }, { kind: 'nothing', initial: null }],
  ['one type of one', { type: ['string'] }, { kind: 'json' }],
  [
    'fixed values or null',
    { anyOf: [{ enum: ['a', 'b'] }, { type: 'null' }] },
    { options: ['a', 'b', null] },
  ],
  ['fixed values', { anyOf: [{ const: 'a' }, { const: 2 }] }, { kind: 'choice', options: ['a', 2] }],
  ['an object without its type', { properties: { a: {} } }, { kind: 'object' }],
  ['bounds of exactness', { type: 'integer', minimum: -9007199254740991 }, { initial: 0 }],
  ['an object in parts', { type: 'object', properties: {}, allOf: [{}] }, { kind: 'json' }],
  ['nothing said', {}, { kind: 'json', initial: null }],
  ['a reference that leads nowhere', { $ref: '#/$defs/none' }, { kind: 'json' }],
  ['a reference to elsewhere', { $ref: 'https://example.com/x' }, { kind: 'json' }],
])('%s', (_, property, field) => {
  expect(of(property)).toMatchObject(field);
});

describe('a value of several kinds', () => {
  const labels = (property: JsonObject): (string | undefined)[] | undefined =>
    of(property)?.variants?.map(({ label }) => label);
  const card: JsonObject = {
    type: 'object',
    required: ['type', 'number'],
    properties: { type: { const: 'card' }, number: { type: 'string' } },
  };
  const bank: JsonObject = {
    type: 'object',
    required: ['type', 'iban'],
    properties: { type: { const: 'bank' }, iban: { type: 'string' } },
  };

  it.each<[string, JsonObject, string[]]>([
    ['its types', { type: ['string', 'null'] }, ['text', 'nothing']],
    ['nullable', { anyOf: [{ type: 'number' }, { type: 'null' }] }, ['a number', 'nothing']],
    ['fixed values', { oneOf: [card, bank] }, ['card', 'bank']],
    [
      'what is in it',
      { oneOf: [{ type: 'object', properties: { a: {}, b: {} } }, { type: 'array' }] },
      ['with a, b', 'JSON'],
    ],
    [
      'titles',
      {
        anyOf: [
          { type: 'string', title: 'Name' },
          { type: 'integer', title: 'Id' },
        ],
      },
      ['Name', 'Id'],
    ],
    [
      'formats',
      { anyOf: [{ type: 'string', format: 'email' }, { type: 'string' }] },
      ['an e-mail address', 'text'],
    ],
    [
      'their place, where they are alike',
      { oneOf: [{ type: 'string' }, { type: 'string' }] },
      ['text (1)', 'text (2)'],
    ],
    [
      'choices in choices',
      { anyOf: [{ anyOf: [card, { type: 'string' }] }, { type: 'null' }] },
      ['card', 'text', 'nothing'],
    ],
  ])('names them by %s', (_, property, expected) => {
    expect(labels(property)).toEqual(expected);
  });

  it('starts with the first one, or with its default', () => {
    expect(of({ oneOf: [bank, card] })?.initial).toEqual({ type: 'bank', iban: '' });
    expect(of({ type: ['string', 'null'], default: null })?.initial).toBeNull();
  });

  const variants =
    of({ anyOf: [card, bank, { type: 'string' }, { type: 'null' }, { type: 'integer' }] })?.variants ?? [];
  it.each([
    [{ type: 'bank' }, 1],
    [{ type: 'card', number: '4' }, 0],
    [{ iban: 'DE' }, 1],
    [{ type: 'other' }, -1],
    ['text', 2],
    [null, 3],
    [5, 4],
    [true, -1],
    [[], -1],
  ])('tells that %j is number %d', (value, index) => {
    expect(variantOf(variants, value)).toBe(index);
  });

  it('keeps the chosen one as long as the value may be it', () => {
    const alike = of({ oneOf: [{ type: 'string' }, { type: 'string' }, { type: 'null' }] })?.variants ?? [];
    expect(variantOf(alike, 'x', 1)).toBe(1);
    expect(variantOf(alike, null, 1)).toBe(2);
  });
});

it.each([
  ['a number', { type: 'number', minimum: 0, maximum: 500 }, '0 to 500'],
  [
    'a whole number',
    { type: 'integer', minimum: 1, maximum: 9007199254740991 },
    'a whole number, at least 1',
  ],
  ['an open bound', { type: 'number', exclusiveMinimum: 0 }, 'over 0'],
  ['steps', { type: 'number', multipleOf: 0.01, maximum: 5 }, 'at most 5, in steps of 0.01'],
  ['a length', { type: 'string', minLength: 3, maxLength: 20 }, '3 to 20 characters'],
  ['one length', { type: 'string', minLength: 3, maxLength: 3 }, '3 characters'],
  ['any text', { type: 'string', minLength: 1 }, 'not empty'],
  ['a form', { type: 'string', pattern: '^[A-Z]+$' }, 'in the form ^[A-Z]+$'],
  [
    'a format beside its pattern',
    { type: 'string', format: 'date', pattern: '^.*$' },
    'a date, such as 2026-11-22',
  ],
  ['a format with a name that every object has', { type: 'string', format: 'constructor' }, undefined],
  ['a list', { type: 'array', items: {}, maxItems: 5, uniqueItems: true }, 'at most 5 items, each different'],
  ['anything', {}, undefined],
])('says what %s has to hold to', (_, property: JsonObject, limits) => {
  expect(of(property)?.limits).toBe(limits);
});

it('makes a form of a schema that is a choice as a whole', () => {
  const one = { type: 'object', required: ['a'], properties: { a: { type: 'string' } } };
  const two = { type: 'object', required: ['b'], properties: { b: { type: 'string' } } };
  expect(formOf({ oneOf: [one, two] }, { b: '' }).variants).toHaveLength(2);
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
  const value = { a: '', b: { c: 1 } };
  const form = withUnnamed(formOf({ type: 'object', properties: { a: { type: 'string' } } }, value), value);
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

it('ends with a schema whose branches multiply', () => {
  const names = Array.from({ length: 12 }, (_, index) => `p${index}`);
  const tree = { $ref: '#/$defs/tree' };
  const properties = Object.fromEntries(names.map((name) => [name, tree]));
  const $defs = { tree: { anyOf: [{ type: 'object', properties }, ...names.map(() => tree)] } };
  const spent = startProcessorTime();
  formOf({ type: 'object', properties: { x: tree }, $defs }, {});
  expect(spent()).toBeLessThan(2_000);
});
