import { ProgressCounter, RestCheck } from '../../../src/cli/replay/messages';

/** What each look finds, after something was done before it. */
const looks = (counter: ProgressCounter, before: readonly (() => void)[]): (number | undefined)[] => {
  const deadline = new RestCheck(counter);
  return before.map((act) => {
    act();
    return deadline.look();
  });
};

const nothing = (): void => undefined;
const times = (count: number, act: () => void = nothing): (() => void)[] =>
  Array.from({ length: count }, () => act);

it('code that works on one workflow task at twenty looks after the first is overdue', () => {
  const counter = new ProgressCounter();
  const found = looks(counter, [() => counter.busy(21), ...times(20)]);
  expect(found).toEqual([...times(20).map(() => undefined), 21]);
});

it.each<[string, (counter: ProgressCounter) => (() => void)[]]>([
  ['at rest', () => times(50)],
  [
    'that has come to rest',
    (counter) => [() => counter.busy(3), ...times(19), () => counter.idle(), ...times(50)],
  ],
  ['at another workflow task each time', (counter) => times(50, () => again(counter, 3))],
  [
    'at the same one, but again',
    (counter) => [() => counter.busy(3), ...times(19), () => again(counter, 3), ...times(19)],
  ],
])('code %s is not', (_, before) => {
  const counter = new ProgressCounter();
  expect(looks(counter, before(counter)).filter((found) => found !== undefined)).toEqual([]);
});

const again = (counter: ProgressCounter, startedId: number): void => {
  counter.idle();
  counter.busy(startedId);
};

it('tells whoever shares its memory what the code is at', () => {
  const told = new ProgressCounter();
  const heard = new ProgressCounter(told.shared);
  expect(heard.read()).toBeUndefined();
  told.busy(21);
  expect(heard.read()).toEqual({ startedId: 21, stretch: expect.any(Number) });
  told.idle();
  expect(heard.read()).toBeUndefined();
});

it('tells the same task apart from itself another time', () => {
  const counter = new ProgressCounter();
  counter.busy(21);
  const first = counter.read();
  counter.idle();
  counter.busy(21);
  expect(counter.read()?.stretch).not.toBe(first?.stretch);
});
