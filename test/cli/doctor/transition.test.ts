import { judge } from '../../../src/cli/doctor/transition';

it.each([
  [0.4, 'ok', '0 ms between two tasks of a turn (a round trip takes 6 ms)'],
  [19.9, 'ok', '20 ms between two tasks of a turn (a round trip takes 6 ms)'],
  [20, 'warning', 'they wait: 20 ms between two tasks of a turn (a round trip takes 6 ms)'],
  [44.3, 'warning', 'they wait: 44 ms between two tasks of a turn (a round trip takes 6 ms)'],
])('a wait of %d ms is %s', (waitMs, state, detail) => {
  expect(judge({ waitMs, roundTripMs: 6.2 })).toMatchObject({ state, detail });
});

it('names the four settings where a transition waits, and only there', () => {
  expect(judge({ waitMs: 45, roundTripMs: 1 }).todo?.split('\n').slice(1)).toEqual([
    '  history.transferProcessorMaxPollRPS=2000',
    '  history.timerProcessorMaxPollRPS=2000',
    '  history.visibilityProcessorMaxPollRPS=2000',
    '  system.enableActivityEagerExecution=true',
  ]);
  expect(judge({ waitMs: 1, roundTripMs: 100 }).todo).toBeUndefined();
});
