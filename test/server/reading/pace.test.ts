import { CountersignError } from '../../../src/contract/errors';
import { Pace } from '../../../src/server/reading/pace';

type PastRead = Parameters<Pace['end']>[0];

const TIMES = { usual: 500, told: 5_000, toldOfMany: 1_000 };
const MINUTE = 60_000;

/** A pace, its clock, and what workers say. */
function paceAt() {
  const clock = { now: 1_000_000 };
  const pace = new Pace(TIMES, () => clock.now);
  const hear = (...turns: string[]): void => pace.hear({ namespace: 'default', turns });
  const pass = (ms: number): void => void (clock.now += ms);
  return { pace, hear, pass };
}

describe('whether workers tell of requests', () => {
  type Setting = ReturnType<typeof paceAt>;
  it.each<[string, (setting: Setting) => void, boolean]>([
    ['no worker spoke', () => undefined, false],
    ['a worker is there', ({ hear }) => hear(), true],
    ['it missed one beat', ({ hear, pass }) => (hear(), pass(12_000)), true],
    ['it is silent', ({ hear, pass }) => (hear(), pass(12_500)), false],
    [
      'its news was not complete',
      ({ pace }) => pace.hear({ namespace: 'd', turns: [], isPart: true }),
      false,
    ],
    ['news could not be followed', ({ pace, hear }) => (hear(), pace.doubt()), false],
    ['that is long ago', ({ pace, hear, pass }) => (hear(), pace.doubt(), pass(15_000), hear()), true],
    [
      'visibility showed what it had named',
      ({ pace, hear, pass }) => (hear('a'), pace.found(['a']), pass(3_000), pace.found([])),
      true,
    ],
    [
      'the news came soon after visibility',
      ({ pace, hear, pass }) => (
        hear(),
        pace.found(['a']),
        pass(1_000),
        hear('a'),
        pass(3_000),
        pace.found([])
      ),
      true,
    ],
    [
      'visibility showed what nobody named',
      ({ pace, hear, pass }) => (hear(), pace.found(['a']), pass(3_000), pace.found([])),
      false,
    ],
    [
      'that is minutes ago',
      ({ pace, hear, pass }) => (
        hear(),
        pace.found(['a']),
        pass(3_000),
        pace.found([]),
        pass(5 * MINUTE),
        hear()
      ),
      true,
    ],
  ])('%s', (_, happen, isTold) => {
    const setting = paceAt();
    happen(setting);
    expect(setting.pace.isTold).toBe(isTold);
  });
});

describe('the rest after a read', () => {
  const busy = new CountersignError('server_busy', 'too often', { data: { retryInMs: 7_000 } });
  it.each<[string, boolean, PastRead, number]>([
    ['is short where nobody tells of requests', false, { tookMs: 5 }, 500],
    ['is long where workers do', true, { tookMs: 5 }, 5_000],
    ['is shorter where one read shows only a part', true, { tookMs: 5, isLong: true }, 1_000],
    ['does not come where there is more to read at first', true, { tookMs: 5, isPart: true }, 0],
    ['is as long as a slow read', false, { tookMs: 4_000 }, 4_000],
    ['is what the server wants', true, { tookMs: 5, error: busy }, 7_000],
    ['is longer than usual after a failure', true, { tookMs: 9_000, error: new Error('gone') }, 2_000],
  ])('%s', (_, isTold, read, ms) => {
    const { pace, hear, pass } = paceAt();
    if (isTold) hear();
    expect(pace.dueInMs()).toBe(0);
    pace.end(read);
    const rest = pace.dueInMs();
    expect(rest).toBeGreaterThanOrEqual(ms);
    expect(rest).toBeLessThanOrEqual(ms * 1.1);
    expect(pace.dueInMs()).toBe(rest);
    pass(rest);
    expect(pace.dueInMs()).toBe(0);
    pace.end(read);
    pace.hurry();
    expect(pace.dueInMs()).toBe(0);
  });
});

it('remembers a bounded number of turns', () => {
  const { pace, hear, pass } = paceAt();
  const names = Array.from({ length: 6_000 }, (_, n) => `t${n}`);
  hear(...names);
  pace.found(['t5999']);
  pass(3_000);
  pace.found([]);
  expect(pace.isTold).toBe(true);
  pace.found(['t0']);
  pass(3_000);
  pace.found([]);
  expect(pace.isTold).toBe(false);
});

it('hurries also where the read that runs began before', () => {
  const { pace, pass } = paceAt();
  pace.begin();
  pace.hurry();
  pace.end({ tookMs: 5 });
  expect(pace.dueInMs()).toBe(0);
  pass(10);
  pace.begin();
  pace.end({ tookMs: 5 });
  expect(pace.dueInMs()).toBeGreaterThan(0);
});

it('rests no longer where the clock of the machine is set back', () => {
  jest.useFakeTimers();
  try {
    const pace = new Pace(TIMES);
    pace.end({ tookMs: 5 });
    jest.setSystemTime(Date.now() - 60 * MINUTE);
    expect(pace.dueInMs()).toBeLessThanOrEqual(TIMES.usual * 1.1);
    pace.hear({ namespace: 'default', turns: [] });
    jest.setSystemTime(Date.now() - 60 * MINUTE);
    jest.advanceTimersByTime(MINUTE);
    expect(pace.isTold).toBe(false);
  } finally {
    jest.useRealTimers();
  }
});
