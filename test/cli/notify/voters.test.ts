import { parseApprovers } from '../../../src/authority/approvers';
import { deputiesFor, votersFor, votersOn } from '../../../src/cli/notify/voters';
import { type NoticeType, testNotice } from '../../../src/cli/notify/notices';
import { standInsAt } from '../../../src/contract/authority/in-place-of';
import type { Away } from '../../../src/contract/control/away';
import { makeView } from '../../../src/history/view-types';
import type { CallView } from '../../../src/history/view';
import { AT, call, NOW, request } from '../support';
import { notice } from './support';

const FILE = parseApprovers(
  `
installation: '7f3c0a11d2e94b5c8f60a7b1c2d3e4f5'
people:
  ann: { groups: [money], mail: ann@example.org, slack: U0ANN }
  bob: { groups: [money] }
  cid: { groups: [leads], mail: cid@example.org }
  dan: { mail: dan@example.org }
rules:
  - name: pay
    tools: [pay]
    then: ask
    approvers: { any: ['group:money'], notRequester: true }
    escalate: { after: 1h, to: ['group:leads'] }
  - { name: default, then: by_safety }
`,
  'approvers.yaml',
);
const asked = (by: string[], extra: Partial<CallView> = {}): CallView => {
  const about = { tool: 'pay', agent: 'clerk', args: {}, safety: 'dangerous', effect: 'unsafe' } as const;
  const authority = FILE.authorityBy(FILE.rulingOn(about), by);
  return call({ request: request({ authority }), ...extra });
};
const on = (one: CallView | undefined, about = notice('a'), tester?: string) =>
  votersOn(about, {
    approvers: () => Promise.resolve(FILE),
    client: { view: () => Promise.resolve({ ...makeView(), calls: one === undefined ? [] : [one] }) },
    ...(tester === undefined ? {} : { tester }),
  });

const late = (type: NoticeType, by = 'dan') => votersFor({ type }, asked([by], { isEscalated: true }), []);

it('are those whom the rule names, without who asked', () => {
  const opened = { type: 'request.opened' } as const;
  expect(votersFor(opened, asked(['dan']), [])).toEqual(['ann', 'bob']);
  expect(votersFor(opened, asked(['ann']), [])).toEqual(['bob']);
});

it.each<[NoticeType, string, string[]]>([
  ['request.opened', 'dan', ['ann', 'bob']],
  ['request.escalated', 'dan', ['cid']],
  ['request.escalated', 'cid', []],
  ['deadline.near', 'dan', ['ann', 'bob', 'cid']],
])('of %s that %s asked are, once it was escalated, %j', (type, by, expected) => {
  expect(late(type, by)).toEqual(expected);
});

it('are everybody where no rule says who', () => {
  const opened = { type: 'request.opened' } as const;
  expect(votersFor(opened, call(), ['ann', 'bob'])).toEqual(['ann', 'bob']);
  expect(votersFor(opened, undefined, ['ann'])).toEqual(['ann']);
});

it('are those alone to whom it was escalated, for a notice of that', async () => {
  const about = { ...notice('a'), type: 'request.escalated' as const };
  expect(await on(asked(['dan'], { isEscalated: true }), about)).toEqual(['cid@example.org']);
});

it('are reached at the addresses of the file', async () => {
  expect(await on(asked(['dan']))).toEqual(['ann@example.org']);
  expect(await on(undefined)).toEqual(['ann@example.org', 'cid@example.org', 'dan@example.org']);
  await expect(on(asked(['ann']))).rejects.toThrow(/nobody who may decide this has a mail address/);
});

describe('with somebody away', () => {
  const away = (from: string, to: string, start = AT): Away => ({
    ...{ id: `e-${from}`, from, to, start, end: '2999-01-01T00:00:00.000Z', at: AT, takenAt: AT },
  });
  const LATER = new Date(Date.parse(AT) + 1000).toISOString();
  const ALL: Away[] = [away('ANN', 'dan@example.org'), away('cid', 'dan', LATER)];
  const deputies = (type: NoticeType, { by = 'eve', entries = ALL, ...extra } = {}): string[] => {
    const standIns = standInsAt(entries, Date.parse(LATER), (name) => FILE.personOf(name));
    const delegated = standIns.find(({ entry }) => entry === 'e-cid');
    const about = { type, data: { ...notice('a').data, delegated } };
    return deputiesFor(about, asked([by], { isEscalated: true, ...extra }), standIns);
  };

  it.each<[NoticeType, string[], Away[]?, string?]>([
    ['request.opened', ['dan']],
    ['request.opened', [], [away('ann', 'dan', LATER)]],
    ['request.opened', [], [away('cid', 'dan')]],
    ['request.opened', [], [away('ann', 'dan')], 'dan'],
    ['request.opened', [], [away('ann', 'dan')], 'ann'],
    ['request.escalated', ['dan'], [away('cid', 'dan')]],
    ['request.escalated', [], [away('ann', 'dan')]],
    ['request.escalated', [], [away('cid', 'dan', LATER)]],
    ['request.delegated', ['dan']],
    ['request.delegated', [], [away('ann', 'dan')]],
    ['deadline.near', ['dan', 'dan']],
    ['call.in_doubt', ['dan'], [away('ann', 'dan', LATER)]],
  ])('goes %s to %j', (...[type, expected, entries, by]) => {
    expect(deputies(type, { ...(entries && { entries }), ...(by && { by }) })).toEqual(expected);
  });

  it('reaches a delegate at the address of the file, and nobody twice', async () => {
    const sources = {
      approvers: () => Promise.resolve(FILE),
      client: { view: () => Promise.resolve({ ...makeView(), calls: [asked(['eve'])] }) },
    };
    const to = (entries: Away[], about = notice('a')) =>
      votersOn(about, { ...sources, away: () => Promise.resolve(entries) });
    expect(await to([away('ann', 'dan')])).toEqual(['ann@example.org', 'dan@example.org']);
    expect(await to([away('bob', 'ann')])).toEqual(['ann@example.org']);
    // Eve asked for the turn.
    expect(await to([away('EVE', 'ann'), away('bob', 'dan')])).toEqual(['dan@example.org']);
    const delegated = { voter: 'bob', person: 'ann', entry: 'e-ann', until: AT };
    const later = { ...notice('a'), type: 'request.delegated' as const };
    const about = { ...later, data: { ...later.data, delegated } };
    expect(await to([away('ann', 'dan')], about)).toEqual(['dan@example.org']);
    expect(await to([away('ann', 'bob')], about)).toEqual([]);
  });
});

it('are not sent what the file does not let them see', async () => {
  const text = 'visibility: { dan: [other], cid: [clerk] }\nrules: [{ name: default, then: by_safety }]';
  const people = 'people: { cid: { mail: c@example.org }, dan: { mail: d@example.org } }';
  const file = parseApprovers(`installation: '${'ab'.repeat(16)}'\n${people}\n${text}`, 'approvers.yaml');
  const client = { view: () => Promise.resolve(makeView()) };
  const found = votersOn(notice('a'), { approvers: () => Promise.resolve(file), client });
  expect(await found).toEqual(['c@example.org']);
});

it('are reached by their ids at Slack', async () => {
  const about = { approvers: () => Promise.resolve(FILE), by: 'slack' } as const;
  const client = { view: () => Promise.resolve({ ...makeView(), calls: [asked(['dan'])] }) };
  expect(await votersOn(notice('a'), { ...about, client })).toEqual(['U0ANN']);
  await expect(votersOn(testNotice(NOW), { ...about, client, tester: 'bob' })).rejects.toThrow(/no Slack id/);
});

it('is one person for a test', async () => {
  expect(await on(undefined, testNotice(NOW), 'ANN')).toEqual(['ann@example.org']);
  await expect(on(undefined, testNotice(NOW), 'bob')).rejects.toThrow(/bob has no mail address/);
  await expect(on(undefined, testNotice(NOW), 'eve')).rejects.toThrow(/eve is not in approvers.yaml/);
});
