import {
  countLabel,
  filterOf,
  filterQuery,
  isFiltering,
  keyOf,
  moveTo,
  NO_FILTER,
  offsetFor,
  titleOf,
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
    ['olderThan=3600000', { olderThan: '3600000' }],
  ])('%j is read and written', (query, part) => {
    const filter = { ...NO_FILTER, ...part };
    expect(filterOf(query)).toEqual(filter);
    expect(filterOf(filterQuery(filter))).toEqual(filter);
  });

  it.each(['doubt=yes', 'olderThan=soon', 'sort=amount', 'limit=100000', '%', '=&&'])(
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
  expect([titleOf(0), titleOf(3)]).toEqual(['Countersign', '(3) Countersign']);
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
