import { celDuration, conditionArguments, readCondition } from '../../../src/authority/rules/condition';
import type { JsonObject } from '../../../src/contract/json';

const KNOWN = ['args', 'tool', 'age'] as const;
const SCHEMA = {
  type: 'object',
  properties: {
    cents: { type: 'integer' },
    share: { type: 'number' },
    list: { type: 'array', items: { $ref: '#/$defs/count' } },
    maybe: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
  },
  additionalProperties: { type: 'integer' },
  $defs: { count: { type: 'integer' } },
};

const outcome = (text: string, args: JsonObject = {}, schema: JsonObject | undefined = SCHEMA): unknown => {
  const read = readCondition(text, KNOWN);
  if (!read.ok) return read.mistake;
  const facts = { args: conditionArguments(args, schema), tool: 'pay', age: celDuration(600_000) };
  return read.condition.evaluate(facts);
};

it.each<[string, JsonObject, boolean]>([
  ['args.cents > 50000', { cents: 50001 }, true],
  ['args.cents + 1 > 5', { cents: 5 }, true],
  ['args.share > 1', { share: 2 }, true],
  ['args.share + 0.5 > 1.0', { share: 1 }, true],
  ['args.cents + 1 > 2', { cents: 1e300 }, true],
  ['args.share * 2 > 100', { share: 51 }, true],
  ['args.share + 1 > 2', { share: 1 }, false],
  ['args.share * args.cents == 15', { share: 7.5, cents: 2 }, true],
  ['args.cents - 0.5 > 1', { cents: 2 }, true],
  ['args.cents / 2.0 == 2.5', { cents: 5 }, true],
  ['args.share / 2 == 2.5', { share: 5 }, true],
  ['args.share % 10 == 0', { share: 20 }, true],
  ['2u * args.share + 1u * args.cents == 5', { share: 1.5, cents: 2 }, true],
  ['args.list.map(n, n * 1.5).exists(n, n == 3)', { list: [2] }, true],
  ['args.list[0] + 1 == 2', { list: [1] }, true],
  ['args.list.exists(n, n + 1 == 3)', { list: [1, 2] }, true],
  ['args.maybe + 1 == 2', { maybe: 1 }, true],
  ['args.other % 2 == 1', { other: 3 }, true],
  ['has(args.cents)', {}, false],
  ['has(args.constructor) || has(args.toString)', {}, false],
  ['args.text.matches("^(a+)+$")', { text: `${'a'.repeat(40_000)}b` }, false],
  ['args.text.matches("^[a-z]{1,40}-2026$")', { text: 'order-2026' }, true],
  ['args.list.exists(n, n.matches("^x-2026-[0-9]{1,9}$"))', { list: Array(1_000).fill('y-2026-1') }, false],
  ['tool == "pay" && age >= duration("10m")', {}, true],
  ['args["odd name"] == "x"', { 'odd name': 'x' }, true],
])('%s of %j is %s', (text, args, expected) => {
  expect(outcome(text, args)).toBe(expected);
});

it.each<[string, JsonObject]>([
  ['args.cents > 5', {}],
  ['!(args.cents > 5)', {}],
  ['args.cents > 5', { cents: 'much' }],
  ['args.cents', { cents: 1 }],
  ['args.__proto__ == 1', {}],
  ['args.list.all(n, n > 0)', { list: Array.from({ length: 1001 }, () => 1) }],
  ['args.text.matches("a(b")', { text: 'a' }],
  ['args.text.matches("a{1000}")', { text: 'b'.repeat(100_000) }],
  [
    'args.list.exists(n, args.text.matches("b.*c"))',
    { text: 'a'.repeat(100_000), list: Array.from({ length: 1_000 }, (_, n) => n) },
  ],
  ['1 / args.cents == 1', { cents: 0 }],
])('%s of %j cannot be worked out', (text, args) => {
  expect(outcome(text, args)).toEqual({ failed: expect.stringMatching(/\S/) });
});

it.each<[string, RegExp, number]>([
  ['args.cents >', /there is > where that cannot be/, 11],
  ['args.x = 3', /there is = where that cannot be/, 7],
  ['args.x == "three', /^the text after " has no end$/, 10],
  [`args.x == "it's" && args.y == 'a`, /^the text after ' has no end$/, 30],
  ['cents > 3', /'cents' is not known; there are args, tool, age/, 0],
  ['tool == foo', /'foo' is not known/, 8],
  ['tool', /'tool' is neither true nor false: compare it with something/, 0],
  ['args.cents > 1 && tool', /'tool' is neither true nor false/, 0],
  ['args.cents > 1 ? true : [1]', /a list or a map is neither true nor false/, 0],
  ['!size(args.list)', /a number or a text is neither true nor false/, 0],
  ['args.cents + 1', /a number or a text is neither true nor false/, 0],
  ['process.exit()', /there is no function 'exit'/, 0],
  ['args.l.exists(x, args.s.matches(x))', /a pattern has to stand in the condition/, 0],
  ['matches(args.a, "a" + args.b)', /a pattern has to stand in the condition/, 0],
  ['args.a.all(x, x.all(y, y > 1))', /must not stand within another/, 0],
  ['args.a.exists(x, [1, 2].map(y, y) == x)', /must not stand within another/, 0],
  [`tool == "${'x'.repeat(2000)}"`, /at most 2000 characters/, 2000],
])('%s cannot be read', (text, message, at) => {
  expect(outcome(text)).toEqual({ message: expect.stringMatching(message), at });
});

it.each([
  ['args.path.startsWith("prod/")', true],
  ['args.to in ["a/b"]', true],
  ['args.target.url == "x"', true],
  ['args.file != "x"', true],
  ['args.env == "prod"', false],
  ['has(args.path) && args.cents > 5', false],
])('%s compares a path or a URL: %s', (text, is) => {
  expect(readCondition(text, ['args'])).toMatchObject({ condition: { isSpelled: is } });
});

it('names the fields that it needs, not those that it looks for', () => {
  const read = readCondition('args.a > 1 && has(args.b) && args.c.d == args.a', KNOWN);
  expect(read).toMatchObject({
    ok: true,
    condition: { fields: ['a', 'c'], truths: [], isConstant: false },
  });
  const truths = readCondition('!args.a || has(args.b) && args.c', KNOWN);
  expect(truths).toMatchObject({ condition: { truths: ['a', 'c'] } });
  expect(readCondition('1 < 2', KNOWN)).toMatchObject({ condition: { isConstant: true } });
});

it('takes whole numbers as such where there is no schema', () => {
  const read = readCondition('args.n + 1 == 2 && args.half < 1.0', KNOWN);
  const facts = { args: conditionArguments({ n: 1, half: 0.5 }, undefined) };
  expect(read.ok && read.condition.evaluate(facts)).toBe(true);
});
