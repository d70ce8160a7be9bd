import { Beat } from '../../../../src/cli/replay/apart/beat';
import { Deadline } from '../../../../src/cli/replay/apart/deadline';

/** What each look finds, after something was done before it. */
const looks = (beat: Beat, before: readonly (() => void)[]): (number | undefined)[] => {
  const deadline = new Deadline(beat);
  return before.map((act) => {
    act();
    return deadline.look();
  });
};

const nothing = (): void => undefined;
const times = (count: number, act: () => void = nothing): (() => void)[] =>
  Array.from({ length: count }, () => act);

it('code that works on one workflow task at twenty looks after the first is overdue', () => {
  const beat = new Beat();
  const found = looks(beat, [() => beat.busy(21), ...times(20)]);
  expect(found).toEqual([...times(20).map(() => undefined), 21]);
});

it.each<[string, (beat: Beat) => (() => void)[]]>([
  ['at rest', () => times(50)],
  ['that has come to rest', (beat) => [() => beat.busy(3), ...times(19), () => beat.idle(), ...times(50)]],
  ['at another workflow task each time', (beat) => times(50, () => again(beat, 3))],
  [
    'at the same one, but again',
    (beat) => [() => beat.busy(3), ...times(19), () => again(beat, 3), ...times(19)],
  ],
])('code %s is not', (_, before) => {
  const beat = new Beat();
  expect(looks(beat, before(beat)).filter((found) => found !== undefined)).toEqual([]);
});

const again = (beat: Beat, startedId: number): void => {
  beat.idle();
  beat.busy(startedId);
};
