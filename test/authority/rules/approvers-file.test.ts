import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Approvers, loadApprovers, parseApprovers } from '../../../src/authority/rules/approvers-file';
import type { KnownNames } from '../../../src/authority/rules/check-rules';
import type { RuledCall } from '../../../src/authority/rules/which-rules-fit';
import { countVotes } from '../../../src/authority/votes/count-votes';
import { CountersignError } from '../../../src/contract/errors';
import { newSigner } from '../../support/ssh';

type RuledTool = KnownNames['tools'] extends ReadonlyMap<string, infer T> ? T : never;

const KNOWN: KnownNames = {
  tools: new Map<string, RuledTool>([
    [
      'refund_order',
      {
        safety: 'dangerous',
        schema: { type: 'object', properties: { cents: { type: 'integer' } }, additionalProperties: false },
      },
    ],
    ['look', { safety: 'safe', schema: { type: 'object', properties: {} } }],
  ]),
  agents: ['clerk'],
  servers: ['shop'],
};
const HEAD = `installation: ${'ab'.repeat(16)}\n`;
const PEOPLE = `people:
  anna: { groups: [finance], mail: Anna@example.com }
  bob: { groups: [finance, leads] }
`;
const RULES = `rules:
  - name: large refunds
    tools: [refund_order]
    when: args.cents > 50000
    then: ask
    approvers: { any: ['group:finance'], need: 2, notRequester: true }
    assurance: signed
    expires: 2 days
    escalate: { after: 1h, to: ['group:leads'] }
  - name: no looking
    tools: [look]
    agents: [clerk]
    then: refuse
`;
const DEFAULT = '  - name: default\n    then: by_safety\n';
const GOOD = HEAD + PEOPLE + RULES + DEFAULT;

const read = (text = GOOD): Approvers => parseApprovers(text, 'approvers.yaml', KNOWN);
const call = (changes: Partial<RuledCall> = {}): RuledCall => ({
  ...{ agent: 'clerk', tool: 'refund_order', safety: 'dangerous', effect: 'unsafe', args: { cents: 90_000 } },
  schema: { type: 'object', properties: { cents: { type: 'integer' } } },
  ...changes,
});

describe('the rule that fits', () => {
  it.each<[string, Partial<RuledCall>, string, string, string[]]>([
    ['a large refund', {}, 'large refunds', 'ask', []],
    ['a small one', { args: { cents: 5 } }, 'default', 'ask', ['large refunds']],
    ['one whose condition throws', { args: {} }, 'large refunds', 'refuse', []],
    ['a look by the clerk', { tool: 'look', safety: 'safe' }, 'no looking', 'refuse', []],
    ['a look by another agent', { tool: 'look', safety: 'safe', agent: 'other' }, 'default', 'run', []],
    ['a tool that no rule names', { tool: 'other', safety: 'cautious' }, 'default', 'run', []],
  ])('%s', (_name, changes, rule, action, passed) => {
    expect(read().rulingOn(call(changes))).toMatchObject({ rule: { name: rule }, action, passed });
  });

  it('is frozen with all that it asks for, and has a digest that changes with it', () => {
    const ruling = read().rulingOn(call());
    expect(ruling.rule).toEqual({
      ...{ name: 'large refunds', then: 'ask', rosters: [['group:finance']], need: 2, groups: [] },
      ...{ notRequester: true, denyNeeds: 1, assurance: 'signed', expiresMs: 172_800_000 },
      escalate: { afterMs: 3_600_000, to: ['group:leads'] },
    });
    const digestOf = (text: string): string => read(text).rulingOn(call()).ruleDigest;
    expect(digestOf(GOOD)).toBe(ruling.ruleDigest);
    expect(digestOf(GOOD.replace('50000', '50001'))).not.toBe(ruling.ruleDigest);
    expect(digestOf(GOOD.replace('2 days', '3 days'))).not.toBe(ruling.ruleDigest);
    expect(read(`${GOOD}# a note\n`).digest).not.toBe(read().digest);
  });

  it('knows people by their ids at Slack', () => {
    const file = read(GOOD.replace(/^people:$/m, 'people:\n  eve: { slack: U02EVE }'));
    expect([file.personOfSlack('U02EVE'), file.slackOf('eve')]).toEqual(['eve', 'U02EVE']);
    expect([file.personOfSlack('u02eve'), file.slackOf('nobody')]).toEqual([undefined, undefined]);
  });

  it('knows people by name and mail, whatever their case', () => {
    const { personOf } = read();
    expect(['ANNA', 'anna@EXAMPLE.com', 'bob', 'eve'].map(personOf)).toEqual([
      'anna',
      'anna',
      'bob',
      undefined,
    ]);
  });
});

const { line: KEY } = newSigner('ssh-ed25519');
const withInbox = (...lines: string[]): string => `inboxKeys: ${JSON.stringify(lines)}\n${GOOD}`;
const ofAnna = (...lines: string[]): string =>
  GOOD.replace('{ groups: [finance], mail', `{ keys: ${JSON.stringify(lines)}, groups: [finance], mail`);
const withPeople = (people: string): string =>
  `${HEAD}people:\n${people}${RULES.replace('need: 2, ', '')}${DEFAULT}`;
const withRules = (rules: string): string => `${HEAD}${PEOPLE}rules:\n${rules}${DEFAULT}`;

it('knows whose key is whose', () => {
  const [own, inbox] = [newSigner('ssh-ed25519'), newSigner('ssh-ed25519')];
  const approvers = read(`inboxKeys: ['${inbox.line}']\n${ofAnna(own.line)}`);
  const [key] = approvers.keysOf('anna');
  expect(key).toMatchObject({ line: own.line, type: 'ssh-ed25519' });
  expect(approvers.ownerOf(key?.fingerprint ?? '')).toBe('anna');
  expect(approvers.inboxKeys).toMatchObject([{ line: inbox.line }]);
  expect(approvers.ownerOf(approvers.inboxKeys[0]?.fingerprint ?? '')).toBeUndefined();
  expect([approvers.keysOf('bob'), approvers.keysOf('nobody')]).toEqual([[], []]);
});

describe('a file with a mistake', () => {
  it.each<[string, string, string]>([
    ['text that is not YAML', `${HEAD}people: [`, ':2:10: '],
    ['a key twice', `${HEAD}${HEAD}${PEOPLE}`, ':2:1: Map keys must be unique'],
    ['nothing', '', ':1:1: the file'],
    ['no id', PEOPLE + RULES + DEFAULT, ': `installation` '],
    ['a wrong id', GOOD.replace('ab'.repeat(16), '7f3c'), ':1:15: `installation` must be 32 hex digits'],
    [
      'a field that there is none of',
      GOOD.replace('then: refuse', 'than: refuse'),
      ':17:11: `rules.1` has no field `than`',
    ],
    ['a time that is none', GOOD.replace('2 days', 'soon'), ':12:14: `rules.0.expires` must be a time'],
    ['a wrong action', GOOD.replace('by_safety', 'maybe'), ':19:11: `rules.2.then`'],
    [
      'an empty roster',
      GOOD.replace(`['group:finance']`, '[]'),
      ':10:23: `rules.0.approvers.any` must not be empty',
    ],
    ['an unknown tool', GOOD.replace('[refund_order]', '[look, refund]'), `:7:19: there is no tool 'refund'`],
    [
      'a kind of budget that there is none of',
      GOOD.replace('[refund_order]', '[raise_budget, raise_session_budget]'),
      `:8:16: 'large refunds' can never match: no tool of it has an argument 'cents'`,
    ],
    ['an unknown agent', GOOD.replace('[clerk]', '[clark]'), `:16:14: there is no agent 'clark'`],
    [
      'an argument that there is none of',
      GOOD.replace('args.cents', 'args.sents'),
      `:8:16: 'large refunds' can never match: no tool of it has an argument 'sents'`,
    ],
    [
      'a condition that is a number',
      GOOD.replace('args.cents > 50000', 'args.cents'),
      `:8:16: 'args.cents' is neither true nor false: compare it with something`,
    ],
    [
      'a condition that cannot be read',
      GOOD.replace('args.cents > 50000', 'args.cents = 5'),
      ':8:22: there is = where that cannot be',
    ],
    [
      'a variable that there is none of',
      GOOD.replace('args.cents > 50000', 'tool == cents'),
      `:8:19: 'cents' is not known`,
    ],
    [
      'a condition that is never true',
      GOOD.replace('args.cents > 50000', '1 > 2'),
      ":8:11: 'large refunds' can never match",
    ],
    [
      'a condition that is always true',
      GOOD.replace('args.cents > 50000', '2 > 1'),
      ':8:11: this is always true',
    ],
    [
      'a rule behind one that takes all',
      withRules(`  - { name: all, then: ask }\n  - { name: more, tools: [look], then: ask }\n`),
      `:7:5: 'more' can never match: 'all' before it`,
    ],
    [
      'a rule behind one of its tool',
      withRules(
        `  - { name: a, tools: [look], then: ask }\n  - { name: b, tools: [look], when: 'agent == "x"', then: ask }\n`,
      ),
      `:7:5: 'b' can never match: 'a' before it`,
    ],
    [
      'a rule with the same condition',
      withRules(
        `  - { name: a, when: 'agent == "x"', then: ask }\n  - { name: b, tools: [look], when: 'agent == "x"', then: ask }\n`,
      ),
      `:7:5: 'b' can never match`,
    ],
    [
      'two rules of one name',
      withRules(
        `  - { name: a, tools: [look], then: ask }\n  - { name: a, tools: [refund_order], then: ask }\n`,
      ),
      `:7:13: there are two rules 'a'`,
    ],
    ['no last rule', HEAD + PEOPLE + RULES, ':14:5: the last rule must be named `default`'],
    [
      'a dangerous tool that would run',
      withRules(`  - { name: a, tools: [refund_order], then: run }\n`),
      `:6:45: 'refund_order' is dangerous`,
    ],
    [
      'one key of two people',
      withPeople(
        `  anna: { groups: [finance, leads], keys: ['${KEY} anna'] }\n  bob: { keys: ['${KEY} bob'] }\n`,
      ),
      ':4:18: this key is that of anna, too',
    ],
    [
      'something that is no key',
      withPeople(`  anna: { groups: [finance, leads], keys: [ssh-ed25519 AAAA] }\n`),
      ':3:44: this is not a public key',
    ],
    [
      'a certificate',
      withPeople(`  anna: { groups: [finance, leads], keys: [ssh-ed25519-cert-v01@openssh.com AAAA] }\n`),
      ':3:44: certificates are not taken',
    ],
    [
      'a short RSA key',
      ofAnna(KEY, newSigner('ssh-rsa', { bits: 1024 }).line),
      `:3:${18 + KEY.length + 4}: this RSA key has 1024 bits`,
    ],
    [
      'an option that there is none of',
      ofAnna(`namespaces="countersign",soon ${KEY}`),
      `there is no option 'soon'`,
    ],
    [
      'a key for other uses',
      ofAnna(`namespaces="git" ${KEY}`),
      ':3:19: this key may not sign: its namespaces lack countersign',
    ],
    ['a key twice', ofAnna(KEY, `${KEY} again`), ': this key is listed twice'],
    ['a key of a web inbox twice', withInbox(KEY, KEY), ': this key is listed twice'],
    ['a key of a web inbox that is none', withInbox('web'), ':1:14: this is not a public key'],
    [
      'a key of a web inbox of another type',
      withInbox(newSigner('ecdsa-sha2-nistp256').line),
      ':1:14: the key of a web inbox is an ssh-ed25519 key',
    ],
    [
      'a key of a person and a web inbox',
      `inboxKeys: ['${KEY}']\n${ofAnna(KEY)}`,
      ':1:14: this key is that of anna, too',
    ],
    ['a name of a look-alike', withPeople(`  \u0430nna: { groups: [finance, leads] }\n`), ':3:'],
  ])('%s', (_name, text, message) => {
    const reading = (): unknown => read(text);
    expect(reading).toThrow(message);
    expect(reading).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });

  it('says all of them at once, with line and column', () => {
    let error: unknown;
    try {
      read(GOOD.replace('[clerk]', '[clark]').replace('need: 2', 'need: 9'));
    } catch (thrown) {
      error = thrown;
    }
    if (!(error instanceof CountersignError)) throw error;
    expect(error.data['mistakes']).toEqual([
      { line: 10, column: 23, message: expect.any(String) },
      { line: 16, column: 14, message: expect.any(String) },
    ]);
  });

  it('is good where names of tools are not known', () => {
    expect(parseApprovers(GOOD.replace('[look]', '[some_tool]'), 'approvers.yaml').rules).toHaveLength(3);
  });

  it('takes names of tools of servers that were not asked yet', () => {
    expect(read(GOOD.replace('[look]', '[shop__list]')).rules).toHaveLength(3);
    expect(() => read(GOOD.replace('[look]', '[shack__list]'))).toThrow('there is no tool');
  });
});

it('warns of rules that a spelling leaves, and of what it cannot judge', () => {
  const schema = { type: 'object', properties: { path: {}, at: {} } };
  const tools = new Map([
    ...KNOWN.tools,
    ['ours', { safety: 'dangerous' as const, schema, spelling: {} }],
    ['theirs', { safety: 'dangerous' as const, schema, parsesToJson: () => false }],
  ]);
  const rule = (named: string) =>
    `  - { name: ${named}, tools: [${named}], when: 'args.path.startsWith("prod")', then: ask }\n`;
  const text = `${HEAD}${PEOPLE}rules:\n${['ours', 'theirs', 'shop__save'].map(rule).join('')}${DEFAULT}`;
  const { warnings } = parseApprovers(text, 'approvers.yaml', { ...KNOWN, tools });
  expect(warnings).toEqual([
    expect.stringMatching(/^'theirs' compares a path or a URL, and theirs may take other spellings/),
    expect.stringMatching(/^'theirs' judges arguments of theirs as the model wrote them/),
    expect.stringMatching(/^'shop__save' compares a path or a URL, and shop__save/),
  ]);
  expect(parseApprovers(text, 'approvers.yaml').warnings).toEqual([]);
});

it('reads a file, and says so where there is none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'approvers-'));
  const file = join(folder, 'approvers.yaml');
  await expect(loadApprovers(file)).rejects.toMatchObject({ code: 'file_failed' });
  await writeFile(file, GOOD);
  await expect(loadApprovers(file, KNOWN)).resolves.toMatchObject({
    file,
    people: [{ name: 'anna' }, { name: 'bob' }],
  });
  await rm(folder, { recursive: true });
});

it('does not follow aliases that grow without end', () => {
  const levels = Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${`*a${n},`.repeat(9)}]`).join(
    '\n',
  );
  expect(() => read(`a0: &a0 [x]\n${levels}\n${GOOD}`)).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  );
});

it('finds who may decide among 500 people and 200 rules', () => {
  const people = Array.from(
    { length: 500 },
    (_, n) => `  p${n}: { groups: [g${n % 10}], delegates: [p${n + 1 < 500 ? n + 1 : 0}x] }\n  p${n}x: {}\n`,
  )
    .join('')
    .replace('p0x]', 'p1x]');
  const rules = Array.from(
    { length: 199 },
    (_, n) =>
      `  - { name: r${n}, tools: [t${n % 40}], when: 'args.n == ${n}', then: ask, approvers: { any: ['group:g${n % 10}'], need: 2 } }\n`,
  ).join('');
  const approvers = parseApprovers(`${HEAD}people:\n${people}rules:\n${rules}${DEFAULT}`, 'approvers.yaml');
  const ruling = approvers.rulingOn(call({ tool: 't7', args: { n: 167 }, schema: {} }));
  expect(ruling.rule.name).toBe('r167');
  const { mayVote } = countVotes(ruling.rule, [], { people: approvers.people, requesters: ['p7'], now: 0 });
  expect(mayVote).toHaveLength(100);
});

it('reads the times of delegates: days in UTC, of which the last one still belongs to the time', () => {
  const delegates = `[bob, { name: cid, from: 2026-12-24, until: 2026-12-31 }, { name: dan, from: '2026-12-24T08:00:00+01:00' }]`;
  const { people } = parseApprovers(
    `installation: '${'ab'.repeat(16)}'\npeople: { anna: { delegates: ${delegates} }, bob: {}, cid: {}, dan: {} }\nrules: [{ name: default, then: by_safety }]\n`,
    'approvers.yaml',
  );
  expect(people[0]?.delegates).toEqual([
    { name: 'bob' },
    { name: 'cid', from: '2026-12-24T00:00:00.000Z', until: '2027-01-01T00:00:00.000Z' },
    { name: 'dan', from: '2026-12-24T07:00:00.000Z' },
  ]);
});
