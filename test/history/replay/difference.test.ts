import type { Deed } from '../../../src/history/replay/deeds';
import { firstDifference, type Difference } from '../../../src/history/replay/difference';

const timer: Deed = { what: 'timer' };
const pay: Deed = { what: 'activity', id: 'call-1.1-0', type: 'pay' };
const give: Deed = { what: 'activity', id: 'call-1.1-0', type: 'give' };

/** One workflow task: started by event 3, its deeds recorded from event 5 on. */
const difference = (recorded: Deed[], done: Deed[]): Difference | undefined =>
  firstDifference(
    [{ startedId: 3, deeds: recorded.map((deed, at) => ({ deed, eventId: 5 + at })) }],
    new Map([[3, done]]),
  );

it.each<[name: string, recorded: Deed[], done: Deed[], found: Difference | undefined]>([
  ['nothing at all', [], [], undefined],
  ['the same', [timer, pay], [timer, pay], undefined],
  [
    'another tool',
    [timer, pay],
    [timer, give],
    { kind: 'other', recorded: { deed: pay, eventId: 6 }, done: give },
  ],
  [
    'another order',
    [timer, pay],
    [pay, timer],
    { kind: 'other', recorded: { deed: timer, eventId: 5 }, done: pay },
  ],
  ['less', [timer, pay], [timer], { kind: 'missing', recorded: { deed: pay, eventId: 6 } }],
  ['more', [timer], [timer, pay], { kind: 'extra', done: pay, afterId: 5 }],
  ['more than nothing', [], [pay], { kind: 'extra', done: pay, afterId: 3 }],
])('%s', (_, recorded, done, found) => {
  expect(difference(recorded, done)).toEqual(found);
});

const tasks = [
  { startedId: 3, deeds: [{ deed: timer, eventId: 5 }] },
  { startedId: 9, deeds: [{ deed: pay, eventId: 11 }] },
];

it('a task that was not reached says nothing', () => {
  expect(firstDifference(tasks, new Map([[3, [timer]]]))).toBeUndefined();
});

it('the first of several is told', () => {
  const done = new Map<number, Deed[]>([
    [9, []],
    [3, [pay]],
  ]);
  expect(firstDifference(tasks, done)).toMatchObject({ kind: 'other', recorded: { eventId: 5 } });
});
