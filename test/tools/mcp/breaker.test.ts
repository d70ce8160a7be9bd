import { createBreaker } from '../../../src/tools/mcp/breaker';

afterEach(() => jest.useRealTimers());

const make = () => {
  jest.useFakeTimers();
  return { breaker: createBreaker(), pass: (ms: number) => jest.advanceTimersByTime(ms) };
};

it('lets a server start at once first, and after its first end', () => {
  const { breaker } = make();
  expect(breaker.waitMs()).toBe(0);
  breaker.started();
  breaker.ended();
  expect(breaker.waitMs()).toBe(0);
});

it('waits twice as long after each early end, and lets calls fail once that is too long', () => {
  const { breaker, pass } = make();
  const waits = Array.from({ length: 12 }, () => {
    breaker.ended();
    const wait = breaker.waitMs();
    pass(60_000);
    return wait;
  });
  expect(waits).toEqual([0, 500, 1000, 2000, 4000, ...Array<undefined>(7).fill(undefined)]);
  expect(breaker.waitMs()).toBe(0);
});

it('says how long it takes until the next start, a minute at most', () => {
  const { breaker } = make();
  for (let n = 0; n < 100; n++) breaker.ended();
  expect(breaker.seconds()).toBe(60);
});

it('starts anew for a server that has worked for a while', () => {
  const { breaker, pass } = make();
  for (let n = 0; n < 5; n++) breaker.ended();
  pass(60_000);
  breaker.started();
  pass(30_000);
  breaker.ended();
  expect(breaker.waitMs()).toBe(0);
});
