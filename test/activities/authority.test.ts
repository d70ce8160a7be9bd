import { z } from 'zod';
import { askRules, checkVotes, type VoteCheck } from '../../src/activities/authority';
import { parseApprovers } from '../../src/authority/approvers';
import type { ApproversSource } from '../../src/authority/source';
import { type Authority, requestersOf, type Vote } from '../../src/contract/authority/authority';
import type { CallInput, SpentDecision } from '../../src/contract/call';
import { type CallFacts, statementOf, statementText } from '../../src/authority/statement';
import { newSigner, type TestSigner } from '../support/ssh';
import { defineTool } from '../../src/tools/define-tool';
import type { Policy } from '../../src/tools/types';

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

const PLACE = { namespace: 'default', workflowId: 'turn-1', firstExecutionRunId: 'run-1' };

const check = (own: Authority | undefined, input: CallInput, more: Partial<VoteCheck> = {}) =>
  checkVotes({ own, place: () => Promise.resolve(PLACE), now: Date.UTC(2026, 0, 1), ...more }, input);

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

    const signedVote = (voter: string, key: TestSigner, more: Partial<CallFacts> = {}): Vote => {
      const facts = {
        ...{ installation: file.installation, ...PLACE, callKey: 'k', generation: 0, agent: 'clerk' },
        ...{ tool: 'pay', toolDigest: digest, seenDigest: SEEN, effectiveDigest: digest },
        ...{ ruleDigest: own.ruleDigest, requesters: own.requesters, ...more },
      };
      const statement = statementOf(facts, { decision: 'approved', approver: voter, ...times });
      if (statement === undefined) throw new Error('nothing to sign');
      const armored = key.sign(statementText(statement));
      return vote(voter, { signature: { kind: 'ssh', armored, ...times }, signedBy: 'ssh' });
    };
    const wanted = (): Authority => ({ ...own, rule: { ...own.rule, assurance: 'signed_ssh' } });
    const both = (): Vote[] => [signedVote('anna', anna), signedVote('bob', bob)];

    it('let it run, and say that it has to be its only start', async () => {
      expect(await check(wanted(), inputWith(both(), call), { file })).toEqual({ ok: true, isSigned: true });
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

    it('do not count for some hunks only: they do not say which', async () => {
      const input = inputWith(both(), call);
      const decision = input.decision && { ...input.decision, hunks: ['1'] };
      expect(await check(wanted(), { ...input, ...(decision && { decision }) }, { file })).toMatchObject({
        struck: ['anna', 'bob'],
      });
    });

    it('are neither good nor bad where the server cannot be asked', async () => {
      const place = () => Promise.reject(new Error('away'));
      await expect(check(wanted(), inputWith(both(), call), { file, place })).rejects.toThrow('away');
    });
  });
});
