import type { Authority } from '../../src/contract/authority/authority';
import type { Away } from '../../src/contract/control/away';
import { votingPlaceOf } from '../../src/server/voter';
import { call, request } from '../cli/support';

const HOUR = 3_600_000;
const iso = (ahead: number): string => new Date(Date.now() + ahead).toISOString();
const away = (from: string, to: string, start = -HOUR): Away => ({
  ...{
    id: `e-${from}`,
    from,
    to,
    start: iso(start),
    end: iso(start + 2 * HOUR),
    at: iso(start),
    takenAt: iso(start),
  },
});
const authority: Authority = {
  ...{ fileDigest: 'f', ruleDigest: 'r', requesters: ['rita'] },
  people: ['dora', 'ed', 'rita'].map((name) => ({ name, groups: ['finance'], delegates: [] })),
  rule: {
    ...{ name: 'large', then: 'ask', rosters: [['group:finance']], need: 1, groups: [] },
    ...{ notRequester: true, denyNeeds: 1, assurance: 'claimed' },
  },
};
const NAMES: Record<string, string> = { 'xena@example.org': 'xena', DORA: 'dora' };
const voters = async () => ({ people: [], personOf: (name: string) => NAMES[name] ?? name });
const callOf = jest.fn(async () => call({ request: request({ authority }) }));
const dora = { person: 'dora', entry: 'e-dora' };

const find = (
  entries: Away[],
  {
    approver = 'xena',
    named,
    from = callOf,
  }: Partial<Parameters<typeof votingPlaceOf>[1]> & { from?: typeof callOf } = {},
) => votingPlaceOf({ away: async () => entries, voters }, { callOf: from, approver, named });

beforeEach(() => callOf.mockClear());

it.each<[string, Away[], object, object]>([
  ['of the one who named them', [away('dora', 'xena')], {}, { approver: 'xena', inPlaceOf: dora }],
  [
    'by the names of the file',
    [{ ...away('dora', 'xena'), from: 'DORA' }],
    { approver: 'xena@example.org' },
    { approver: 'xena', inPlaceOf: dora },
  ],
  [
    'that they named',
    [away('dora', 'xena'), away('ed', 'xena')],
    { named: dora },
    { approver: 'xena', inPlaceOf: dora },
  ],
  ['of nobody, where nobody named them', [away('dora', 'yan')], {}, {}],
  ['of nobody, before it begins', [away('dora', 'xena', HOUR)], {}, {}],
  ['of nobody, of who asked', [away('rita', 'xena')], {}, {}],
  ['of nobody, of a delegate of who asked', [away('rita', 'dora'), away('dora', 'xena')], {}, {}],
  ['of nobody, where the rule names them', [away('dora', 'ed')], { approver: 'ed' }, {}],
])('is that %s', async (_what, entries, asked, expected) => {
  expect(await find(entries, asked)).toEqual(expected);
});

it.each<[string, Away[], { person: string; entry: string }]>([
  ['of another entry', [away('dora', 'xena')], { person: 'dora', entry: 'made-up' }],
  ['of another person', [away('dora', 'xena')], { person: 'ed', entry: 'e-dora' }],
  ['of another delegate', [away('dora', 'yan')], dora],
  ['where nobody is away', [], dora],
])('is none that the page names %s', async (_what, entries, named) => {
  await expect(find(entries, { named })).rejects.toMatchObject({ code: 'not_allowed' });
});

it('has to be chosen where there are two', async () => {
  await expect(find([away('dora', 'xena'), away('ed', 'xena')])).rejects.toMatchObject({
    code: 'usage',
    message: 'you may vote in place of dora and ed',
  });
});

it('is none where no rule says who decides, and no call is read where nobody named them', async () => {
  const from = jest.fn(async () => call());
  expect(await find([away('dora', 'xena')], { from })).toEqual({});
  await expect(find([away('dora', 'xena')], { from, named: dora })).rejects.toMatchObject({
    code: 'not_allowed',
  });
  await find([away('dora', 'yan')]);
  expect(callOf).not.toHaveBeenCalled();
});
