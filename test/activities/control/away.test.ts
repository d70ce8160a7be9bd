import { createAwayReader, whyNoPlaces } from '../../../src/activities/control/away';
import { parseApprovers } from '../../../src/authority/approvers';
import type { Authority, Vote } from '../../../src/contract/authority/authority';
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

const whyNot = async (entries: Away[] | { why: string }, vote: Vote = VOTE, now = NOW) =>
  (
    await whyNoPlaces(
      {
        ...{ file: FILE, authority: AUTHORITY, now },
        away: async () => entries,
        place: async () => ({ namespace: 'default' }),
      },
      [vote],
    )
  )(vote);

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
])('says whether a vote in a place counts: %s', async (...[, entries, vote, why, now]) => {
  const found = await whyNot(entries, { ...VOTE, ...vote }, now);
  if (why === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(why);
});

it('asks nobody where no vote is in a place', async () => {
  const { inPlaceOf: _, ...own } = VOTE;
  const ask = () => Promise.reject(new Error('asked'));
  const rule = { ...AUTHORITY.rule, notRequester: false };
  const check = { file: FILE, authority: { ...AUTHORITY, rule }, now: NOW, away: ask, place: ask };
  expect((await whyNoPlaces(check, [own]))(own)).toBeUndefined();
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

it('counts no place without a file, or without a way to ask', async () => {
  const check = { authority: AUTHORITY, now: NOW, place: async () => ({ namespace: 'default' }) };
  expect((await whyNoPlaces(check, [VOTE]))(VOTE)).toMatch(/no approvers file/);
  expect((await whyNoPlaces({ ...check, file: FILE }, [VOTE]))(VOTE)).toMatch(/nobody can tell who is away/);
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
