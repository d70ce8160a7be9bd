import fc from 'fast-check';
import { z } from 'zod';
import { LIMITS } from '../../src/contract/limits';
import {
  asCalled,
  fillInDefaults,
  fitArguments,
  parseArguments,
  uniqueIds,
  unshownIn,
} from '../../src/tools/prepare';
import type { JsonObject } from '../../src/contract/json';
import { defineTool } from '../../src/tools/define-tool';

const nested = (levels: number): string => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels);

it.each<[string, object]>([
  ['{}', {}],
  ['', {}],
  [' { "a" : [ 1 , { "a" : null } ] } ', { a: [1, { a: null }] }],
  ['{"a":"a","b":{"a":"b"},"c":[{"a":1},{"a":2}]}', { a: 'a', b: { a: 'b' }, c: [{ a: 1 }, { a: 2 }] }],
  ['{"a\\"}":"{\\"a\\":1,\\"a\\":2}"}', { 'a"}': '{"a":1,"a":2}' }],
  ['{"":1," ":2}', { '': 1, ' ': 2 }],
  ['{"n":9007199254740991,"m":1e3,"z":-0.5}', { n: 9007199254740991, m: 1000, z: -0.5 }],
  ['{"constructor":1,"hasOwnProperty":2}', { constructor: 1, hasOwnProperty: 2 }],
])('reads %s', (raw, value) => {
  expect(parseArguments(raw)).toEqual({ ok: true, value });
});

it('takes 64 levels', () => {
  expect(parseArguments(nested(64)).ok).toBe(true);
});

it.each<[string, string, string, RegExp]>([
  ['a duplicate key', '{"a":1,"a":1}', '/a', /twice/],
  ['one spelt otherwise', '{"a":1,"\\u0061":2}', '/a', /twice/],
  ['one deep down', '{"x":[0,{"a~/b":1,"a~/b":2}]}', '/x/1/a~0~1b', /twice/],
  ['text after it', '{"a":1} and', '', /not JSON/],
  ['two objects', '{}{}', '', /not JSON/],
  ['a code fence', '```json\n{}\n```', '', /not JSON/],
  ['single quotes', "{'a':1}", '', /not JSON/],
  ['a comma too much', '{"a":1,}', '', /not JSON/],
  ['an end too early', '{"a":"b', '', /not JSON/],
  ['white space only', ' ', '', /not JSON/],
  ['a list', '[1]', '', /not a list/],
  ['null', 'null', '', /not null/],
  ['text', '"{}"', '', /not a string/],
  ['a number', '7', '', /not a number/],
  ['65 levels', nested(65), '', /64 levels/],
  ['65 lists', `{"a":${'['.repeat(64)}${']'.repeat(64)}}`, '', /64 levels/],
  ['__proto__', '{"__proto__":{"admin":true}}', '/__proto__', /not allowed/],
  ['__proto__ spelt otherwise, deep down', '{"a":{"\\u005f_proto__":1}}', '/a/__proto__', /not allowed/],
  [
    'a number that becomes another',
    '{"id":12345678901234567890}',
    '/id',
    /would become 12345678901234567000/,
  ],
  ['half a character', '{"to":"a\\ud800"}', '/to', /half a character/],
  ['half a character in a name', '{"a\\ud800":1}', '/a\ud800', /half a character/],
  ['a number that becomes infinite', '{"n":[1,1e999]}', '/n/1', /too large/],
])('refuses %s', (...[, raw, path, message]) => {
  const parsed = parseArguments(raw);
  expect(parsed).toEqual({ ok: false, issues: [{ path, message: expect.stringMatching(message) }] });
});

it('refuses what is over the limit, in bytes, before it reads it', () => {
  const raw = JSON.stringify({ a: 'é'.repeat(LIMITS.argumentsBytes / 2) });
  expect(parseArguments(raw)).toMatchObject({
    ok: false,
    issues: [{ message: expect.stringContaining('bytes') }],
  });
});

it('does not break on depth within the limit of bytes', () => {
  expect(parseArguments('['.repeat(100_000)).ok).toBe(false);
  expect(parseArguments(nested(20_000)).ok).toBe(false);
});

const hasProto = (value: unknown): boolean => JSON.stringify(value).includes('__proto__');

it('gives what JSON.parse gives for every object it takes', () => {
  const object = fc
    .dictionary(fc.string(), fc.jsonValue({ maxDepth: 4 }))
    .filter((value) => !hasProto(value));
  fc.assert(
    fc.property(object, fc.constantFrom(0, 1, 2), (value, indent) => {
      const raw = JSON.stringify(value, null, indent);
      expect(parseArguments(raw)).toEqual({ ok: true, value: JSON.parse(raw) });
    }),
  );
});

it('never throws and takes nothing that JSON.parse refuses', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json().map((text) => text.slice(1)),
        fc.json(),
      ),
      (raw) => {
        const parsed = parseArguments(raw);
        if (parsed.ok && raw !== '') expect(JSON.parse(raw)).toEqual(parsed.value);
      },
    ),
  );
});

describe('what a parser fills in', () => {
  const cents = z.object({ to: z.string(), cents: z.number().default(100_000) });

  const shapes: [string, z.ZodType, JsonObject[string], JsonObject[string]][] = [
    ['an object', cents, { to: 'a' }, { to: 'a', cents: 100_000 }],
    [
      'a list',
      z.array(cents),
      [{ to: 'a' }, { to: 'b', cents: 1 }],
      [
        { to: 'a', cents: 100_000 },
        { to: 'b', cents: 1 },
      ],
    ],
    ['a tuple', z.tuple([cents]), [{ to: 'a' }], [{ to: 'a', cents: 100_000 }]],
    ['a record', z.record(z.string(), cents), { x: { to: 'a' } }, { x: { to: 'a', cents: 100_000 } }],
    ['a union', z.union([z.string(), cents]), { to: 'a' }, { to: 'a', cents: 100_000 }],
    ['what may be null', cents.nullable(), { to: 'a' }, { to: 'a', cents: 100_000 }],
    ['what may be absent', cents.optional(), { to: 'a' }, { to: 'a', cents: 100_000 }],
  ];

  const toolOf = (given: z.ZodType) =>
    defineTool({
      name: 'pay',
      description: 'Pays.',
      parameters: z.object({ given }),
      safety: 'dangerous',
      handler: () => '',
    });

  test.each(shapes)('what zod fills in below %s is in the arguments', (_, shape, given, expected) => {
    const ready = fitArguments(toolOf(shape), { given });
    expect(ready).toMatchObject({ proposed: { given }, value: { given: expected } });
    if (!ready.ok) throw new Error(ready.failure.message);
    expect(ready.args).toEqual({ given: expected });
    expect(unshownIn(ready.args, ready.value)).toBeUndefined();
  });

  test('what a transform makes of a value that is there stays out of the arguments', () => {
    const tool = toolOf(
      z.object({ to: z.string().trim(), at: z.string().transform((text) => new Date(text)) }),
    );
    const given = { to: ' ann ', at: '2026-01-01' };
    expect(fitArguments(tool, { given })).toMatchObject({
      args: { given },
      value: { given: { to: 'ann', at: new Date('2026-01-01') } },
    });
  });

  test('what a transform adds and the schema does not know stays out, and is found as not shown', () => {
    const tool = toolOf(
      z.array(z.object({ n: z.number() }).transform((one) => ({ ...one, total: one.n * 2 }))),
    );
    const ready = fitArguments(tool, { given: [{ n: 1 }] });
    if (!ready.ok) throw new Error(ready.failure.message);
    expect(ready.args).toEqual({ given: [{ n: 1 }] });
    expect(unshownIn(ready.args, ready.value)).toBe('/given/0/total');
  });

  test.each<[string, unknown]>([
    ['a date', new Date()],
    ['a function', () => 1],
    ['what JSON cannot write', Number.NaN],
    ['a map in a list', [new Map()]],
  ])('%s is not an argument', (_, at) => {
    expect(fillInDefaults({ a: 1 }, { a: 1, at })).toEqual({ a: 1 });
    expect(unshownIn({ a: 1 }, { a: 1, at })).toBe('/at');
  });

  test('a key whose value is undefined adds nothing', () => {
    expect(unshownIn({ a: 1 }, { a: 1, b: undefined })).toBeUndefined();
  });
});

describe('uniqueIds', () => {
  it.each<[(string | undefined)[], string[]]>([
    [
      ['a', 'b'],
      ['a', 'b'],
    ],
    [
      ['a', 'a', 'a'],
      ['a', 'call_2', 'call_3'],
    ],
    [
      [undefined, '', 'c'],
      ['call_1', 'call_2', 'c'],
    ],
    [
      [undefined, 'call_1'],
      ['call_1_1', 'call_1'],
    ],
    [
      ['call_2', 'call_2'],
      ['call_2', 'call_2_1'],
    ],
  ])('%p → %p', (ids, expected) => {
    expect(uniqueIds(ids.map((id) => ({ id })))).toEqual(expected);
  });

  it('are unique, and the first of each id keeps it', () => {
    const id = fc.option(fc.constantFrom('', 'a', 'b', 'call_1', 'call_2', 'call_3', 'call_2_1'), {
      nil: undefined,
    });
    fc.assert(
      fc.property(fc.array(id, { maxLength: 8 }), (ids) => {
        const unique = uniqueIds(ids.map((given) => ({ id: given })));
        expect(new Set(unique).size).toBe(ids.length);
        ids.forEach((given, index) => {
          if (given !== undefined && given !== '' && ids.indexOf(given) === index)
            expect(unique[index]).toBe(given);
        });
      }),
    );
  });
});

describe('a call that is milder than its tool', () => {
  const tool = defineTool({
    name: 'read_or_write',
    description: 'x',
    parameters: z.object({ write: z.boolean() }),
    safety: 'dangerous',
    classify: ({ write }) => (write ? undefined : { safety: 'safe', effect: 'pure' }),
    handler: () => '',
  });

  it.each([
    [{ write: false }, { safety: 'safe', effect: 'pure' }],
    [{ write: true }, { safety: 'dangerous', effect: 'unsafe' }],
  ])('is prepared and run alike: %j', (args, expected) => {
    expect(fitArguments(tool, args)).toMatchObject({ ok: true, tool: expected });
    expect(asCalled(tool, args)).toMatchObject(expected);
  });

  it('is what its tool is where the arguments do not fit', () => {
    expect(fitArguments(tool, { write: 1 })).toMatchObject({ ok: false, tool: { safety: 'dangerous' } });
    expect(asCalled(tool, { write: 1 })).toBe(tool);
  });

  it('may be changed into one that is not', () => {
    const safe = asCalled(tool, { write: false });
    expect(fitArguments(safe, { write: true })).toMatchObject({ ok: true, tool: { safety: 'dangerous' } });
  });
});
