import { z } from 'zod';
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
  for (const wrong of [{}, { path: 7 }, { path: 'a', other: 1 }])
    expect(parse(wrong)).toMatchObject({ ok: false });
});

it.each<[string, Parameters, readonly string[] | undefined, RegExp]>([
  ['a required name beside a schema', { type: 'object' }, ['a'], /goes with the plain list/],
  ['a required name that the list lacks', [], ['a'], /required parameter a is not among/],
])('refuses %s', (_, parameters, required, message) => {
  expect(() => resolveParameters(parameters, required)).toThrow(message);
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
