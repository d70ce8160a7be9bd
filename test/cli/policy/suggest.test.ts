import fc from 'fast-check';
import { conditionArguments, readCondition } from '../../../src/authority/condition';
import { parsePolicy } from '../../../src/authority/policy';
import type { PastCall } from '../../../src/cli/policy/past';
import { suggestRules } from '../../../src/cli/policy/suggest';
import type { JsonObject } from '../../../src/contract/json';
import { HIDING_COMMANDS } from '../../support/hiding-commands';
import { request } from '../support';

const UNTIL = '2026-12-24';
const NOW = Date.parse('2026-11-24T12:00:00Z');
const made = (args: JsonObject, more: Partial<PastCall> = {}): PastCall => ({
  ...{ turn: 't', callId: '1.1', agent: 'clerk', tool: 'pay', args, was: 'ask', outcome: 'done' },
  ...{
    ending: 'clean',
    approvers: ['ann'],
    at: '2026-11-21T12:00:00.000Z',
    request: request({ arguments: args }),
  },
  ...more,
});
const suggest = (calls: PastCall[], least = 3) => suggestRules(calls, { least, until: UNTIL });
const whenOf = (calls: PastCall[]): (string | undefined)[] => suggest(calls).map(({ rule }) => rule.when);
const closed = (...names: string[]): string =>
  `args.all(name, name in [${names.map((name) => `"${name}"`).join(', ')}])`;

it('suggests the narrowest rule first, with what speaks for it', () => {
  const calls = [
    ...[1, 2, 3].map((day) => made({ to: 'ann', cents: 5 }, { at: `2026-11-2${day}T12:00:00.000Z` })),
    made({ to: 'bob', cents: 9 }, { approvers: ['bob'] }),
  ];
  const when = (text: string): string => `${text} && ${closed('cents', 'to')}`;
  expect(suggest(calls)).toMatchObject([
    {
      rule: { name: 'pay as approved', tools: ['pay'], agents: ['clerk'], then: 'run', until: UNTIL },
      ...{ covers: 3, of: 4, people: ['ann'], free: [] },
      ...{ first: '2026-11-21T12:00:00.000Z', last: '2026-11-23T12:00:00.000Z' },
    },
    { rule: { name: 'pay as approved 2' }, covers: 4, people: ['ann', 'bob'] },
  ]);
  expect(whenOf(calls)).toEqual([
    when('args.cents == 5 && args.to == "ann"'),
    when('args.cents >= 5 && args.cents <= 9 && args.to in ["ann", "bob"]'),
  ]);
});

const same = (args: JsonObject, more: Partial<PastCall> = {}): PastCall[] =>
  [1, 2, 3].map(() => made(args, more));
const asked = (more: Parameters<typeof request>[0]) => ({ request: request(more) });

it.each<[string, PastCall[]]>([
  ['too few', same({ a: 1 }).slice(1)],
  ['one denied, edited, failed or in doubt', [...same({ a: 1 }), made({ a: 1 }, { ending: 'spoiled' })]],
  ['one refused without a person', [...same({ a: 1 }), made({ a: 1 }, { was: 'refuse', ending: 'spoiled' })]],
  ['none of which is over', same({ a: 1 }, { ending: 'open' })],
  ['a tool that is not dangerous: something else asked', same({ a: 1 }, asked({ safety: 'safe' }))],
  ['a policy that asked', same({ a: 1 }, asked({ policyReason: 'new' }))],
  ['a tool whose requests are decided one by one', same({ a: 1 }, asked({ noBatch: true }))],
  ['commands that differ', ['ls', 'ls -l', 'rm x'].map((command) => made({ command }))],
  [
    'addresses of many kinds',
    ['a@b.de', 'b@b.de', 'c@b.de', 'd@b.de', 'e@b.de', 'f@b.de'].map((to) => made({ to })),
  ],
  ['lists that differ', [[1], [2], [3]].map((list) => made({ list }))],
  [
    'folders that have nothing in common',
    ['a/x', 'b/x', 'c/x', 'd/x', 'e/x', 'f/x'].map((path) => made({ path })),
  ],
])('suggests nothing from %s', (_, calls) => expect(suggest(calls)).toEqual([]));

it.each(HIDING_COMMANDS)('%s: what was approved of a program does not let %j run', (_kind, argv) => {
  const [program = ''] = argv;
  const tool = { tool: 'run_command' };
  const harmless = same({ argv: [program, 'status'] }, tool);
  const [suggestion, ...more] = suggest(harmless);
  expect(more).toEqual([]);
  const rules = parsePolicy(`rules:\n${suggestion?.yaml ?? ''}`, 'policy.yaml', { now: NOW });
  const ruled = (args: JsonObject) =>
    rules.rulingOn({ agent: 'clerk', tool: 'run_command', safety: 'dangerous', effect: 'unsafe', args }, NOW)
      .by?.action;
  expect(ruled({ argv: [program, 'status'] })).toBe('run');
  for (const hiding of [
    argv,
    [program, 'status', ...argv.slice(1)],
    [...argv, 'status'],
    [argv.join(' '), 'status'],
  ])
    expect(ruled({ argv: hiding })).toBeUndefined();
  expect(suggest([...harmless, made({ argv }, tool)]).map(({ covers }) => covers)).toEqual([3]);
});

const many = ['a', 'b', 'c', 'd', 'e', 'f'];
it.each<[string, PastCall[], string, string[]]>([
  ['a command that was always the same', same({ command: 'npm test' }), 'args.command == "npm test"', []],
  [
    'a folder, and nothing outside of it',
    many.map((name) => made({ path: `letters/${name}.txt` })),
    'args.path.startsWith("letters/") && !args.path.contains("..") && !args.path.contains("\\\\")',
    [],
  ],
  ['any words', many.map((text) => made({ to: 'ann', text: `dear ${text}` })), 'args.to == "ann"', ['text']],
  [
    'any number of an order',
    many.map((order) => made({ order, n: 1 })),
    'args.n == 1 && args.order.matches("^[A-Za-z0-9_-]{1,1}$")',
    ['order'],
  ],
  ['a name that CEL has itself', same({ in: 1 }), 'args["in"] == 1', []],
  [
    'what only some have',
    [...same({ a: 1 }).slice(1), made({ a: 1, b: true })],
    'args.a == 1 && (!has(args.b) || args.b == true)',
    [],
  ],
])('knows %s', (_, calls, start, free) => {
  const last = suggest(calls).at(-1);
  expect(last?.rule.when?.startsWith(`${start} && args.all(`)).toBe(true);
  expect(last?.free).toEqual(free);
});

it('does not allow what the schema has and nobody ever used', () => {
  const schema = { type: 'object', properties: { a: {}, force: {} }, additionalProperties: false } as const;
  expect(whenOf(same({ a: 1 }, asked({ schema })))).toEqual(['args.a == 1 && !has(args.force)']);
});

it('suggests what fits no spoiled call, covers what it says, and can be pasted', () => {
  const value = fc.oneof(
    fc.constantFrom('a', 'b/c', 'b/d', 'b/../e', '"', '\u2028'),
    fc.string(),
    fc.integer({ min: -3, max: 3 }),
    fc.double({ noNaN: true }),
    fc.boolean(),
    fc.constant(null),
  );
  const args = fc.dictionary(fc.constantFrom('path', 'to', 'n', 'text', 'in', '__proto__', 'a b'), value, {
    maxKeys: 3,
  });
  const one = fc.record({
    args,
    ending: fc.constantFrom<PastCall['ending'][]>('clean', 'clean', 'clean', 'spoiled', 'open'),
  });
  fc.assert(
    fc.property(fc.array(one, { maxLength: 12 }), (given) => {
      const calls = given.map(({ args: own, ending }) => made(JSON.parse(JSON.stringify(own)), { ending }));
      for (const { rule, covers, yaml } of suggest(calls, 2)) {
        const read = readCondition(rule.when ?? '', ['args']);
        if (!read.ok) throw new Error(read.mistake.message);
        const fits = calls.filter(
          (call) => read.condition.evaluate({ args: conditionArguments(call.args, undefined) }) === true,
        );
        expect(fits.some(({ ending }) => ending === 'spoiled')).toBe(false);
        expect(fits.filter(({ ending }) => ending === 'clean')).toHaveLength(covers);
        const pasted = parsePolicy(`rules:\n${yaml.replace(/^/gm, '  ')}\n`, 'p', {
          now: Date.parse('2026-12-01'),
        });
        expect(pasted.rules).toEqual([rule]);
      }
    }),
  );
});
