import fc from 'fast-check';
import {
  countLabel,
  filterOf,
  filterQuery,
  isFiltering,
  keyOf,
  moveTo,
  NO_FILTER,
  offsetFor,
  rowWindow,
  scrollFor,
  tabTitle,
  votesText,
} from '../../../src/web/model/inbox';
import type { InboxItem } from '../../../src/server/api';

const item = (turn: string, callKey = 'key'): InboxItem => ({
  ...{ turn, callId: '1.1', callKey, kind: 'request', tool: 'pay', agent: 'payer', prompt: 'Pay.' },
  ...{ summary: '1.1 pay', since: '2026-11-21T08:00:00.000Z', deadline: null },
});

describe('a filter in the address', () => {
  it.each([
    ['', {}],
    ['tool=pay', { tool: 'pay' }],
    [
      'text=15.00+EUR&agent=a%26b&doubt=1&sort=newest',
      { text: '15.00 EUR', agent: 'a&b', doubt: '1', sort: 'newest' },
    ],
    ['mine=1', { mine: '1' }],
    ['olderThan=3600000', { olderThan: '3600000' }],
  ])('%j is read and written', (query, part) => {
    const filter = { ...NO_FILTER, ...part };
    expect(filterOf(query)).toEqual(filter);
    expect(filterOf(filterQuery(filter))).toEqual(filter);
  });

  it.each(['doubt=yes', 'mine=anna', 'olderThan=soon', 'sort=amount', 'limit=100000', '%', '=&&'])(
    '%j has no effect, because the server would refuse it',
    (query) => expect(filterOf(query)).toEqual(NO_FILTER),
  );

  it('leaves something out, or only sorts', () => {
    expect(isFiltering(filterOf('text=a'))).toBe(true);
    expect(isFiltering(filterOf('sort=newest'))).toBe(false);
  });
});

it.each([
  [3, 3, '3'],
  [100, 1_980, '100 of 1,980'],
  [0, 12, '0 of 12'],
  [10_000, 10_000, '10,000'],
])('%d of %d are counted as %j', (matching, waiting, label) => {
  expect(countLabel({ matching, waiting })).toBe(label);
});

it('a call that is asked again is another item', () => {
  expect(keyOf(item('t', 'a'))).not.toBe(keyOf(item('t', 'b')));
});

it('titles the tab with what waits', () => {
  expect([tabTitle(0, 'Turns'), tabTitle(1234, 'Pay ann')]).toEqual([
    'Turns · Countersign',
    '(1,234) Pay ann · Countersign',
  ]);
});

const NEEDS = (approvals: number) => ({ approvals, who: [] });
const VOTE = (decision: 'approved' | 'denied') => ({ voter: decision, decision });
it.each([
  ['no rule', undefined, ''],
  ['one approval', { votes: [], needs: NEEDS(1) }, ''],
  ['two approvals', { votes: [], needs: NEEDS(2) }, '0 of 2'],
  ['one of two', { votes: [VOTE('approved'), VOTE('denied')], needs: NEEDS(1) }, '1 of 2'],
])('says of a row with %s how many approvals there are', (_, voting, text) => {
  expect(votesText({ voting })).toBe(text);
});

it.each([
  [-1, 1, 3, 0],
  [0, 1, 3, 1],
  [2, 1, 3, 2],
  [0, -1, 3, 0],
  [0, 1, 0, -1],
])('from %d by %d of %d leads to %d', (index, by, count, to) => {
  expect(moveTo(index, by, count)).toBe(to);
});

it.each([0, 1, 49, 50, 99, 100, 180, 5_000, 9_999])('rows around %d are read', (first) => {
  const offset = offsetFor(first);
  expect(offset % 50).toBe(0);
  // What is above it, and the screens below it.
  expect(offset).toBeLessThanOrEqual(Math.max(0, first - 50));
  expect(offset + 200).toBeGreaterThan(first + 60);
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
