import { mostUrgentFirst, newestFirst } from '../../../src/client/inbox/order';
import type { InboxItem } from '../../../src/client';
import { inboxItem } from '../../cli/support';

const at = (minute: number): string => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
const ask = (turn: string, since: number, deadline: number | null): InboxItem =>
  inboxItem({ turn, since: at(since), deadline: deadline === null ? null : at(deadline) });
const doubt = (turn: string, since: number): InboxItem =>
  inboxItem({ turn, kind: 'in_doubt', since: at(since), deadline: null });

const items = [
  ...[ask('never-new', 5, null), ask('late', 4, 90), doubt('doubt-new', 3)],
  ...[ask('never-old', 2, null), ask('soon', 1, 60), doubt('doubt-old', 0)],
];
const turnsOf = (ordered: readonly InboxItem[]): string[] => ordered.map(({ turn }) => turn);

it.each([
  [
    'the earliest deadline',
    mostUrgentFirst,
    ['doubt-old', 'doubt-new', 'soon', 'late', 'never-old', 'never-new'],
  ],
  ['the newest', newestFirst, ['doubt-new', 'doubt-old', 'never-new', 'late', 'never-old', 'soon']],
])('calls in doubt come first, then %s', (_case, order, expected) => {
  expect(turnsOf(order(items))).toEqual(expected);
  expect(turnsOf(order(items.toReversed()))).toEqual(expected);
});

it('orders equal moments by turn and call, so that a list stays as it is', () => {
  const some = [ask('b', 1, 9), ask('a', 1, 9)];
  expect(turnsOf(mostUrgentFirst(some))).toEqual(['a', 'b']);
});

it('leaves the list that it is given as it is', () => {
  const before = turnsOf(items);
  for (const order of [mostUrgentFirst, newestFirst]) order(items);
  expect(turnsOf(items)).toEqual(before);
});
