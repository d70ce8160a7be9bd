import { authorityWithAway, createAwayReader, placedVotes } from '../../../src/activities/control/away';
import { parseApprovers } from '../../../src/authority/approvers';
import type { Authority, Vote } from '../../../src/contract/authority/authority';
import { countProvenVotes } from '../../../src/contract/authority/votes-needed';
import type { Away } from '../../../src/contract/control/away';

const NOW = Date.parse('2026-11-25T12:00:00.000Z');
const MINUTE = 60_000;
const iso = (ms: number): string => new Date(NOW + ms).toISOString();
const ID = '00000000-0000-4000-8000-000000000001';
const ENTRY: Away = {
  ...{ id: ID, from: 'dora', to: 'xena', at: iso(0), takenAt: iso(0) },
  ...{ start: iso(-60 * MINUTE), end: iso(60 * MINUTE) },
};
const FILE = parseApprovers(
  `installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people: { dora: { mail: dora@example.com }, xena: {}, yan: {}, rita: {} }
rules:
  - { name: pay, tools: [pay], then: ask, approvers: { any: [dora], notRequester: true } }
  - { name: default, then: by_safety }
`,
  'approvers.yaml',
);
const AUTHORITY: Authority = {
  ...{ fileDigest: 'f', ruleDigest: 'r', people: FILE.people, requesters: ['rita'] },
  rule: {
    ...{ name: 'pay', then: 'ask', rosters: [['dora']], need: 1, groups: [] },
    ...{ notRequester: true, denyNeeds: 1, assurance: 'claimed' },
  },
};
const VOTE: Vote = {
  ...{ voter: 'xena', decision: 'approved', decisionId: 'd', at: iso(0) },
  inPlaceOf: { person: 'dora', entry: ID },
};

type Check = Parameters<typeof placedVotes>[0];

/** Why a vote is struck out; undefined: it counts. */
const whyStruck = async (check: Check, vote: Vote): Promise<string | undefined> => {
  const placed = await placedVotes(check, [vote]);
  const { struck, count } = countProvenVotes(placed.authority, [vote], (one) => {
    const why = placed.why(one);
    return why === undefined ? { assurance: 'claimed' } : { why };
  });
  expect(count.state).toBe(struck.length === 0 ? 'approved' : 'open');
  return struck[0]?.why;
};

const PLACE = async () => ({ namespace: 'default' });

const whyNot = async (
  entries: Away[] | { why: string },
  vote: Vote = VOTE,
  { now = NOW, authority = AUTHORITY }: Partial<Pick<Check, 'now' | 'authority'>> = {},
) => whyStruck({ file: FILE, authority, now, away: async () => entries, place: PLACE }, vote);

it.each<[string, Away[] | { why: string }, Partial<Vote>, RegExp | undefined, number?]>([
  ['one that holds', [ENTRY], {}, undefined],
  ['one by a mail address', [{ ...ENTRY, from: 'Dora@example.com' }], {}, undefined],
  ['none', [], {}, /dora is back, or never was away/],
  ['nobody knows', { why: 'no worker' }, {}, /nobody can tell who is away: no worker/],
  ['another delegate', [{ ...ENTRY, to: 'yan' }], {}, /yan votes in their place/],
  ['of somebody else', [{ ...ENTRY, from: 'yan' }], {}, /names the out-of-office of yan/],
  ['a voter by another spelling', [ENTRY], { voter: 'Xena' }, /nobody of the name Xena/],
  ['a stranger', [{ ...ENTRY, to: 'eve' }], { voter: 'eve' }, /nobody of the name eve/],
  ['a vote before it', [ENTRY], { at: iso(-61 * MINUTE) }, /was not away when it was cast/],
  ['a vote at its end', [ENTRY], { at: iso(60 * MINUTE) }, /was not away when it was cast/],
  ['a clock at its end', [ENTRY], {}, /dora is not away now/, NOW + 60 * MINUTE],
  ['a clock right before its end', [ENTRY], {}, undefined, NOW + 60 * MINUTE - 1],
  ['a clock ten minutes behind its start', [ENTRY], {}, /dora is not away now/, NOW - 70 * MINUTE],
  [
    'the delegate of who asked',
    [ENTRY, { ...ENTRY, id: 'r', from: 'rita' }],
    {},
    /xena is a delegate of who asked/,
  ],
  [
    'of the delegate of who asked',
    [ENTRY, { ...ENTRY, id: 'r', from: 'rita', to: 'dora' }],
    {},
    /the vote of xena does not count: xena is a delegate of who asked/,
  ],
])('says whether a vote in a place counts: %s', async (...[, entries, vote, why, now]) => {
  const found = await whyNot(entries, { ...VOTE, ...vote }, { ...(now === undefined ? {} : { now }) });
  if (why === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(why);
});

const { inPlaceOf: _, ...OWN } = VOTE;

it.each<[string, Away[], Vote, object | undefined]>([
  ['the entry', [ENTRY], VOTE, { entry: ENTRY }],
  ['nothing where it does not count', [], VOTE, undefined],
  ['nothing of one as oneself', [ENTRY], OWN, undefined],
])('says what a vote rests on: %s', async (_what, entries, vote, expected) => {
  const check = { file: FILE, authority: AUTHORITY, now: NOW, away: async () => entries, place: PLACE };
  expect((await placedVotes(check, [vote])).restsOn(vote)).toEqual(expected);
});

it('asks nobody where no vote is in a place', async () => {
  const { inPlaceOf: _, ...own } = { ...VOTE, voter: 'dora' };
  const ask = () => Promise.reject(new Error('asked'));
  const rule = { ...AUTHORITY.rule, notRequester: false };
  const check = { file: FILE, authority: { ...AUTHORITY, rule }, now: NOW, away: ask, place: ask };
  await expect(whyStruck(check, own)).resolves.toBeUndefined();
});

it.each<[string, Away[] | { why: string }, RegExp | undefined]>([
  [
    'who stands in for who asked',
    [{ ...ENTRY, from: 'rita', to: 'DORA@example.com' }],
    /dora is a delegate of/,
  ],
  ['who stands in for another', [{ ...ENTRY, from: 'yan', to: 'dora' }], undefined],
  ['who did before', [{ ...ENTRY, from: 'rita', to: 'dora', end: iso(-1) }], undefined],
  ['who will', [{ ...ENTRY, from: 'rita', to: 'dora', start: iso(1) }], undefined],
  ['anybody where nobody can tell', { why: 'no worker' }, undefined],
])('looks at the own vote of %s', async (_what, entries, why) => {
  const { inPlaceOf: _, ...own } = { ...VOTE, voter: 'dora' };
  const found = await whyNot(entries, own);
  if (why === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(why);
});

it('counts no vote of who is a delegate, in the file, of a delegate of who asked', async () => {
  const people = FILE.people.map((one) => (one.name === 'dora' ? { ...one, delegates: ['yan'] } : one));
  const authority = { ...AUTHORITY, people };
  const { inPlaceOf: _, ...own } = { ...VOTE, voter: 'yan' };
  await expect(whyNot([], own, { authority })).resolves.toBeUndefined();
  const entries = [{ ...ENTRY, from: 'rita', to: 'dora' }];
  await expect(whyNot(entries, own, { authority })).resolves.toMatch(/yan is not named/);
});

it.each<[string, Away[] | { why: string }, number]>([
  ['who is away', [{ ...ENTRY, from: 'Rita' }], 1],
  ['nobody', [], 0],
  ['what nobody can tell', { why: 'no worker' }, 0],
])('adds %s to an authority', async (_what, entries, count) => {
  const away = async () => entries;
  const found = await authorityWithAway(AUTHORITY, { away, file: FILE, now: NOW });
  expect(found.standIns ?? []).toHaveLength(count);
});

it('counts no place without a file, or without a way to ask', async () => {
  const check = { authority: AUTHORITY, now: NOW, place: async () => ({ namespace: 'default' }) };
  await expect(whyStruck(check, VOTE)).resolves.toMatch(/no approvers file/);
  await expect(whyStruck({ ...check, file: FILE }, VOTE)).resolves.toMatch(/nobody can tell who is away/);
});

it.each<[string, number | { why: string }, () => Promise<unknown>, unknown]>([
  ['nobody where the memo counts none', 0, () => Promise.reject(new Error('asked')), []],
  ['what there is', 1, async () => ({ entries: [ENTRY] }), [ENTRY]],
  ['why nobody can tell', { why: 'gone' }, async () => ({ entries: [] }), { why: 'gone' }],
  ['why the question failed', 1, () => Promise.reject(new Error('no worker')), { why: 'no worker' }],
  ['that it cannot read it', 1, async () => [ENTRY], { why: 'the answer to who is away cannot be read' }],
])('reads %s', async (_what, count, query, expected) => {
  await expect(createAwayReader({ count: async () => count, query })()).resolves.toEqual(expected);
});
