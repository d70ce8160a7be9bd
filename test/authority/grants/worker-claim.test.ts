import { WorkflowUpdateFailedError } from '@temporalio/client';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
import {
  createGrantsReader,
  type GrantedCall,
  grantsOf,
  judgeGrant,
} from '../../../src/authority/grants/worker-claim';
import { termsDigest } from '../../../src/authority/grants/confirmations';
import type { GrantVote } from '../../../src/authority/grants/grant-votes';
import type { GrantAsked, GrantShown } from '../../../src/authority/grants/grant';
import { defineTool } from '../../../src/tools/define-tool';
import type { Authority } from '../../../src/contract/authority';

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
const { authority: _none, ...TERMS } = GRANT;
const SHOWN: GrantShown = { ...TERMS, takenAt: iso(NOW) };
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
const judge = (part: Partial<GrantedCall>, grant: Partial<GrantShown> = {}, now = NOW) =>
  judgeGrant({ ...SHOWN, ...grant }, call(part), { namespace: 'default', now });

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
  const { id } = GRANT;
  const listed = { ...SHOWN, used: 0, runId: 'r' };
  const { agent, toolDigest, ruleDigest, policyDigest } = GRANT;
  const asked = { agent, tool: 'pay', toolDigest, ruleDigest, policyDigest };

  it('asks once a second for all calls, and keeps what it knows where the server does not answer', async () => {
    let [now, lists] = [0, 0];
    const list = async () => {
      lists += 1;
      if (lists === 2) throw new Error('too many questions');
      return [listed];
    };
    const reader = createGrantsReader({ list, now: () => now });
    const all = await Promise.all([reader.list(), reader.list()]);
    expect(all).toEqual([[listed], [listed]]);
    now = 999;
    await reader.list();
    expect(lists).toBe(1);
    now = 1000;
    await expect(reader.list()).resolves.toEqual([listed]);
    expect(lists).toBe(2);
  });

  it('looks at each grant once a second, and again after a failure', async () => {
    let looks = 0;
    const look = async () => {
      looks += 1;
      if (looks === 1) throw new Error('no server');
      return looks === 2 ? SHOWN : undefined;
    };
    let now = 0;
    const reader = createGrantsReader({ list: async () => [], look, now: () => now });
    await expect(reader.look(id)).resolves.toEqual({ unknown: expect.stringMatching(/no server/) });
    for (const _ of [1, 2]) await expect(reader.look(id)).resolves.toEqual(SHOWN);
    now = 1000;
    await expect(reader.look(id)).resolves.toEqual({ refused: 'it is not there' });
  });

  it.each<[string, unknown]>([
    ['no answer', new Error('no worker answered')],
    ['an answer in another form', { use: 0 }],
  ])('does not know whether a use is claimed by %s', async (_case, answer) => {
    const update = async () => {
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const reader = createGrantsReader({ list: async () => [], update });
    await expect(reader.claim(id, 'k', asked)).resolves.toEqual({ unknown: expect.any(String) });
  });

  it.each([
    ['the words of the grant', refusal('it was revoked'), 'it was revoked'],
    ['that it is over', new WorkflowNotFoundError('gone', 'w', undefined), 'it is over'],
  ])('knows that a use is refused by %s', async (_case, error, refused) => {
    const reader = createGrantsReader({ list: async () => [], update: () => Promise.reject(error) });
    await expect(reader.claim(id, 'k', asked)).resolves.toEqual({ refused });
  });

  it('has at most ten claims under way, and the others wait', async () => {
    let [running, most] = [0, 0];
    const update = async () => {
      most = Math.max(most, (running += 1));
      await new Promise(setImmediate);
      running -= 1;
      return { use: 1 };
    };
    const reader = createGrantsReader({ list: async () => [], update });
    const all = await Promise.all(Array.from({ length: 50 }, (_, n) => reader.claim(id, `k${n}`, asked)));
    expect(all).toEqual(all.map(() => ({ use: 1 })));
    expect(most).toBe(10);
  });
});

function refusal(message: string): Error {
  const cause = ApplicationFailure.create({ message, nonRetryable: true });
  return new WorkflowUpdateFailedError('refused', cause);
}
