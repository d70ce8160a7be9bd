import { Beat } from '../../../../src/cli/replay/apart/beat';

it('tells whoever shares its memory what the code is at', () => {
  const told = new Beat();
  const heard = new Beat(told.shared);
  expect(heard.read()).toBeUndefined();
  told.busy(21);
  expect(heard.read()).toEqual({ startedId: 21, stretch: expect.any(Number) });
  told.idle();
  expect(heard.read()).toBeUndefined();
});

it('tells the same task apart from itself another time', () => {
  const beat = new Beat();
  beat.busy(21);
  const first = beat.read();
  beat.idle();
  beat.busy(21);
  expect(beat.read()?.stretch).not.toBe(first?.stretch);
});
