import fc from 'fast-check';
import type { InboxItem } from '../../../src/server/api';
import {
  applyFilter,
  countBy,
  countLabel,
  isCut,
  keyOf,
  moveTo,
  neighbour,
  NO_FILTER,
  rowWindow,
  scrollFor,
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

it('tells a call that is asked again from the one before', () => {
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
  expect(countLabel(listed, total)).toBe(words);
});

const place = (extra: object = {}) => ({ count: 3_000, rowHeight: 80, scrollTop: 0, height: 800, ...extra });

it.each([
  ['the top', {}, { from: 0, to: 18 }],
  ['the middle', { scrollTop: 80_000 }, { from: 992, to: 1_018 }],
  ['the end', { scrollTop: 3_000 * 80 - 800 }, { from: 2_982, to: 3_000 }],
  ['beyond the end, after rows have left', { count: 5, scrollTop: 80_000 }, { from: 4, to: 5 }],
  ['before the top, where a finger pulls', { scrollTop: -300 }, { from: 0, to: 18 }],
  ['an empty list', { count: 0 }, { from: 0, to: 0 }],
])('at %s', (_, extra, drawn) => {
  expect(rowWindow(place(extra))).toMatchObject(drawn);
});

it('draws every row in sight, few others, and keeps the height of all', () => {
  const nat = (max: number) => fc.integer({ min: 0, max });
  fc.assert(
    fc.property(
      nat(20_000),
      nat(2_000_000),
      fc.integer({ min: 1, max: 3_000 }),
      (count, scrollTop, height) => {
        const { from, to, before, after } = rowWindow({ count, rowHeight: 80, scrollTop, height });
        expect(before + (to - from) * 80 + after).toBe(count * 80);
        expect(to - from).toBeLessThanOrEqual(Math.ceil(height / 80) + 18);
        const firstInSight = Math.floor(scrollTop / 80);
        const lastInSight = Math.min(count, Math.ceil((scrollTop + height) / 80)) - 1;
        if (firstInSight < count) expect(from).toBeLessThanOrEqual(firstInSight);
        if (lastInSight >= firstInSight) expect(to).toBeGreaterThan(lastInSight);
      },
    ),
  );
});

it.each([
  ['in sight', 3, {}, undefined],
  ['above', 3, { scrollTop: 400 }, 240],
  ['half above', 5, { scrollTop: 420 }, 400],
  ['below', 12, {}, 240],
])('scrolls to a row that is %s', (_, index, extra, to) => {
  expect(scrollFor(index, place(extra))).toBe(to);
});
