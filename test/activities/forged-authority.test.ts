import fc from 'fast-check';
import type { RequestTimes } from '../../src/activities/reset-history';
import { type Approvers, parseApprovers } from '../../src/authority/rules/approvers-file';
import { statementOf, statementText } from '../../src/authority/signatures/statement';
import { GROUP } from '../../src/authority/votes/names';
import type { CallInput } from '../../src/contract/call';
import { PAY_INPUT } from '../support/calls';
import { runs } from '../support/properties';
import { newSigner } from '../support/ssh';
import type { RuleSnapshot, Authority, Vote } from '../../src/contract/authority';
import { checkVotes } from '../../src/authority/votes/worker-check';

type VoteCheck = Parameters<typeof checkVotes>[0];

/** What the input of a call says about who decides it. Anybody with rights on Temporal can write it. */

const HOUR = 3_600_000;
const NOW = Date.UTC(2026, 0, 1);
const SEEN = 'a'.repeat(64);
const PLACE = { namespace: 'default', workflowId: 'turn-1', runId: 'run-1' };
const mallory = newSigner('ssh-ed25519');

const fileWith = (rule: string, people = ''): Approvers =>
  parseApprovers(
    `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people:
  anna: { groups: [finance] }
  bob: { groups: [finance] }
  lea: { groups: [leads] }
  mallory: { keys: ['${mallory.line}'] }
${people}
rules:
  - { name: large, tools: [pay], then: ask, ${rule} }
  - { name: default, then: by_safety }
`,
    'approvers.yaml',
  );

const ownBy = (file: Approvers, requesters: string[] = ['rita']): Authority => {
  const call = { tool: 'pay', agent: 'clerk', args: {}, safety: 'dangerous', effect: 'unsafe' } as const;
  return file.authorityBy(file.rulingOn(call), requesters);
};

const vote = (voter: string, more: Partial<Vote> = {}): Vote => ({
  ...{ voter, decision: 'approved', decisionId: `d-${voter}`, at: new Date(NOW).toISOString() },
  seenDigest: SEEN,
  ...more,
});

const inputBy = (votes: Vote[], authority?: Authority): CallInput => ({
  ...PAY_INPUT,
  decision: { decisionId: 'd', decision: 'approved', approver: 'x', seenDigest: SEEN, votes },
  ...(authority && { authority }),
});

const timesOf = (waited: number): RequestTimes => ({ asked: NOW - waited, scheduled: NOW });
const check = (own: Authority, input: CallInput, more: Partial<VoteCheck> = {}) =>
  checkVotes(
    {
      ...{ own, now: NOW, place: () => PLACE },
      times: () => Promise.resolve(timesOf(1000 * HOUR)),
      ...more,
    },
    input,
  );
const passes = { ok: true };

describe('somebody whom the rule does not name', () => {
  it('does not pass by an escalation of the input, though their own key signs the vote', async () => {
    const file = fileWith("approvers: { any: ['group:finance'] }, assurance: signed_ssh");
    const own = ownBy(file, ['mallory']);
    const input = inputBy([]);
    const { callKey, generation, agent, tool, toolDigest, argsDigest: effectiveDigest } = input;
    const { ruleDigest, requesters } = own;
    const about = { callKey, generation, agent, tool, toolDigest, effectiveDigest, ruleDigest, requesters };
    const facts = { installation: file.installation, ...PLACE, ...about, seenDigest: SEEN };
    const times = { at: new Date(NOW).toISOString(), notAfter: new Date(NOW + HOUR).toISOString() };
    const statement = statementOf(facts, {
      ...{ decisionId: 'd-mallory', decision: 'approved', approver: 'mallory' },
      ...times,
    });
    const armored = mallory.sign(statement === undefined ? '' : statementText(statement));
    const signed = vote('mallory', { signature: { kind: 'ssh', armored, ...times }, signedBy: 'ssh' });
    const forged: Authority = {
      ...own,
      rule: { ...own.rule, escalate: { afterMs: 1, to: ['mallory'] } },
      escalated: true,
    };
    expect(await check(own, inputBy([signed], forged), { file })).toMatchObject({
      struck: ['mallory'],
      askAgain: expect.stringMatching(/mallory is not named by the rule/),
    });
  });

  it('does not pass by an escalation that only the file of yesterday has', async () => {
    const before = ownBy(
      fileWith("approvers: { any: [anna] }, escalate: { after: 1h, to: ['group:leads'] }"),
    );
    const today = ownBy(fileWith('approvers: { any: [anna] }'), ['lea']);
    const asked: Authority = { ...before, escalated: true };
    expect(await check(today, inputBy([vote('lea')], asked))).toMatchObject({ struck: ['lea'] });
    expect(await check(today, inputBy([vote('anna')], asked))).toMatchObject(passes);
    expect(await check(before, inputBy([vote('lea')], asked))).toMatchObject(passes);
  });

  it.each([
    ['as soon as the time is over', HOUR, passes],
    ['not a moment sooner', HOUR - 1, { struck: ['lea'] }],
  ])('passes by the escalation of the rule, by the clock of the server: %s', async (_, waited, expected) => {
    const own = ownBy(fileWith("approvers: { any: [anna] }, escalate: { after: 1h, to: ['group:leads'] }"));
    const times = () => Promise.resolve(timesOf(waited));
    const sooner = { ...own.rule, escalate: { afterMs: 1, to: ['group:leads'] } };
    for (const rule of [own.rule, sooner])
      expect(
        await check(own, inputBy([vote('lea')], { ...own, rule, escalated: true }), { times }),
      ).toMatchObject(expected);
  });

  it('does not vote as a delegate outside the dates in the file, whatever time their vote names', async () => {
    const dates = 'from: 2025-12-31T12:00:00Z, until: 2025-12-31T18:00:00Z';
    const file = fileWith('approvers: { any: [carl] }', `  carl: { delegates: [{ name: bob, ${dates} }] }`);
    const at = '2025-12-31T15:00:00.000Z';
    const found = (waited: number) =>
      check(ownBy(file), inputBy([vote('bob', { at })]), { times: () => Promise.resolve(timesOf(waited)) });
    expect(await found(HOUR)).toMatchObject({ struck: ['bob'] });
    expect(await found(10 * HOUR)).toMatchObject(passes);
  });

  it('reads no history where no right depends on the time', async () => {
    const own = ownBy(fileWith('approvers: { any: [anna] }'));
    const times = () => Promise.reject(new Error('away'));
    expect(await check(own, inputBy([vote('anna')], own), { times })).toMatchObject(passes);
  });

  it('does not pass where the history cannot be read', async () => {
    const own = ownBy(fileWith('approvers: { any: [anna] }, escalate: { after: 1h, to: [lea] }'));
    const times = () => Promise.reject(new Error('away'));
    const found = check(own, inputBy([vote('lea')], { ...own, escalated: true }), { times });
    await expect(found).rejects.toThrow('away');
  });
});

const NAMES = ['anna', 'bob', 'lea', 'mallory'];
const ENTRIES = [...NAMES, 'group:finance', 'group:leads'];
const roster = fc.uniqueArray(fc.constantFrom(...ENTRIES), { minLength: 1, maxLength: 4 });
const afterMs = fc.integer({ min: 1, max: 4 }).map((hours) => hours * HOUR);
const anyRule: fc.Arbitrary<RuleSnapshot> = fc.record(
  {
    ...{
      name: fc.constant('large'),
      then: fc.constant('ask' as const),
      assurance: fc.constant('claimed' as const),
    },
    ...{ rosters: fc.array(roster, { maxLength: 2 }), need: fc.constant(1), denyNeeds: fc.constant(1) },
    ...{ groups: fc.constant([]), notRequester: fc.boolean() },
    escalate: fc.record({ afterMs, to: roster }),
  },
  {
    requiredKeys: [
      ...(['name', 'then', 'assurance', 'rosters', 'need', 'denyNeeds', 'groups', 'notRequester'] as const),
    ],
  },
);
const anyPeople = fc.tuple(
  ...NAMES.map((name) =>
    fc.record({
      name: fc.constant(name),
      groups: fc.subarray(['finance', 'leads']),
      delegates: fc
        .subarray(NAMES.filter((other) => other !== name))
        .map((all) => all.map((one) => ({ name: one }))),
    }),
  ),
);
type Person = { name: string; groups: string[]; delegates: { name: string }[] };
const anyNames = fc.subarray([...NAMES, 'rita']);
const anyForgery = fc.record(
  {
    ...{ rule: anyRule, people: anyPeople, requesters: anyNames, escalated: fc.constant(true as const) },
    ...{ fileDigest: fc.constant('f'), ruleDigest: fc.constant('r') },
  },
  { requiredKeys: ['rule', 'requesters', 'fileDigest', 'ruleDigest'] },
);

/** Who may vote by the file alone: by its rosters, by its escalation once its time is over, or as a delegate of these. */
const namedBy = (rule: RuleSnapshot, people: readonly Person[], waited: number): string[] => {
  const { rosters, escalate } = rule;
  const late = escalate !== undefined && waited >= escalate.afterMs ? escalate.to : [];
  const isIn = ({ name, groups }: Person, list: readonly string[]): boolean =>
    list.includes(name) || groups.some((group) => list.includes(`${GROUP}${group}`));
  const named = people.filter((one) => rosters.every((list) => isIn(one, list) || isIn(one, late)));
  return named.flatMap(({ name, delegates }) => [name, ...delegates.map((one) => one.name)]);
};

it('nobody passes whom the file of the worker does not name by then, whatever the input says', async () => {
  await fc.assert(
    fc.asyncProperty(
      ...([anyRule, anyPeople, fc.option(anyForgery), anyNames, fc.integer({ min: 0, max: 5 })] as const),
      async (rule, people, forged, requesters, hours) => {
        const waited = hours * HOUR;
        const own: Authority = { fileDigest: 'f', ruleDigest: 'r', rule, people, requesters };
        const alone = namedBy(rule, people, waited);
        const times = () => Promise.resolve(timesOf(waited));
        for (const voter of NAMES) {
          const input = inputBy([vote(voter)], forged ?? undefined);
          const found = await check(own, input, { times });
          if (!('ok' in found)) continue;
          expect(alone).toContain(voter);
          const without = { ...own, requesters: ['rita'] };
          expect(await check(without, input, { times })).toMatchObject(passes);
        }
      },
    ),
    { numRuns: runs(300) },
  );
});
