import fc from 'fast-check';
import {
  lastMinute,
  type LimitWindow,
  minuteWait,
  type Passed,
  readWindows,
  windowWait,
} from '../../src/models/provider-gate';

const NOON = Date.parse('2026-01-01T12:00:00Z');
const CLOCKS = { wall: NOON, steady: 5_000 };
const read = (headers: Record<string, string>, status = 200) =>
  readWindows(new Headers(headers), status, CLOCKS);

const openai = (remaining: string, reset: string, limit?: string) => ({
  'x-ratelimit-remaining-tokens': remaining,
  'x-ratelimit-reset-tokens': reset,
  ...(limit === undefined ? {} : { 'x-ratelimit-limit-tokens': limit }),
});
const anthropic = (remaining: string, reset: string) => ({
  'anthropic-ratelimit-tokens-remaining': remaining,
  'anthropic-ratelimit-tokens-reset': reset,
});
const window = (more: Partial<LimitWindow>): LimitWindow => ({
  ...{ unit: 'tokens', remaining: 0, heardAt: 5_000, fullAt: 11_000 },
  ...more,
});

test.each<[string, Record<string, string>, number, LimitWindow[]]>([
  ['of OpenAI', openai('10', '6s', '100'), 200, [window({ remaining: 10, limit: 100 })]],
  ['in milliseconds', openai('0', '12ms'), 200, [window({ fullAt: 5_012 })]],
  ['with several units', openai('0', '1m3.5s'), 200, [window({ fullAt: 68_500 })]],
  ['in seconds, as some servers write', openai('0', '6'), 200, [window({})]],
  ['of Anthropic', anthropic('0', '2026-01-01T12:00:06Z'), 200, [window({})]],
  [
    'of Anthropic, by a clock that is an hour ahead of ours',
    { date: 'Thu, 01 Jan 2026 13:00:00 GMT', ...anthropic('0', '2026-01-01T13:00:06Z') },
    ...([200, [window({})]] as const),
  ],
  [
    'of requests',
    { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '6s' },
    200,
    [window({ unit: 'requests' })],
  ],
  ['that are a refusal', { 'retry-after': '6' }, 429, [window({ unit: 'requests' })]],
  ['of a time that is over', anthropic('0', '2020-01-01T00:00:00Z'), 200, [window({ fullAt: 5_000 })]],
  ['of a year', openai('0', '9000h'), 200, [window({ fullAt: 3_605_000 })]],
] as [string, Record<string, string>, number, LimitWindow[]][])(
  'headers %s are read',
  (_, headers, status, expected) => {
    expect(read(headers, status)).toEqual(expected);
  },
);

test.each<[string, Record<string, string>, number?]>([
  ['that is below zero', openai('-1', '6s')],
  ['without a reset', { 'x-ratelimit-remaining-tokens': '0' }],
  ['with a reset that is empty', openai('0', '')],
  ['with a reset of other words', openai('0', 'soon')],
  ['with a reset below zero', openai('0', '-6s')],
  ['that is no number', openai('NaN', '6s')],
  ['without end', openai('9'.repeat(400), '6s')],
  ['with a day that is none', anthropic('0', '2026-13-45T99:99:99Z')],
  ['that asks to come back later, though nothing was refused', { 'retry-after': '6' }, 200],
])('a header %s says nothing', (_, headers, status = 200) => {
  expect(read(headers, status)).toEqual([]);
});

test('whatever a header has, the wait that comes of it is a time of an hour at most', () => {
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom(...'0123456789.-+eEhmsTZ:NaInfity'.split('')), maxLength: 40 }),
    fc.integer().map(String),
  );
  fc.assert(
    fc.property(text, text, text, fc.nat(), fc.integer({ min: -1e9, max: 1e9 }), (a, b, c, tokens, jump) => {
      for (const window of read({ ...openai(a, b, c), ...anthropic(a, b), 'retry-after': c }, 429)) {
        const ms = windowWait(window, tokens, CLOCKS.steady + Math.max(0, jump));
        expect(ms).toBeGreaterThanOrEqual(0);
        expect(ms).toBeLessThanOrEqual(3_600_000);
      }
    }),
  );
});

test.each<[string, Partial<LimitWindow>, number, number]>([
  ['room for it', { remaining: 100 }, 100, 0],
  ['no room, and nobody knows how much comes when', {}, 10, 6_000],
  ['half of it when full', { limit: 100 }, 50, 3_000],
  ['less than it needs, ever', { limit: 100 }, 1_000, 6_000],
  ['room for no other request', { unit: 'requests', limit: 6 }, 1_000, 1_000],
  ['filled up by now', { fullAt: 5_000 }, 10, 0],
])('a window with %s', (_, more, tokens, expected) => {
  expect(windowWait(window(more), tokens, 5_000)).toBe(expected);
});

const LIMIT = 1_000;
/** Requests one after the other: how long after the one before, and their tokens. */
const requests = fc.array(fc.tuple(fc.nat(40_000), fc.integer({ min: 1, max: 1_500 })), { maxLength: 60 });

test('no minute lets more through than its limit, but for one request that is larger', () => {
  fc.assert(
    fc.property(requests, (list) => {
      const passed: Passed[] = [];
      let now = 0;
      for (const [pause, tokens] of list) {
        now += pause;
        const wait = minuteWait(passed, { tokens, perMinute: LIMIT }, now);
        const sum = lastMinute(passed, now).reduce((total, one) => total + one.tokens, 0);
        // It waits only where there is no room, and then until there is.
        expect(wait > 0).toBe(sum > 0 && sum + tokens > LIMIT);
        now += wait;
        expect(minuteWait(passed, { tokens, perMinute: LIMIT }, now)).toBe(0);
        passed.push({ at: now, tokens });
        const inMinute = lastMinute(passed, now);
        const total = inMinute.reduce((all, one) => all + one.tokens, 0);
        expect(total <= LIMIT || inMinute.length === 1).toBe(true);
      }
    }),
  );
});
