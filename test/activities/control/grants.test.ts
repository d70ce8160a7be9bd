import {
  createGrantsReader,
  type GrantedCall,
  grantsOf,
  judgeGrant,
} from '../../../src/activities/control/grants';
import type { Authority } from '../../../src/contract/authority/authority';
import { termsDigest } from '../../../src/contract/control/confirmations';
import type { GrantVote } from '../../../src/contract/control/grant-votes';
import type { GrantAsked, UseTaken } from '../../../src/contract/control/grants';
import { defineTool } from '../../../src/tools/define-tool';

const NOW = Date.parse('2026-11-25T12:00:00.000Z');
const iso = (ms: number): string => new Date(ms).toISOString();
const parameters = { type: 'object', properties: { cents: { type: 'number' } } };
const common = { name: 'pay', description: 'p', parameters, safety: 'dangerous', handler: () => '' } as const;
const tool = defineTool(common);
const GRANT: GrantAsked = {
  ...{ id: '00000000-0000-4000-8000-000000000001', agent: 'clerk', tool: 'pay', toolDigest: tool.digest },
  ...{ ruleDigest: 'r', policyDigest: '', narrowing: { cents: { is: 'range', max: 100 } } },
  ...{ times: 3, at: iso(NOW), until: iso(NOW + 60_000), by: 'anna' },
};
const people = ['anna', 'bob'].map((name) => ({ name, groups: ['finance'], delegates: [] }));
const authority = (rule: Partial<Authority['rule']> = {}, part: Partial<Authority> = {}): Authority => ({
  ...{ fileDigest: 'f', ruleDigest: 'r', people, requesters: ['rita'] },
  rule: {
    ...{ name: 'large', then: 'ask', rosters: [['group:finance']], need: 1, groups: [] },
    ...{ notRequester: false, denyNeeds: 1, assurance: 'claimed' },
    ...rule,
  },
  ...part,
});
const call = (part: Partial<GrantedCall> = {}): GrantedCall => ({
  ...{ agent: 'clerk', tool, args: { cents: 5 }, policyDigest: undefined, authority: authority() },
  ...part,
});
const judge = (part: Partial<GrantedCall>, grant: Partial<UseTaken['grant']> = {}, now = NOW) =>
  judgeGrant({ ...GRANT, ...grant }, call(part), { namespace: 'default', now });

it('takes a grant that is as good as the decision', async () => {
  await expect(judge({})).resolves.toEqual({ assurance: 'claimed', confirmedBy: [] });
});

const NOT_REQUESTER = authority({ notRequester: true });
/** Rita, who asked, has anna as delegate for this time. */
const standingIn = (time: object): Authority => ({
  ...NOT_REQUESTER,
  people: [...people, { name: 'rita', groups: [], delegates: [{ name: 'anna', ...time }] }],
});

it.each([
  ['is a delegate of who asked only later', { from: iso(NOW + 1) }],
  ['was a delegate of who asked', { until: iso(NOW) }],
])('takes the grant of somebody who %s', async (_, time) => {
  await expect(judge({ authority: standingIn(time) })).resolves.toMatchObject({ assurance: 'claimed' });
});

it.each<[string, Partial<GrantedCall>, Partial<GrantAsked>, RegExp]>([
  [
    'a giver who was a delegate of who asked when they gave it',
    { authority: standingIn({ from: iso(NOW), until: iso(NOW + 1) }) },
    {},
    /anna is a delegate of who asked/,
  ],
  ['other arguments', { args: { cents: 101 } }, {}, /other arguments/],
  ['a number as text', { args: { cents: '5' } }, {}, /other arguments/],
  [
    'a rule that needs two',
    { authority: authority({ need: 2 }) },
    {},
    /the rule 'large' needs 1 more of: bob/,
  ],
  [
    'a giver who asked',
    { authority: authority({ notRequester: true }, { requesters: ['anna'] }) },
    {},
    /asked/,
  ],
  [
    'nobody who asked',
    { authority: authority({ notRequester: true }, { requesters: [] }) },
    {},
    /nobody knows/,
  ],
  ['a giver whom the rule does not name', {}, { by: 'eve' }, /eve is not named/],
  ['only an escalation', { authority: escalated() }, {}, /anna is not named/],
  ['too little assurance', { authority: authority({ assurance: 'signed_in' }) }, {}, /it is claimed/],
  ['a rule that changed', { authority: authority({}, { ruleDigest: 'other' }) }, {}, /rule changed/],
  ['a policy rule that fits now', { policyDigest: 'p' }, {}, /rule changed/],
  ['no file any more', { authority: undefined }, {}, /rule changed/],
  ['another version of the tool', { tool: defineTool({ ...common, description: 'q' }) }, {}, /tool changed/],
  ['a tool without grants', { tool: defineTool({ ...common, noGrant: true }) }, {}, /one by one/],
  [
    'a tool that runs programs',
    { tool: defineTool({ ...common, categories: ['shell'] }) },
    {},
    /equality only/,
  ],
  ['a grant that is over', {}, { until: iso(NOW) }, /ended/],
  ['a signature and no file to check it by', {}, { signature: signature() }, /no approvers file/],
])('refuses one with %s', async (_case, part, grant, why) => {
  await expect(judge(part, grant)).resolves.toEqual({ why: expect.stringMatching(why) });
});

describe('a rule that needs two', () => {
  const two = (part: Partial<Authority> = {}) => authority({ need: 2 }, part);
  const vote = (voter: string, part: Partial<GrantVote> = {}): GrantVote => ({
    ...{ voter, at: iso(NOW), seenDigest: termsDigest(GRANT) },
    ...part,
  });

  it('takes a grant that somebody else confirmed', async () => {
    const good = { assurance: 'claimed', confirmedBy: ['bob'] };
    await expect(judge({ authority: two() }, { confirmed: [vote('bob')] })).resolves.toEqual(good);
  });

  it.each<[string, Authority, GrantVote[], RegExp]>([
    ['nobody confirmed', two(), [], /needs 1 more of: bob/],
    ['its giver confirmed', two(), [vote('anna')], /needs 1 more of: bob/],
    ['its giver confirmed in other letters', two(), [vote('Anna')], /needs 1 more of: bob/],
    ['a stranger confirmed', two(), [vote('eve')], /the vote of eve does not count: eve is not named/],
    ['who asked for the turn confirmed', asker(), [vote('bob')], /bob asked for the turn/],
    ['somebody confirmed another grant', two(), [vote('bob', { seenDigest: 'x' })], /for something else/],
    ['somebody left who had confirmed', left(), [vote('bob')], /bob is not named/],
    ['a forged signature confirms', two(), [vote('bob', { signature: signature() })], /no approvers file/],
    ['the rule wants three by now', authority({ need: 3 }), [vote('bob')], /needs 1 more/],
    ['a group was not heard', authority({ groups: ['legal'] }), [vote('bob')], /1 more \(of legal\)/],
  ])('refuses one where %s', async (_case, under, confirmed, why) => {
    const found = judge({ authority: under }, { confirmed });
    await expect(found).resolves.toEqual({ why: expect.stringMatching(why) });
  });

  it('strikes out a bad vote, and counts the others', async () => {
    const confirmed = [vote('eve'), vote('bob')];
    const found = await judge({ authority: two() }, { confirmed });
    expect(found).toEqual({ assurance: 'claimed', confirmedBy: ['bob'] });
  });

  function asker(): Authority {
    return authority({ need: 2, notRequester: true }, { requesters: ['bob'] });
  }

  function left(): Authority {
    return two({ people: people.filter(({ name }) => name === 'anna') });
  }
});

function escalated(): Authority {
  const rule = { rosters: [['bob']], escalate: { afterMs: 1, to: ['anna'] } };
  return authority(rule, { escalated: true });
}

function signature() {
  return { kind: 'ssh' as const, armored: 'x', at: iso(NOW), notAfter: iso(NOW) };
}

it('says which tools have no grants', () => {
  expect(grantsOf(tool)).toBeUndefined();
  expect(grantsOf({ ...tool, askMs: 5 })).toBe('none');
  expect(grantsOf({ ...tool, child: { agent: 'a', taskQueue: undefined, depth: 1, most: 1 } })).toBe('none');
});

describe('the reader', () => {
  const seen = { ...GRANT, ruleDigest: '', takenAt: iso(NOW), used: 0 };
  const { id } = GRANT;

  it.each<[string, object, unknown, number]>([
    ['those that there are', { revoked: [], open: 1 }, { grants: [seen] }, 1],
    ['none that was revoked', { revoked: [id], open: 1 }, { grants: [seen] }, 0],
    ['none below the floor', { revoked: [], open: 1, floor: iso(NOW + 1) }, { grants: [seen] }, 0],
    ['none where the memo has none', { revoked: [], open: 0 }, { grants: [seen] }, 0],
    ['none where the answer is forged', { revoked: [], open: 1 }, { grants: [{ ...seen, all: true }] }, 0],
    ['none where nobody answers', { revoked: [], open: 1 }, new Error('no worker'), 0],
    ['none where the workflow is gone', { why: 'it is absent' }, { grants: [seen] }, 0],
  ])('lists %s', async (_case, memo, answer, count) => {
    const query = async () => {
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const reader = createGrantsReader({ memo: async () => ({ revoked: [], open: 0, ...memo }), query });
    await expect(reader.list()).resolves.toHaveLength(count);
  });

  it.each<[string, unknown]>([
    ['no answer', new Error('no worker answered')],
    ['an answer in another form', { use: 1 }],
  ])('claims nothing by %s', async (_case, answer) => {
    const update = async () => {
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const reader = createGrantsReader({ memo: async () => ({ revoked: [], open: 1 }), update });
    const { agent, toolDigest, ruleDigest, policyDigest } = GRANT;
    const asked = { id, agent, tool: 'pay', toolDigest, ruleDigest, policyDigest, key: 'k' };
    await expect(reader.claim(asked)).resolves.toEqual({ why: expect.any(String) });
  });
});
