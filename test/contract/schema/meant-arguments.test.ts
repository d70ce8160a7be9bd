import type { JsonObject } from '../../../src/contract/json';
import { readJson } from '../../../src/contract/read-json';
import { asMeant } from '../../../src/contract/schema/meant-arguments';

const text: JsonObject = { type: 'string' };
const point: JsonObject = { type: 'object', properties: { x: text, y: text }, required: ['x'] };
const schema: JsonObject = {
  type: 'object',
  properties: {
    need: text,
    may: text,
    none: { type: ['string', 'null'] },
    any: {},
    at: { $ref: '#/$defs/point' },
    perhaps: { anyOf: [{ $ref: '#/$defs/point' }, { type: 'null' }] },
    all: { type: 'array', items: { allOf: [{ $ref: '#/$defs/point' }] } },
    record: { type: 'object', additionalProperties: point },
    either: { anyOf: [text, { type: 'array' }] },
    list: { type: 'array', items: { type: ['array', 'object'], items: { type: 'number' } } },
    chain: { $ref: '#' },
  },
  required: ['need'],
  additionalProperties: text,
  $defs: { point },
};

it.each<[string, JsonObject, JsonObject, string[]]>([
  ['an optional key', { may: null }, {}, ['/may']],
  ['a required key', { need: null }, { need: null }, []],
  ['a key that may be null', { none: null, any: null }, { none: null, any: null }, []],
  ['a key that nothing names', { 'other/~': null }, { 'other/~': null }, []],
  ['keys of a referenced object', { at: { x: null, y: null } }, { at: { x: null } }, ['/at/y']],
  ['an object that may be null', { perhaps: null }, { perhaps: null }, []],
  [
    'keys of an object that may be null',
    { perhaps: { x: 'a', y: null } },
    { perhaps: { x: 'a' } },
    ['/perhaps/y'],
  ],
  ['keys of items', { all: [{ x: 'a', y: null }] }, { all: [{ x: 'a' }] }, ['/all/0/y']],
  ['keys below free names', { record: { a: { y: null } } }, { record: { a: {} } }, ['/record/a/y']],
  [
    'keys of a schema in itself',
    { chain: { chain: { may: null } } },
    { chain: { chain: {} } },
    ['/chain/chain/may'],
  ],
])('null counts as absent for %s', (_, given, value, paths) => {
  const before = JSON.stringify(given);
  const readings = paths.map((path) => ({ path, as: 'absent' }));
  expect(asMeant(schema, given)).toEqual({ value, readings });
  expect(JSON.stringify(given)).toBe(before);
});

it.each<[string, JsonObject, JsonObject, string[]]>([
  ['a list', { all: '[{"x":"a","y":null}]' }, { all: [{ x: 'a' }] }, ['/all', '/all/0/y']],
  ['an object behind a reference', { at: ' {"x":"a"}' }, { at: { x: 'a' } }, ['/at']],
  ['an object or null', { perhaps: '{"x":"a"}' }, { perhaps: { x: 'a' } }, ['/perhaps']],
  ['texts in a list', { list: ['[1]', '{}'] }, { list: [[1], {}] }, ['/list/0', '/list/1']],
  ['a value that does not fit', { all: '[1]' }, { all: [1] }, ['/all']],
  ['another kind of value', { at: '[1]', all: '{}' }, { at: '[1]', all: '{}' }, []],
  [
    'a text where texts are wanted',
    { may: '[1]', either: '[1]', any: '[1]' },
    { may: '[1]', either: '[1]', any: '[1]' },
    [],
  ],
  ['what is no JSON', { all: '[1', at: '{"x":1,"x":2}' }, { all: '[1', at: '{"x":1,"x":2}' }, []],
])('a text is read as JSON where the tool wants that: %s', (_, given, value, paths) => {
  const read = asMeant(schema, given, { readText: readJson });
  expect(read.value).toEqual(value);
  expect(read.readings.map(({ path }) => path)).toEqual(paths);
  expect(asMeant(schema, given)).toEqual({ value: given, readings: [] });
});

it('leaves arguments alone if the schema cannot be followed', () => {
  const given = { a: null };
  const endless = { anyOf: Array.from({ length: 300 }, () => ({ properties: { a: text } })) };
  for (const one of [endless, { properties: { a: { $ref: 'x:y' } } }])
    expect(asMeant(one, given)).toEqual({ value: given, readings: [] });
});
