import { checkSchema } from '../../../src/contract/schema/schema';
import { limitsOf, plainWords, saysLess } from '../../../src/web/model/limits';

/** What the true checker says, so that its words and ours stay together. */
it.each([
  [{ type: 'string' }, 5, 'has to be text'],
  [{ type: ['integer', 'null'] }, 'x', 'has to be a whole number or nothing'],
  [{ minLength: 1 }, '', 'must not be empty'],
  [{ minLength: 3 }, 'ab', 'is too short: 2 of at least 3 characters'],
  [{ maxLength: 1 }, 'ab', 'is too long: 2 of at most 1 characters'],
  [{ format: 'date' }, 'x', 'has to be a date, such as 2026-11-22'],
  [{ format: 'json-pointer' }, 'x', 'has to be json-pointer'],
  [{ pattern: '^a$' }, 'x', 'does not have the form that is wanted'],
  [{ minItems: 2 }, [1], 'has too few items: 1 of at least 2'],
  [{ maxItems: 0 }, [1], 'has too many items: 1 of at most 0'],
  [{ enum: ['a', 1] }, 'x', 'has to be one of "a",1'],
  [{ const: 'a' }, 'x', 'has to be "a"'],
  [{ anyOf: [{ type: 'string' }] }, 5, 'is none of the kinds that are allowed'],
  [{ maximum: 4 }, 5, '5 is greater than 4.'],
])('of %j says about %j that it %s', (schema, value, words) => {
  const [first] = checkSchema(JSON.parse(JSON.stringify(schema)), value);
  expect(plainWords(first?.message ?? '')).toBe(words);
});

it('tells a pattern, which a format repeats in better words', () => {
  const [pattern, format] = checkSchema({ pattern: '^a$', format: 'date' }, 'x');
  expect([pattern, format].map((issue) => saysLess(issue?.message ?? ''))).toEqual([true, false]);
});

it('says nothing where there is nothing to say', () => {
  expect(limitsOf({ type: 'string', minLength: 0 })).toBeUndefined();
});
