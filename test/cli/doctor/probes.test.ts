import { judge, judgeOrder } from '../../../src/cli/doctor/probes';

/** The activities that came first: `d` was decided, `t` is of the second tenant, `b` is of the batch. */
const taken = (letters: string): string[] =>
  [...letters.padEnd(32, 'b')].map((letter) => ({ d: 'decided', t: 'tenant' })[letter] ?? 'batch');

const ON = 'the server follows priorities; fairness keys are on';
const OFF = 'the server follows priorities; fairness keys are off';
const IGNORED = 'the server ignores priorities: a call that a person decided does not overtake a backlog';
const FAIRNESS = 'matching.enableFairness=true';
const PRIORITIES = 'matching.useNewMatcher=true';

it.each([
  ['the decided ones, then both tenants in turn', 'ddddtbtbtbtbtbtbtbtbtbtbtb', 'ok', ON, undefined],
  ['four partitions, where few of the second tenant come first', 'dbdbbbbtdbdtbbtbt', 'ok', ON, undefined],
  ['the decided ones, then the batch', 'dddd', 'ok', OFF, FAIRNESS],
  ['three of the second tenant, whose partition had little else', 'dddbdttt', 'ok', OFF, FAIRNESS],
  ['two decided ones', 'bbdbbbbd', 'ok', OFF, FAIRNESS],
  ['the batch alone', '', 'warning', IGNORED, PRIORITIES],
  ['one decided one, whose partition had little else', `${'b'.repeat(30)}d`, 'warning', IGNORED, PRIORITIES],
])('where it gives out %s', (_case, letters, state, detail, setting) => {
  const { todo, ...finding } = judgeOrder(taken(letters));
  expect(finding).toEqual({ name: 'priorities', state, detail });
  expect(todo?.split('\n').at(-1)?.trim()).toBe(setting);
});

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
