import { z } from 'zod';
import type { JsonSchema } from '../../src/contract/tool';
import { resolveParameters } from '../../src/tools/parameters';
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
