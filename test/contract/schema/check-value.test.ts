import { Validator } from '@cfworker/json-schema';
import fc from 'fast-check';
import type { Json, JsonObject } from '../../../src/contract/json';
import { SchemaChecker } from '../../../src/contract/schema/check-value';
import { runs } from '../../support/properties';
import { startProcessorTime } from '../../support/processor-time';

const issuesOf = (schema: JsonObject, value: unknown) => new SchemaChecker(schema).issuesOf(value);
/** Both ways to ask have to agree. */
const fits = (schema: JsonObject, value: unknown): boolean => {
  const isFit = new SchemaChecker(schema).fits(value);
  expect(isFit).toBe(issuesOf(schema, value).length === 0);
  return isFit;
};

describe('keywords', () => {
  const node: JsonObject = {
    type: 'object',
    properties: { next: { $ref: '#' }, name: { $ref: '#/$defs/a~1b/name' }, tag: { $ref: '#tag' } },
    $defs: { 'a/b': { name: { type: 'string' } }, t: { $anchor: 'tag', enum: ['x', { y: [1] }] } },
    additionalProperties: false,
  };
  const closed: JsonObject = {
    allOf: [{ properties: { a: {} } }, { if: { required: ['b'] }, then: { properties: { b: {} } } }],
    unevaluatedProperties: false,
  };

  it.each<[string, JsonObject, unknown, boolean]>([
    ['a reference to itself', node, { next: { next: { name: 'a' } } }, true],
    ['a fault behind references', node, { next: { next: { name: 1 } } }, false],
    ['an anchor', node, { tag: { y: [1] } }, true],
    ['an anchor that does not fit', node, { tag: { y: [2] } }, false],
    ['what branches have looked at', closed, { a: 1, b: 2 }, true],
    ['what no branch has looked at', closed, { a: 1, c: 2 }, false],
    [
      'items before and after',
      { prefixItems: [{ type: 'string' }], items: { type: 'number' } },
      ['a', 1],
      true,
    ],
    ['an item after', { prefixItems: [{ type: 'string' }], items: { type: 'number' } }, ['a', 'b'], false],
    [
      'items as they were once written',
      { items: [{ type: 'string' }], additionalItems: false },
      ['a', 1],
      false,
    ],
    ['contains', { contains: { const: 1 }, maxContains: 1 }, [0, 1], true],
    ['contains too often', { contains: { const: 1 }, maxContains: 1 }, [1, 1], false],
    [
      'an item that contains did not look at',
      { contains: { const: 1 }, unevaluatedItems: false },
      [1, 2],
      false,
    ],
    ['a name that fits no pattern', { propertyNames: { pattern: '^[a-z]+$' } }, { 'A b': 1 }, false],
    ['a name by pattern', { patternProperties: { '^n': { type: 'number' } } }, { name: 'x' }, false],
    ['what comes with another', { dependentRequired: { a: ['b'] } }, { a: 1 }, false],
    ['a schema that comes with a name', { dependentSchemas: { a: { required: ['b'] } } }, { a: 1 }, false],
    ['one of two', { oneOf: [{ type: 'number' }, { minimum: 3 }] }, 5, false],
    ['a key that every object inherits', { required: ['toString'] }, {}, false],
    [
      'unique objects, keys in any order',
      { uniqueItems: true },
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
      false,
    ],
    ['a multiple in decimals', { multipleOf: 0.1 }, 0.3, true],
    ['length in characters', { maxLength: 1 }, '😀', true],
  ])('%s', (_, schema, value, expected) => {
    expect(fits(schema, value)).toBe(expected);
  });
});

describe('issues', () => {
  it('names the branches only where none fits', () => {
    const schema = { anyOf: [{ type: 'string' }, { type: 'number' }] };
    expect(issuesOf(schema, 1)).toEqual([]);
    expect(issuesOf(schema, true).map(({ message }) => message)).toEqual([
      'Instance does not match any subschemas.',
      'Instance type "boolean" is invalid. Expected "string".',
      'Instance type "boolean" is invalid. Expected "number".',
    ]);
  });

  it('ends at twenty', () => {
    const value = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key${i}`, i]));
    expect(issuesOf({ additionalProperties: false }, value)).toHaveLength(20);
  });
});

describe('references', () => {
  const tree: JsonObject = {
    $id: 'https://example.com/strict',
    $dynamicAnchor: 'node',
    $ref: 'tree',
    unevaluatedProperties: false,
    $defs: {
      tree: {
        $id: 'tree',
        $dynamicAnchor: 'node',
        properties: { data: true, children: { items: { $dynamicRef: '#node' } } },
      },
    },
  };

  it('of a part go to the base of that part, and dynamic ones outwards', () => {
    expect(fits(tree, { children: [{ data: 1 }] })).toBe(true);
    expect(fits(tree, { children: [{ daat: 1 }] })).toBe(false);
  });

  it('are refused where they lead elsewhere, or cannot be followed', () => {
    expect(() => issuesOf({ $ref: 'https://example.com/other' }, 1)).toThrow(/Unresolved \$ref/);
    expect(() => issuesOf({ $recursiveRef: '#' }, 1)).toThrow(/\$recursiveRef cannot be followed/);
  });
});

describe('work', () => {
  const workOf = (schema: JsonObject, value: unknown): number => {
    const checker = new SchemaChecker(schema);
    checker.issuesOf(value);
    return checker.done;
  };
  const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, 1]));
  const deep = (levels: number): Json => (levels === 0 ? 1 : { a: deep(levels - 1), b: deep(0) });
  const twoWays: JsonObject = {
    properties: { a: { anyOf: [{ $ref: '#' }, { $ref: '#' }] } },
    required: ['b'],
  };

  it.each<[string, JsonObject, (size: number) => unknown, number]>([
    ['unknown keys', { properties: { a: {} }, additionalProperties: false }, keys, 10_000],
    ['known keys of one fault each', { additionalProperties: { type: 'string' } }, keys, 10_000],
    ['unique items', { uniqueItems: true }, (n) => Array.from({ length: n }, (_, i) => i), 10_000],
    ['unique objects', { uniqueItems: true }, (n) => Array.from({ length: n }, (_, i) => ({ i })), 10_000],
    ['a text', { pattern: '^(\\w+\\s?)*$' }, (n) => `${'a'.repeat(n)}!`, 50_000],
    ['nesting', { additionalProperties: { $ref: '#' } }, deep, 40],
  ])('grows with the value: %s', (_, schema, make, size) => {
    expect(workOf(schema, make(2 * size))).toBeLessThanOrEqual(2.2 * workOf(schema, make(size)) + 100);
  });

  it.each<[string, JsonObject, unknown]>([
    ['branches that multiply', twoWays, deep(60)],
    ['a reference to itself', { $ref: '#' }, 1],
    ['two references to each other', { $ref: '#/$defs/a', $defs: { a: { $ref: '#' } } }, 1],
  ])('gives up and does not let it pass: %s', (_, schema, value) => {
    expect(() => issuesOf(schema, value)).toThrow(/too long|without end/);
  });

  // Generous: a check that is not linear takes seconds or hours here.
  it.each<[string, JsonObject, unknown]>([
    ['20,000 unknown keys', { additionalProperties: false }, keys(20_000)],
    ['a pattern of two loops on 41 characters', { pattern: '^(\\w+\\s?)*$' }, `${'a'.repeat(40)}!`],
    ['a pattern of two loops on 100 KB', { pattern: '^(\\w+\\s?)*$' }, `${'a'.repeat(100_000)}!`],
    ['20,000 unique items', { uniqueItems: true }, Array.from({ length: 20_000 }, (_, i) => i)],
    ['a long host', { format: 'url' }, `http://${'a'.repeat(100_000)}!`],
    ['a host of many labels', { format: 'url' }, `http://${'a-'.repeat(50_000)}`],
    ['a long e-mail address', { format: 'email' }, `${'a.'.repeat(50_000)}@`],
    ['a long reference', { format: 'uri' }, `a:${'%41@'.repeat(25_000)}\\`],
    ['a long template', { format: 'uri-template' }, `${'{a,b'.repeat(25_000)}`],
    ['a long duration', { format: 'duration' }, `P${'1'.repeat(100_000)}`],
  ])('takes no second: %s', (_, schema, value) => {
    const spent = startProcessorTime();
    issuesOf(schema, value);
    expect(spent()).toBeLessThan(1000);
  });
});

const scalar = fc.constantFrom<Json>(null, true, 0, 1, 1.5, 7, '', 'a', 'bb', 'ccc');
const value: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'cc'), tie('value')),
  ),
})).value;

/** `unevaluated…` and `dependencies` are left out: there the other validator is at odds with the standard. */
const schema: fc.Arbitrary<JsonObject> = fc.letrec<{ schema: JsonObject }>((tie) => {
  const one = fc.oneof({ maxDepth: 3 }, fc.constant<JsonObject>({}), tie('schema'));
  const some = fc.array(one, { minLength: 1, maxLength: 3 });
  const byKey = fc.dictionary(fc.constantFrom('a', 'b', 'cc'), one);
  const small = fc.integer({ min: 0, max: 3 });
  const type = fc.constantFrom('null', 'boolean', 'integer', 'number', 'string', 'array', 'object');
  const keywords = {
    ...{ type, enum: fc.array(value, { minLength: 1, maxLength: 3 }), const: value },
    ...{ allOf: some, anyOf: some, oneOf: some, not: one, if: one, then: one, else: one },
    ...{ properties: byKey, patternProperties: fc.dictionary(fc.constantFrom('^a', 'c+$'), one) },
    ...{ additionalProperties: fc.oneof(fc.boolean(), one), propertyNames: one },
    ...{ required: fc.array(fc.constantFrom('a', 'b')), minProperties: small, maxProperties: small },
    ...{ prefixItems: some, items: one, minItems: small, maxItems: small, uniqueItems: fc.boolean() },
    ...{
      contains: one,
      minimum: small,
      maximum: small,
      exclusiveMinimum: small,
      multipleOf: fc.constant(0.5),
    },
    ...{ minLength: small, maxLength: small, pattern: fc.constantFrom('^a', 'b|c', '^(\\w\\s?)*$') },
  };
  const pairs = Object.entries(keywords).map(([name, arbitrary]: [string, fc.Arbitrary<Json>]) =>
    fc.tuple(fc.constant(name), arbitrary),
  );
  // A few at a time: with all of them a schema has thousands of parts, and nothing fits.
  return {
    schema: fc.array(fc.oneof(...pairs), { maxLength: 4 }).map((chosen) => Object.fromEntries(chosen)),
  };
}).schema;

it('judges as another validator does', () => {
  fc.assert(
    fc.property(schema, value, (rules, candidate) => {
      // It writes marks into the schema it is given.
      const other = new Validator(structuredClone(rules), '2020-12', false).validate(candidate).valid;
      expect(fits(rules, candidate)).toBe(other);
    }),
    { numRuns: runs(2000) },
  );
});
