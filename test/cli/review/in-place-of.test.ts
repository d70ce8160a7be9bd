import type { Away } from '../../../src/client';
import { placeFor } from '../../../src/cli/review/in-place-of';
import type { Authority } from '../../../src/contract/authority/authority';
import { call, request, testScreen } from '../support';
import { clientWith } from '../commands/away-client';

const moment = (ms: number): string => new Date(Date.now() + ms).toISOString();
const HOUR = 3_600_000;
const away = (from: string, to: string): Away => ({
  ...{ id: `${from}-${to}`, from, to, at: moment(0), takenAt: moment(0) },
  ...{ start: moment(-HOUR), end: moment(HOUR) },
});
const AUTHORITY: Authority = {
  ...{ fileDigest: 'f', ruleDigest: 'r', requesters: ['rita'] },
  people: ['dora', 'ed'].map((name) => ({ name, groups: ['finance'], delegates: [] })),
  rule: {
    ...{ name: 'large', then: 'ask', rosters: [['group:finance']], need: 1, groups: [] },
    ...{ notRequester: true, denyNeeds: 1, assurance: 'claimed' },
  },
};
const inPlaceOf = (person: string, to: string) => ({ inPlaceOf: { person, entry: `${person}-${to}` } });

interface Case {
  entries?: Away[] | Error;
  named?: string;
  approver?: string;
  authority?: Authority | undefined;
}

async function found(one: Case) {
  const { entries = [], named, approver = 'xena' } = one;
  const authority = 'authority' in one ? one.authority : AUTHORITY;
  const screen = testScreen();
  const asking = {
    client: clientWith(entries).client,
    call: call({ request: request(authority && { authority }) }),
    approver,
    screen,
  };
  return { place: await placeFor(named === undefined ? {} : { inPlaceOf: named }, asking), screen };
}

it.each<[string, Case, object]>([
  ['the one place of who is not named', { entries: [away('dora', 'xena')] }, inPlaceOf('dora', 'xena')],
  ['nothing where there is no place', {}, {}],
  ['nothing where nobody can tell', { entries: new Error('no worker') }, {}],
  ['nothing of who is named', { entries: [away('dora', 'ed')], approver: 'ed' }, {}],
  ['nothing where no rule says who decides', { authority: undefined }, {}],
  [
    'the place that was chosen',
    { entries: [away('dora', 'xena'), away('ed', 'xena')], named: 'Ed' },
    inPlaceOf('ed', 'xena'),
  ],
  [
    'a place of who is named, too',
    { entries: [away('dora', 'ed')], approver: 'ed', named: 'dora' },
    inPlaceOf('dora', 'ed'),
  ],
])('finds %s', async (_case, one, expected) => {
  expect((await found(one)).place).toEqual(expected);
});

it.each<[string, Case, RegExp]>([
  ['two places', { entries: [away('dora', 'xena'), away('ed', 'xena')] }, /in place of dora and ed/],
  ['a place that is not there', { named: 'dora' }, /no vote in place of dora/],
  ['no rule', { named: 'dora', authority: undefined }, /no rule says who decides/],
])('does not choose for %s', async (_case, one, why) => {
  await expect(found(one)).rejects.toMatchObject({ code: 'usage', message: expect.stringMatching(why) });
});

it('does not vote where it is not known who is away, and a place was named', async () => {
  await expect(found({ entries: new Error('no worker'), named: 'dora' })).rejects.toThrow('no worker');
});
