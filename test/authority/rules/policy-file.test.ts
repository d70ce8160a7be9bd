import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import type { KnownNames } from '../../../src/authority/rules/check-rules';
import type { RuledCall } from '../../../src/authority/rules/which-rules-fit';
import { loadPolicy, parsePolicy, type PolicyRules } from '../../../src/authority/rules/policy-file';
import type { PolicyRule } from '../../../src/contract/policy-rule';
import type { CountersignError } from '../../../src/contract/errors';

const NOW = Date.parse('2026-11-24T12:00:00Z');
const schema = {
  type: 'object',
  properties: { cents: { type: 'integer' } },
  additionalProperties: false,
} as const;
const KNOWN: KnownNames = {
  tools: new Map([
    ['refund_order', { safety: 'dangerous', schema }],
    ['look', { safety: 'safe', schema: { type: 'object', properties: {} } }],
  ]),
  agents: ['clerk'],
  servers: ['shop'],
};

const FILE = `rules:
  - name: no thirteen
    tools: [refund_order]
    when: args.cents == 13
    then: refuse
    reason: bad luck
  - name: small refunds
    tools: [refund_order]
    agents: [clerk]
    when: args.cents <= 5000
    then: run
    until: 2026-12-24
  - name: second thoughts
    tools: [refund_order]
    then: ask
`;

const read = (text = FILE, now = NOW): PolicyRules => {
  jest.spyOn(Date, 'now').mockReturnValueOnce(now);
  return parsePolicy(text, 'policy.yaml', KNOWN);
};
const call = (changes: Partial<RuledCall> = {}): RuledCall => ({
  ...{ agent: 'clerk', tool: 'refund_order', safety: 'dangerous', effect: 'unsafe', schema },
  args: { cents: 400 },
  ...changes,
});

describe('the rule that fits', () => {
  it.each<[string, Partial<RuledCall>, string | undefined, string | undefined]>([
    ['the first whose condition is true', { args: { cents: 13 } }, 'no thirteen', 'refuse'],
    ['one after a rule that does not fit', {}, 'small refunds', 'run'],
    ['one of all agents', { agent: 'other' }, 'second thoughts', 'ask'],
    ['one whose condition fails, which refuses', { args: {} }, 'no thirteen', 'refuse'],
    ['none, where no rule is about its tool', { tool: 'look', args: {} }, undefined, undefined],
  ])('is %s', (_, changes, name, action) => {
    const by = read().rulingOn(call(changes), NOW);
    expect([by?.rule.name, by?.action]).toEqual([name, action]);
  });

  it('fits nothing any more once its last day is over, and is in order then', () => {
    const last = Date.parse('2026-12-24T23:59:59.999Z');
    const nameAt = (now: number): string | undefined => read().rulingOn(call(), now)?.rule.name;
    expect(nameAt(last)).toBe('small refunds');
    expect(nameAt(last + 1)).toBe('second thoughts');
    expect(read(FILE, last + 1).rules).toHaveLength(3);
  });

  it('says why a condition could not be worked out', () => {
    expect(read().rulingOn(call({ args: {} }), NOW)?.failed).toContain('cents');
  });
});

const rule = (lines: string): string => `rules:\n  - name: one\n${lines.replace(/^/gm, '    ')}\n`;

describe('mistakes', () => {
  it.each([
    ['not YAML', 'rules: [', 'policy.yaml:1:9'],
    ['no rules', 'rule: []', '`rules` is missing'],
    [
      'a field that there is not',
      rule('then: ask\nwho: anna'),
      'policy.yaml:4:10: `rules.0` has no field `who`',
    ],
    ['an answer that there is not', rule('then: by_safety'), 'policy.yaml:3:11'],
    ['no answer', rule('tools: [look]'), '`rules.0.then` is'],
    ['a condition that cannot be read', rule('then: ask\nwhen: args.cents >'), 'policy.yaml:4:'],
    [
      'a variable that there is not',
      rule('then: ask\nwhen: arg.cents > 1'),
      "policy.yaml:4:11: 'arg' is not known",
    ],
    ['an unknown tool', rule('then: ask\ntools: [lok]'), "policy.yaml:4:13: there is no tool 'lok'"],
    ['an unknown agent', rule('then: ask\nagents: [boss]'), "policy.yaml:4:14: there is no agent 'boss'"],
    [
      'a field that its tool has not',
      rule('then: ask\ntools: [refund_order]\nwhen: args.sum > 1'),
      "has an argument 'sum'",
    ],
    [
      'a dangerous tool that runs',
      rule('then: run\ntools: [refund_order]'),
      "policy.yaml:3:11: 'refund_order' is dangerous",
    ],
    [
      '`until` without `run`',
      rule('then: ask\ntools: [look]\nuntil: 2026-12-01'),
      'only a rule that says `run`',
    ],
    [
      '`until` for all tools',
      rule('then: run\nuntil: 2026-12-01'),
      'policy.yaml:4:12: a rule with `until` names its `tools`',
    ],
    ['a day too far away', rule('then: run\ntools: [refund_order]\nuntil: 2026-12-27'), 'at most 31 days'],
    ['a day that there is not', rule('then: run\ntools: [look]\nuntil: 2026-02-30'), 'must be a day'],
    [
      'a name twice',
      `${rule('then: ask\ntools: [look]')}  - name: one\n    then: refuse\n`,
      "two rules 'one'",
    ],
    [
      'a rule that can never match',
      `${rule('then: ask')}  - name: two\n    tools: [look]\n    then: refuse\n`,
      "policy.yaml:4:5: 'two' can never match: 'one' before it takes each of its calls",
    ],
  ])('%s', (_, text, message) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
    expect(() => read(text)).toThrow(expect.objectContaining({ message: expect.stringContaining(message) }));
  });

  it('takes a rule after one that ends and takes the same calls', () => {
    const text = `rules:
  - { name: b, tools: [refund_order], then: run, until: 2026-12-01 }
  - { name: c, tools: [refund_order], then: ask }
`;
    expect(read(text).rules.map(({ name }) => name)).toEqual(['b', 'c']);
  });

  it('takes tools of MCP servers as they are named, and without a config every name', () => {
    const text = rule('then: ask\ntools: [shop__refund]');
    expect(read(text).rules).toHaveLength(1);
    expect(parsePolicy(rule('then: ask\ntools: [whatever]'), 'p').rules).toHaveLength(1);
  });
});

describe('where rules stand', () => {
  const rules: PolicyRule[] = [{ name: 'one', then: 'ask', tools: ['look'] }];
  let directory = '';
  beforeAll(async () => void (directory = await mkdtemp(join(tmpdir(), 'countersign-policy-'))));
  afterAll(() => rm(directory, { recursive: true }));

  it.each([
    ['JSON', JSON.stringify({ rules })],
    ['YAML', 'rules: [{ name: one, then: ask, tools: [look] }]'],
  ])('is a file of %s', async (kind, text) => {
    const file = join(directory, `policy.${kind}`);
    await writeFile(file, text);
    expect(await loadPolicy(file)).toMatchObject({ from: file, rules });
  });

  it('is the config', async () => {
    expect(await loadPolicy(rules)).toMatchObject({ from: 'config', rules });
  });

  it.each<[string, string | PolicyRule[], string, string]>([
    ['a file that is not there', '/nowhere/policy.yaml', 'file_failed', 'no such file'],
    [
      'a wrong rule of the config',
      [{ name: '', then: 'ask' }],
      'config_invalid',
      'config: `policy`: rules.0.name',
    ],
    ['a wrong name in one', [{ name: 'a', then: 'ask', tools: ['lok'] }], 'config_invalid', "no tool 'lok'"],
  ])('refuses %s', async (_, source, code, message) => {
    const failed = await loadPolicy(source, KNOWN).catch((error: CountersignError) => error);
    expect(failed).toMatchObject({ code, message: expect.stringContaining(message) });
  });
});

it('never throws and answers with a rule of its own, whatever a model asks for', () => {
  const rules = read(`rules:
  - { name: deep, when: 'args.a.b[0] > 1', then: ask }
  - { name: all, when: 'args.exists(name, args[name] == 1)', then: refuse }
  - { name: text, when: 'args.a.matches("^(a+)+$")', then: refuse }
`);
  const names = new Set(['deep', 'all', 'text', undefined]);
  const args = fc.dictionary(
    fc.oneof(fc.constantFrom('a', 'b', '__proto__', 'constructor'), fc.string()),
    fc.jsonValue(),
  );
  fc.assert(
    fc.property(args, fc.string(), (given, tool) => {
      const json = JSON.parse(JSON.stringify(given));
      const by = rules.rulingOn(call({ tool, args: json }), NOW);
      expect(names.has(by?.rule.name)).toBe(true);
      if (by?.failed !== undefined) expect(by.action).toBe('refuse');
    }),
  );
});

it('reads whatever text there is as rules, or says what is wrong', () => {
  const word = fc.constantFrom(
    'rules',
    ':',
    '\n',
    '  - ',
    'name',
    'then',
    'run',
    'until',
    '&a',
    '*a',
    '{',
    ']',
    '"',
    'when',
    '\0',
    '!!js',
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        fc.array(word).map((words) => words.join(' ')),
      ),
      (text) => {
        try {
          read(text);
        } catch (error) {
          expect(error).toMatchObject({ code: 'config_invalid' });
        }
      },
    ),
  );
});
