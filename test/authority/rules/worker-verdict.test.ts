import fc from 'fast-check';
import { z } from 'zod';
import { askRules } from '../../../src/authority/rules/worker-verdict';
import { parseApprovers } from '../../../src/authority/rules/approvers-file';
import { parsePolicy, type PolicyRules } from '../../../src/authority/rules/policy-file';
import type { ApproversSource } from '../../../src/authority/rules/current-file';
import type { CallInput, SpentDecision } from '../../../src/contract/call';
import {
  type SignedCallFacts,
  statementOf,
  statementText,
} from '../../../src/authority/signatures/statement';
import { newSigner, type TestSigner } from '../../support/ssh';
import { defineTool } from '../../../src/tools/define-tool';
import type { Policy } from '../../../src/tools/types';
import { runs } from '../../support/properties';
import type { Authority, Vote } from '../../../src/contract/authority';
import { requestersOf } from '../../../src/authority/votes/requesters';
import { checkVotes } from '../../../src/authority/votes/worker-check';

type VoteCheck = Parameters<typeof checkVotes>[0];

const FILE = `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people:
  anna: { groups: [finance], delegates: [dora] }
  bob: { groups: [finance] }
  cleo: { groups: [finance] }
  dora: { delegates: [emil] }
  emil: {}
rules:
  - name: never
    tools: [pay]
    when: args.cents == 13
    then: refuse
  - name: broken
    tools: [pay]
    when: args.missing == 1
    agents: [broken]
    then: ask
  - name: large
    tools: [pay]
    when: args.cents > 500
    then: ask
    approvers: { any: ['group:finance'], need: 2, notRequester: true }
  - name: look twice
    tools: [look]
    then: ask
    approvers: { any: [bob] }
  - name: default
    then: by_safety
`;
const sourceOf = (text: string): ApproversSource => {
  const file = parseApprovers(text, 'approvers.yaml');
  return { current: () => Promise.resolve(file) };
};
const approvers = sourceOf(FILE);
const parameters = z.object({ cents: z.int() });
const pay = defineTool({ name: 'pay', description: 'p', parameters, safety: 'dangerous', handler: () => '' });
const look = defineTool({ name: 'look', description: 'l', parameters, handler: () => '' });
const ask = (policy: Policy | undefined, tool = pay, cents = 900, agent = 'clerk') =>
  askRules({ agent, policy, approvers }, { tool, args: { cents }, requesters: ['rita'] });

describe('what is done with a call, by policy and file', () => {
  it.each<[string, Policy | undefined, typeof pay, number, string, string | undefined]>([
    ['the file asks', undefined, pay, 900, 'ask', 'large'],
    ['safety asks, and the last rule says who decides', undefined, pay, 5, 'ask', 'default'],
    ['the file asks about what safety lets run', undefined, look, 1, 'ask', 'look twice'],
    ['the policy refuses what the file asks about', () => 'refuse', pay, 900, 'refuse', undefined],
    ['the file refuses what the policy asks about', () => 'ask', pay, 13, 'refuse', undefined],
    ['the policy lets run what the file asks about', () => 'run', pay, 900, 'ask', 'large'],
  ])('%s', async (_, policy, tool, cents, decision, name) => {
    const verdict = await ask(policy, tool, cents);
    expect(verdict.decision).toBe(decision);
    expect(verdict.authority?.rule.name).toBe(name);
  });

  it('refuses where a condition cannot be worked out', async () => {
    expect(await ask(undefined, pay, 900, 'broken')).toMatchObject({
      decision: 'refuse',
      reason: expect.stringContaining("'broken' cannot be worked out"),
    });
  });

  it('says who decides to nobody where there is no file', async () => {
    const verdict = await askRules({ agent: 'clerk' }, { tool: pay, args: { cents: 900 }, requesters: [] });
    expect(verdict).toEqual({ decision: 'ask' });
  });
});

const DAY_MS = 86_400_000;
const SOON = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10);
const rulesOf = (text: string): PolicyRules => parsePolicy(`rules: [${text}]`, 'policy.yaml');
const BY_FILE = parseApprovers(
  FILE.replace(/ {2}- name: (never|broken|large|look twice)[^]*(?= {2}- name: default)/, ''),
  'approvers.yaml',
);

describe('the policy rules beside safety, function and file', () => {
  const grant = `{ name: small, tools: [pay], then: run, until: ${SOON} }`;
  it.each<[string, string, Parameters<typeof ask>[0], typeof pay, string, string | undefined]>([
    ['no rule fits', '{ name: r, tools: [look], then: refuse }', undefined, pay, 'ask', undefined],
    ['a rule asks', '{ name: r, then: ask }', undefined, look, 'ask', "the rule 'r' asks"],
    [
      'a rule asks, and says why',
      '{ name: r, then: ask, reason: new }',
      undefined,
      look,
      'ask',
      "the rule 'r' asks: new",
    ],
    ['a rule refuses', '{ name: r, then: refuse }', undefined, pay, 'refuse', "the rule 'r' refuses it"],
    [
      'a rule refuses what the function asks about',
      '{ name: r, then: refuse }',
      () => 'ask',
      look,
      'refuse',
      "the rule 'r' refuses it",
    ],
    ['a rule lets a safe tool run', '{ name: r, then: run }', undefined, look, 'run', undefined],
    ['a rule never loosens by itself', '{ name: r, then: run }', undefined, pay, 'ask', undefined],
    [
      'a rule loosens until a day',
      grant,
      undefined,
      pay,
      'run',
      `the rule 'small' lets it run until ${SOON}`,
    ],
    ['not what the function asks about', grant, () => 'ask', pay, 'ask', undefined],
    [
      'not what the function refuses',
      grant,
      () => ({ decision: 'refuse', reason: 'no' }),
      pay,
      'refuse',
      'no',
    ],
    ['nor where that says run', grant, () => 'run', pay, 'run', `the rule 'small' lets it run until ${SOON}`],
    [
      'not once it ended',
      '{ name: r, tools: [pay], then: run, until: 2020-01-01 }',
      undefined,
      pay,
      'ask',
      undefined,
    ],
    [
      'a condition fails',
      '{ name: r, when: args.x == 1, then: run }',
      undefined,
      look,
      'refuse',
      "'r' cannot be worked out",
    ],
  ])('%s', async (_, text, policy, tool, decision, reason) => {
    const rules = rulesOf(text);
    const verdict = await askRules(
      { agent: 'clerk', policy, rules },
      { tool, args: { cents: 5 }, requesters: [] },
    );
    expect(verdict.decision).toBe(decision);
    if (reason === undefined) expect(verdict.reason).toBeUndefined();
    else expect(verdict.reason).toContain(reason);
  });

  it('leaves the last word to the approvers file', async () => {
    const owner = {
      agent: 'clerk',
      rules: rulesOf(grant),
      approvers: { current: () => Promise.resolve(BY_FILE) },
    };
    const verdict = await askRules(owner, { tool: pay, args: { cents: 5 }, requesters: [] });
    expect(verdict).toMatchObject({ decision: 'ask', reason: "the rule 'default' asks" });
    expect(verdict.authority?.rule.name).toBe('default');
  });

  it('puts on record which rule fitted', async () => {
    const { decision, ruling } = await askRules(
      { agent: 'clerk', rules: rulesOf(grant) },
      { tool: pay, args: { cents: 5 }, requesters: [] },
    );
    expect(decision).toBe('run');
    const digest = expect.stringMatching(/^[0-9a-f]{64}$/);
    expect(ruling).toEqual({ rule: 'small', then: 'run', until: SOON, digest });
  });

  it('never decides milder than safety without `until`', async () => {
    const action = fc.constantFrom('run', 'ask', 'refuse');
    const one = fc.record({
      then: action,
      when: fc.constantFrom('args.cents > 5', 'args.x > 1', 'has(args.x)'),
    });
    const decide = async (text: string, cents: number): Promise<string> =>
      (await askRules({ agent: 'a', rules: rulesOf(text) }, { tool: pay, args: { cents }, requesters: [] }))
        .decision;
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 5 }), fc.integer(), async (many, cents) => {
        const rules = many.map(
          ({ then, when }, at) => `{ name: r${at}, then: ${then}, when: '${when} && ${at} == ${at}' }`,
        );
        const decision = await decide(rules.join(), cents);
        expect(['ask', 'refuse']).toContain(decision);
      }),
      { numRuns: runs(50) },
    );
  });
});

it('knows everybody who asked, those who steered and those who had before included', async () => {
  const { authority } = await ask(undefined);
  expect(requestersOf({ requester: 'zoe', others: ['max', 'zoe'] }, authority)).toEqual([
    'rita',
    'zoe',
    'max',
  ]);
  expect(requestersOf(undefined)).toEqual([]);
});

const SEEN = 'a'.repeat(64);
const vote = (voter: string, more: Partial<Vote> = {}): Vote => ({
  ...{
    voter,
    decision: 'approved',
    decisionId: `d-${voter}`,
    at: '2026-01-01T00:00:00.000Z',
    seenDigest: SEEN,
  },
  ...more,
});
const inputWith = (votes: Vote[] | undefined, more: Partial<CallInput> = {}): CallInput => {
  const decision: SpentDecision = {
    ...{ decisionId: 'd', decision: 'approved', approver: 'x', seenDigest: SEEN },
    ...(votes === undefined ? {} : { votes }),
  };
  return {
    ...{ callId: '1.1', id: 'i', tool: 'pay', agent: 'clerk', callKey: 'k', generation: 0 },
    ...{ arguments: {}, argsDigest: '', toolDigest: '', effect: 'unsafe', timeoutMs: 1 },
    ...{ originalRunId: 'r', secret: 's', decision },
    ...more,
  };
};

const PLACE = { namespace: 'default', workflowId: 'turn-1', runId: 'run-1' };

const NOW = Date.UTC(2026, 0, 1);
const times = () => Promise.resolve({ asked: NOW - DAY_MS, scheduled: NOW + DAY_MS });
const check = (own: Authority | undefined, input: CallInput, more: Partial<VoteCheck> = {}) =>
  checkVotes({ own, place: () => PLACE, times, now: NOW, ...more }, input);

describe('votes, right before the handler', () => {
  let own: Authority;
  beforeAll(async () => {
    const { authority } = await ask(undefined);
    if (authority === undefined) throw new Error('nobody decides');
    own = authority;
  });

  it.each<[string, Vote[] | undefined, string[], RegExp]>([
    ['none at all, as a forged decision has', undefined, [], /needs 2 more of: anna, bob, cleo/],
    ['one of two', [vote('anna')], [], /needs 1 more of: bob, cleo/],
    [
      'one for other arguments',
      [vote('anna'), vote('bob', { seenDigest: 'b'.repeat(64) })],
      ['bob'],
      /something else/,
    ],
    [
      'one that says nothing of what was seen',
      [vote('anna'), { ...vote('bob'), seenDigest: '' }],
      ['bob'],
      /else/,
    ],
    ['the same person twice', [vote('anna'), vote('anna')], [], /needs 1 more/],
    ['a person and her delegate', [vote('anna'), vote('dora')], [], /needs 1 more/],
    ['a delegate of a delegate', [vote('bob'), vote('emil')], ['emil'], /is not named/],
    ['who asked for the turn', [vote('anna'), vote('rita')], ['rita'], /is not named/],
    ['somebody unknown', [vote('anna'), vote('mallory')], ['mallory'], /is not named/],
    ['a denial', [vote('anna'), vote('bob', { decision: 'denied' })], ['bob'], /not an approval/],
  ])('do not let it run: %s', async (_, votes, struck, why) => {
    const found = await check(own, inputWith(votes));
    expect(found).toMatchObject({ struck, secret: 's', authority: { rule: { name: 'large' } } });
    expect(found).toMatchObject({ askAgain: expect.stringMatching(why) });
  });

  it('let it run where two people approved what would run', async () => {
    expect(await check(own, inputWith([vote('anna'), vote('bob')]))).toEqual({ ok: true, isSigned: false });
    expect(await check(own, inputWith([vote('dora'), vote('bob')]))).toEqual({ ok: true, isSigned: false });
  });

  it('are needed by the file of the worker, whatever the input says', async () => {
    const loose = { ...own, rule: { ...own.rule, need: 1, rosters: [] }, requesters: [] };
    expect(await check(own, inputWith([vote('anna')], { authority: loose }))).toHaveProperty('askAgain');
  });

  it('are needed by the input, too, where the file asks for less or there is none', async () => {
    const strict = { ...own, rule: { ...own.rule, need: 3 } };
    const votes = [vote('anna'), vote('bob')];
    expect(await check(own, inputWith(votes, { authority: strict }))).toMatchObject({
      askAgain: expect.stringMatching(/1 more/),
    });
    expect(await check(undefined, inputWith(votes, { authority: strict }))).toMatchObject({
      askAgain: expect.stringMatching(/1 more/),
    });
  });

  it('are not counted where the input cannot be read', async () => {
    const authority: unknown = { rule: 'anybody' };
    const input = Object.assign(inputWith([vote('anna'), vote('bob')]), { authority });
    expect(await check(own, input)).toMatchObject({ askAgain: expect.stringMatching(/cannot be read/) });
  });

  it('are not needed where neither file nor input says who decides', async () => {
    expect(await check(undefined, inputWith(undefined))).toEqual({ ok: true, isSigned: false });
  });

  it.each(['signed_in', 'signed', 'signed_ssh'] as const)(
    'that are claimed do not count as %s',
    async (assurance) => {
      const wanted = { ...own, rule: { ...own.rule, assurance } };
      const found = await check(wanted, inputWith([vote('anna'), vote('bob')]));
      expect(found).toMatchObject({ struck: ['anna', 'bob'] });
      expect(found).toMatchObject({ askAgain: expect.stringMatching(/it is claimed/) });
    },
  );

  describe('that are signed', () => {
    const [anna, bob] = [newSigner('ssh-ed25519'), newSigner('ssh-ed25519')];
    const text = FILE.replace('anna: { ', `anna: { keys: ['${anna.line}'], `).replace(
      'bob: { ',
      `bob: { keys: ['${bob.line}'], `,
    );
    const file = parseApprovers(text, 'approvers.yaml');
    const now = Date.UTC(2026, 0, 1);
    const times = { at: new Date(now).toISOString(), notAfter: new Date(now + 1000).toISOString() };
    const digest = 'c'.repeat(64);
    const call = { argsDigest: digest, toolDigest: digest };

    const runsHunks = (input: CallInput, hunks: string[] | undefined): CallInput => {
      const { decision, ...rest } = input;
      return { ...rest, ...(decision && { decision: { ...decision, ...(hunks && { hunks }) } }) };
    };
    const signedVote = (
      voter: string,
      key: TestSigner,
      more: Partial<SignedCallFacts> = {},
      hunks?: string[],
    ): Vote => {
      const facts = {
        ...{ installation: file.installation, ...PLACE, callKey: 'k', generation: 0, agent: 'clerk' },
        ...{ tool: 'pay', toolDigest: digest, seenDigest: SEEN, effectiveDigest: digest },
        ...{ ruleDigest: own.ruleDigest, requesters: own.requesters, ...more },
      };
      const named = hunks && { hunks };
      const statement = statementOf(facts, {
        ...{ decisionId: `d-${voter}`, decision: 'approved', approver: voter },
        ...{ ...times, ...named },
      });
      if (statement === undefined) throw new Error('nothing to sign');
      const armored = key.sign(statementText(statement));
      return vote(voter, { signature: { kind: 'ssh', armored, ...times }, signedBy: 'ssh', ...named });
    };
    const wanted = (): Authority => ({ ...own, rule: { ...own.rule, assurance: 'signed_ssh' } });
    const both = (): Vote[] => [signedVote('anna', anna), signedVote('bob', bob)];

    it('let it run, and say that it has to be its only start', async () => {
      expect(await check(wanted(), inputWith(both(), call), { file })).toEqual({
        ok: true,
        isSigned: true,
        roster: {
          ...{ installation: file.installation, fileDigest: file.digest },
          lines: [
            { decisionId: 'd-anna', person: 'anna', groups: ['finance'], line: anna.line },
            { decisionId: 'd-bob', person: 'bob', groups: ['finance'], line: bob.line },
          ],
        },
      });
    });

    it('are struck where their key is revoked, though the person still has it', async () => {
      const revoked = parseApprovers(`${text}revoked: [{ key: '${bob.line}', since: 2026-01-01 }]`, 'a.yaml');
      expect(await check(wanted(), inputWith(both(), call), { file: revoked })).toMatchObject({
        struck: ['bob'],
        askAgain: expect.stringMatching(/its key is revoked/),
      });
    });

    it('are struck by name where one of them is not over this', async () => {
      const votes = [signedVote('anna', anna), signedVote('bob', bob, { callKey: 'other' })];
      expect(await check(wanted(), inputWith(votes, call), { file })).toMatchObject({
        struck: ['bob'],
        askAgain: expect.stringMatching(/signature is refused/),
      });
    });

    it('are refused where they are bad, even by a rule that wants none', async () => {
      const votes = [signedVote('anna', bob), vote('bob')];
      expect(await check(own, inputWith(votes, call), { file })).toMatchObject({ struck: ['anna'] });
    });

    it('count as claimed by a worker without a file', async () => {
      expect(await check(wanted(), inputWith(both(), call))).toMatchObject({
        struck: ['anna', 'bob'],
        askAgain: expect.stringMatching(/has no approvers file to check its signature by/),
      });
      expect(await check(own, inputWith(both(), call))).toEqual({ ok: true, isSigned: false });
    });

    it.each<[string, string[] | undefined, string[] | undefined, object]>([
      ['count for the hunks that they name', ['2', '1'], ['1', '2'], { ok: true }],
      ['do not count for some hunks if they are for all', undefined, ['1'], { struck: ['anna', 'bob'] }],
      ['do not count for all hunks if they are for some', ['1'], undefined, { struck: ['anna', 'bob'] }],
      ['do not count for other hunks', ['1'], ['1', '2'], { struck: ['anna', 'bob'] }],
    ])('%s', async (_, signed, runs, found) => {
      const votes = [signedVote('anna', anna, {}, signed), signedVote('bob', bob, {}, signed)];
      expect(await check(wanted(), runsHunks(inputWith(votes, call), runs), { file })).toMatchObject(found);
    });

    it('do not count for hunks that somebody put under another signature', async () => {
      const votes = both().map((one) => ({ ...one, hunks: ['1'] }));
      expect(await check(wanted(), runsHunks(inputWith(votes, call), ['1']), { file })).toMatchObject({
        struck: ['anna', 'bob'],
        askAgain: expect.stringMatching(/signature is refused/),
      });
    });

    it('are neither good nor bad where the server cannot be asked', async () => {
      const place = () => {
        throw new Error('away');
      };
      await expect(check(wanted(), inputWith(both(), call), { file, place })).rejects.toThrow('away');
    });
  });

  describe('of a delegate with a time', () => {
    const AT = vote('dora').at;
    const [before, after] = ['2025-12-31T23:59:59.999Z', '2026-01-01T00:00:00.001Z'];
    const dated = (time: object): Authority => {
      const { people = [] } = own;
      const delegates = [{ name: 'dora', ...time }];
      return { ...own, people: people.map((one) => (one.name === 'anna' ? { ...one, delegates } : one)) };
    };
    const votes = [vote('dora'), vote('bob')];

    it.each<[string, object, string[] | undefined]>([
      ['within it', { from: AT, until: after }, undefined],
      ['within it, which is over now', { until: after }, undefined],
      ['before it', { from: after }, ['dora']],
      ['when it is over', { from: before, until: AT }, ['dora']],
    ])('count %s', async (_case, time, struck) => {
      const found = await check(dated(time), inputWith(votes), { now: Date.parse(after) + 1 });
      expect(found).toMatchObject(struck === undefined ? { ok: true } : { struck });
    });

    it('count by the time in the own file, whatever the input says of it', async () => {
      const input = inputWith(votes, { authority: own });
      expect(await check(dated({ until: before }), input)).toMatchObject({ struck: ['dora'] });
    });
  });
});
