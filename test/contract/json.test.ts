import { isObject, isSoundJson, parseJson } from '../../src/contract/json';

const nested = (levels: number): unknown => JSON.parse('['.repeat(levels) + ']'.repeat(levels));

test.each([
  ['null', null, true],
  ['text', 'a', true],
  ['a number', -1.5e300, true],
  ['an object', { a: [1, { b: null }] }, true],
  ['100 levels', nested(100), true],
  ['101 levels', nested(101), false],
  ['a million levels', nested(1_000_000), false],
  ['a number over all numbers', JSON.parse('{"a":[1e999]}'), false],
  ['NaN', { a: NaN }, false],
  ['a key __proto__', JSON.parse('{"a":{"__proto__":{"b":1}}}'), false],
])('isSoundJson: %s', (_, value, sound) => {
  expect(isSoundJson(value)).toBe(sound);
});

test.each([
  [64, true],
  [65, false],
])('isSoundJson with 64 levels at most: %i levels', (levels, sound) => {
  expect(isSoundJson(nested(levels), 64)).toBe(sound);
});

test.each([
  [{}, true],
  [[], false],
  [null, false],
  ['{}', false],
])('isObject: %j', (value, object) => {
  expect(isObject(value)).toBe(object);
});

test.each([
  ['an object', '{"a":1}', { a: 1 }],
  ['null', 'null', null],
  ['nothing', '', undefined],
  ['half an object', '{"a":', undefined],
  ['two values', '1 2', undefined],
])('parseJson: %s', (_, text, value) => {
  expect(parseJson(text)).toEqual(value);
});
