import type { InboxItem } from '../../../src/server/api';
import {
  applyFilter,
  countBy,
  countWords,
  isCut,
  keyOf,
  moveTo,
  neighbour,
  NO_FILTER,
  titleOf,
} from '../../../src/web/model/inbox';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const at = (minutes: number): string => new Date(NOW + minutes * 60_000).toISOString();

const item = (turn: string, extra: Partial<InboxItem> = {}): InboxItem => ({
  ...{
    turn,
    callId: '1.1',
    callKey: 'k',
    kind: 'request',
    tool: 'refund',
    agent: 'support',
    summary: '',
    prompt: '',
  },
  ...{ since: at(-1), deadline: at(10) },
  ...extra,
});

const turns = (items: readonly InboxItem[]): string[] => items.map(({ turn }) => turn);

it('puts the earliest deadline first, and what never expires last by age', () => {
  const items = [
    item('never, young', { deadline: null, since: at(-1) }),
    item('late', { deadline: at(60) }),
    item('never, old', { deadline: null, since: at(-9) }),
    item('soon', { deadline: at(1) }),
    item('same deadline, older', { deadline: at(1), since: at(-5) }),
  ];
  expect(turns(applyFilter(items, NO_FILTER, NOW))).toEqual([
    'same deadline, older',
    'soon',
    'late',
    'never, old',
    'never, young',
  ]);
});

describe('a filter', () => {
  const items = [
    item('a'),
    item('b', { tool: 'mail', deadline: at(20) }),
    item('c', { agent: 'ops', since: at(-30), deadline: at(30) }),
  ];
  it.each([
    ['nothing', {}, ['a', 'b', 'c']],
    ['a tool', { tool: 'mail' }, ['b']],
    ['an agent', { agent: 'ops' }, ['c']],
    ['an age', { olderThanMs: 30 * 60_000 }, ['c']],
    ['an age that nothing has', { olderThanMs: 30 * 60_000 + 1 }, []],
    ['all of them', { tool: 'refund', agent: 'ops', olderThanMs: 1 }, ['c']],
    ['what is not there', { tool: 'toString' }, []],
  ])('of %s', (_, filter, left) => {
    expect(turns(applyFilter(items, { ...NO_FILTER, ...filter }, NOW))).toEqual(left);
  });

  it('changes nothing of what it is given', () => {
    const given = [item('b', { deadline: at(2) }), item('a', { deadline: at(1) })];
    applyFilter(given, NO_FILTER, NOW);
    expect(turns(given)).toEqual(['b', 'a']);
  });
});

it('stays quick with thousands', () => {
  const many = Array.from({ length: 10_000 }, (_, n) =>
    item(String(n), { deadline: at((n * 7919) % 10_000) }),
  );
  const sorted = applyFilter(many, NO_FILTER, NOW);
  expect(sorted).toHaveLength(10_000);
  expect(sorted[0]?.turn).toBe('0');
});

it('counts by tool, most first, then by name', () => {
  const items = [
    item('1', { tool: 'b' }),
    item('2', { tool: 'a' }),
    item('3', { tool: 'c' }),
    item('4', { tool: 'c' }),
  ];
  expect(countBy(items, 'tool')).toEqual([
    ['c', 2],
    ['a', 1],
    ['b', 1],
  ]);
});

it('tells a call that is asked anew from the one before', () => {
  expect(keyOf(item('t'))).not.toBe(keyOf(item('t', { callKey: 'other' })));
});

it.each([
  [0, 'Countersign'],
  [1, '(1) Countersign'],
  [3_000, '(3000) Countersign'],
])('says %d in the title', (count, title) => {
  expect(titleOf(count)).toBe(title);
});

describe('after one is done', () => {
  const items = [item('a'), item('b'), item('c')];
  it.each([
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'b'],
  ])('%s leads to %s', (done, next) => {
    expect(neighbour(items, keyOf(item(done)))?.turn).toBe(next);
  });

  it('the last of all leads nowhere', () => {
    expect(neighbour([item('a')], keyOf(item('a')))).toBeUndefined();
  });
});

it.each([
  [-1, 1, 3, 0],
  [-1, -1, 3, 0],
  [2, 1, 3, 2],
  [0, -1, 3, 0],
  [1, 1, 3, 2],
  [0, 1, 0, -1],
])('from %d by %d of %d is %d', (index, by, count, to) => {
  expect(moveTo(index, by, count)).toBe(to);
});

it.each([
  [3, 3, false, '3'],
  [500, 3_000, true, '500 of 3000'],
  [0, 0, false, '0'],
])('%d of %d', (listed, total, cut, words) => {
  expect(isCut({ items: Array.from({ length: listed }, () => item('t')), total })).toBe(cut);
  expect(countWords(listed, total)).toBe(words);
});
