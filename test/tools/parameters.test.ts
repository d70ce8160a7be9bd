import { z } from 'zod';
import type { JsonObject } from '../../src/contract/json';
import type { JsonSchema } from '../../src/contract/tool';
import { copyArguments, resolveParameters } from '../../src/tools/parameters';
import type { Parameters } from '../../src/tools/types';

it.each<[string, Parameters, readonly string[] | undefined]>([
  ['a plain list', [{ name: 'path', type: 'string' }], ['path']],
  ['a zod object', z.object({ path: z.string() }), undefined],
  [
    'a JSON Schema',
    {
      type: 'object',
      properties: { path: { type: 'string' } },
      required: ['path'],
      additionalProperties: false,
    },
    undefined,
  ],
])('%s refuses the same arguments', (_, parameters, required) => {
  const { schema, parse } = resolveParameters(parameters, required);
  expect(schema).toMatchObject({ type: 'object', required: ['path'], additionalProperties: false });
  expect(parse({ path: 'a' })).toEqual({ ok: true, value: { path: 'a' } });
  const wrong: JsonObject[] = [{}, { path: 7 }, { path: 'a', other: 1 }];
  for (const one of wrong) expect(parse(one)).toMatchObject({ ok: false });
});

it.each<[string, Parameters, readonly string[] | undefined, RegExp]>([
  ['a required name beside a schema', { type: 'object' }, ['a'], /goes with the plain list/],
  ['a required name that the list lacks', [], ['a'], /required parameter a is not among/],
])('refuses %s', (_, parameters, required, message) => {
  expect(() => resolveParameters(parameters, required)).toThrow(message);
});

const ofA = (a: JsonSchema): JsonSchema => ({ type: 'object', properties: { a } });

it.each<[string, JsonSchema, RegExp]>([
  ['a pattern that it cannot check', ofA({ pattern: '(?=a)' }), /linear time/],
  ['a reference out of the schema', ofA({ $ref: 'http://x/y' }), /leads outside/],
  ['a required name that there is none of', { ...ofA({}), required: ['b'] }, /required parameter b/],
])('refuses a JSON Schema with %s, because nothing else checks it', (_, schema, message) => {
  expect(() => resolveParameters(schema)).toThrow(message);
});

it.each<[string, z.ZodObject, JsonObject[], JsonObject[]]>([
  ['flags', z.object({ a: z.string().regex(/^[a-z]+$/i) }), [{ a: 'ABC' }], [{ a: '1' }]],
  [
    'some flags',
    z.object({ a: z.string().regex(/^a/i).regex(/b$/) }),
    [{ a: 'Ab' }],
    [{ a: 'A' }, { a: 'xb' }],
  ],
  [
    'spellings that the flag u forbids',
    z.object({ a: z.string().regex(/^[\w-.]+$/), b: z.string().regex(/^\d{4}\-\d{2}$/) }),
    [{ a: 'a-.b', b: '2020-01' }],
    [
      { a: '!', b: '2020-01' },
      { a: 'a', b: 'x' },
    ],
  ],
  ['look-around', z.object({ a: z.string().regex(/^(?=.*\d)\w+$/) }), [{ a: 'a1' }], [{ a: 'a' }]],
  [
    'international addresses',
    z.object({ a: z.url() }),
    [{ a: 'https://de.wikipedia.org/wiki/M\u00fcnchen' }],
    [{ a: 'x' }],
  ],
  [
    'international mail',
    z.object({ a: z.email({ pattern: z.regexes.unicodeEmail }) }),
    [{ a: 'm\u00fc@b\u00fc.de' }],
    [{ a: 'x' }],
  ],
  [
    'local times',
    z.object({ a: z.iso.datetime({ local: true }) }),
    [{ a: '2026-01-01T10:00' }],
    [{ a: 'x' }],
  ],
  [
    'numbers in texts',
    z.object({ a: z.coerce.number().min(2) }),
    [{ a: '5' }, { a: 5 }],
    [{ a: '1' }, { a: 'x' }],
  ],
  ['dates', z.object({ a: z.coerce.date() }), [{ a: '2026-01-01' }], [{ a: 'x' }]],
  ['large numbers', z.object({ a: z.coerce.bigint() }), [{ a: '12' }], [{ a: 'x' }]],
  [
    'what is done first',
    z.object({ a: z.preprocess((v) => (v === 'none' ? [] : v), z.array(z.string())) }),
    [{ a: 'none' }, { a: ['x'] }],
    [{ a: 'x' }],
  ],
  ['changed texts', z.object({ a: z.string().trim().max(3) }), [{ a: '  abc ' }], [{ a: 'abcd' }]],
  ['own checks', z.object({ a: z.custom<string>((v) => v === 'x') }), [{ a: 'x' }], [{ a: 'y' }]],
  [
    'names with flags',
    z.object({ a: z.record(z.string().regex(/^a/i), z.number()) }),
    [{ a: { Ab: 1 } }],
    [{ a: { b: 1 } }],
  ],
  [
    'parts of a list',
    z.object({ a: z.array(z.coerce.number()).optional() }),
    [{ a: ['1'] }, {}],
    [{ a: ['x'] }],
  ],
])('leaves to zod what only zod can judge: %s', (_, parameters, good, bad) => {
  const { parse } = resolveParameters(parameters);
  expect(good.map(parse)).toEqual(good.map(() => expect.objectContaining({ ok: true })));
  expect(bad.map(parse)).toEqual(
    bad.map(() => ({
      ok: false,
      issues: [{ path: expect.stringMatching(/^\/a|^\/b/), message: expect.any(String) }],
    })),
  );
});

it.each([z.date(), z.map(z.string(), z.string()), z.bigint(), z.set(z.string())])(
  'refuses a type that no JSON has',
  (type) => {
    expect(() => resolveParameters(z.object({ type }))).toThrow(
      /no JSON Schema form: no JSON is a value of z\./,
    );
  },
);

it.each<[string, Parameters, JsonObject, JsonObject]>([
  ['a default that does not fit', ofA({ type: 'string', default: null }), {}, {}],
  ['a default of zod that does not fit', z.object({ a: z.string().min(3).default('') }), {}, { a: '' }],
  ['null for an optional key', z.object({ a: z.string().optional() }), { a: null }, {}],
  ['null that zod allows', z.object({ a: z.string().nullish() }), { a: null }, { a: null }],
])('takes %s', (_, parameters, given, value) => {
  expect(resolveParameters(parameters).parse(given)).toEqual({ ok: true, value });
});

it('reads a text as JSON only if the tool wants that', () => {
  const parameters = z.object({ to: z.array(z.email()) });
  const given = { to: '["a@b.co"]' };
  expect(resolveParameters(parameters).parse(given)).toMatchObject({ ok: false });
  expect(resolveParameters(parameters, undefined, true).parse(given)).toEqual({
    ok: true,
    value: { to: ['a@b.co'] },
  });
});

it('is checked as it was given, whatever is done to the schema afterwards', () => {
  const given: JsonSchema = { type: 'object', properties: { n: { type: 'number' } } };
  const { schema, parse } = resolveParameters(given);
  for (const one of [given, schema]) one['properties'] = {};
  expect(parse({ n: 'x' })).toMatchObject({ ok: false });
});

it.each<[string, unknown]>([
  ['lists in objects in lists', [{ a: [1, { b: null }] }, 'x', true]],
  ['a property that is named __proto__', JSON.parse('{"__proto__":{"admin":true},"a":1}')],
  ['an object without a prototype', Object.assign(Object.create(null), { a: 1 })],
  ['what is not JSON', { at: new Date(0), bytes: new Uint8Array([1, 2]) }],
])('a copy of arguments is like structuredClone: %s', (_, value) => {
  const copy = copyArguments(value);
  expect(copy).toEqual(structuredClone(value));
  expect(copy).not.toBe(value);
  expect(JSON.stringify(copy)).toBe(JSON.stringify(value));
});

it('a copy of arguments shares nothing with them', () => {
  const value = { a: [{ b: { c: 1 } }] };
  const copy = copyArguments(value);
  Reflect.set(copy.a[0]?.b ?? {}, 'c', 2);
  expect(value).toEqual({ a: [{ b: { c: 1 } }] });
});

it('never throws while it parses, and gives each handler a copy', () => {
  const { parse } = resolveParameters(
    z.object({ list: z.array(z.string()).default([]), n: z.number().refine(() => true) }),
  );
  const args = { n: 1 };
  const first = parse(args);
  expect(first).toEqual({ ok: true, value: { n: 1, list: [] } });
  if (first.ok && typeof first.value === 'object' && first.value !== null) Reflect.set(first.value, 'n', 2);
  expect(args).toEqual({ n: 1 });
  expect(parse(args)).toEqual({ ok: true, value: { n: 1, list: [] } });
});
