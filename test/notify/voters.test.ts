import { parseApprovers } from '../../src/authority/rules/approvers-file';
import { votersFor, votersOn } from '../../src/notify/voters';
import { type NoticeType, testNotice } from '../../src/notify/notices';
import { makeView } from '../../src/history/view-types';
import type { CallView } from '../../src/history/view';
import { call, NOW, request } from '../cli/support';
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

const none = { all: [], now: NOW };
const late = (type: NoticeType, by = 'dan') => votersFor({ type }, asked([by], { isEscalated: true }), none);

it('are those whom the rule names, without who asked', () => {
  const opened = { type: 'request.opened' } as const;
  expect(votersFor(opened, asked(['dan']), none)).toEqual(['ann', 'bob']);
  expect(votersFor(opened, asked(['ann']), none)).toEqual(['bob']);
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
  expect(votersFor(opened, call(), { ...none, all: ['ann', 'bob'] })).toEqual(['ann', 'bob']);
  expect(votersFor(opened, undefined, { ...none, all: ['ann'] })).toEqual(['ann']);
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

it.each<[string, number, string[]]>([
  ['before the time', -1, ['ann', 'bob']],
  ['in the time', 0, ['ann', 'bob', 'eve']],
  ['after the time', 1000, ['ann', 'bob']],
])('are with a delegate only in their time: %s', (_case, later, expected) => {
  const iso = (ms: number): string => new Date(ms).toISOString();
  const one = asked(['dan']);
  const { authority } = one.request ?? {};
  if (authority === undefined) throw new Error('no rule says who decides');
  const delegate = { name: 'eve', from: iso(NOW), until: iso(NOW + 1000) };
  const [ann, ...others] = authority.people ?? [];
  const people = [
    ...(ann === undefined ? [] : [{ ...ann, delegates: [delegate] }]),
    ...others,
    { name: 'eve', groups: [], delegates: [] },
  ];
  const dated = call({ request: request({ authority: { ...authority, people } }) });
  expect(votersFor({ type: 'request.opened' }, dated, { all: [], now: NOW + later })).toEqual(expected);
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
