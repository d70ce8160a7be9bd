import {
  costText,
  counted,
  describeActivity,
  describeEffect,
  describeOutcome,
  describePhase,
  describeState,
  describeUsage,
  failingTaskText,
  hunksText,
  wordsBy,
} from '../../src/history/labels';
import type { Resolved } from '../../src/history/events';
import { question } from '../cli/support';

test.each([
  ['approved', 'approved by ann'],
  ['modified', 'approved with changes by ann'],
  ['ask-again', 'sent back to be asked again by ann'],
  ['did-not', 'it did not happen, says ann'],
  ['run-again', 'started once more by ann'],
  ['declined', 'declined by ann'],
])('%s in words: %s', (word, text) => {
  expect(wordsBy(word, 'ann')).toBe(text);
});

test.each([
  [undefined, ''],
  [[], ', but none of its hunks'],
  [['1'], ', hunks 1'],
  [['1', '3'], ', hunks 1, 3'],
])('the text for the hunks %j: %j', (hunks, text) => {
  expect(hunksText(hunks)).toBe(text);
});

test.each([
  ['a turn', {}, 'started at most once per decision'],
  ['a workflow of its own', { unowned: true }, /^a second run would do harm; .*may start it more than once$/],
  [
    'a gate',
    { byGate: true },
    'started at most once per decision, unless an operator resets its activity or workflow',
  ],
] as const)('an unsafe call that %s runs promises what holds', (_, by, text) => {
  const matcher = typeof text === 'string' ? text : expect.stringMatching(text);
  expect(describeEffect({ effect: 'unsafe', ...by })).toEqual(matcher);
  expect(describeEffect({ effect: 'idempotent', ...by })).toBe('a second run changes nothing more');
});

test.each([
  [{ phase: 'done', outcome: 'done' }, 'done', 'good'],
  [{ phase: 'done', outcome: 'tool' }, 'failed', 'bad'],
  [{ phase: 'done', outcome: 'denied' }, 'denied', 'bad'],
  [{ phase: 'done', outcome: 'conflict' }, 'conflict', 'bad'],
  [{ phase: 'done' }, 'closed with its turn', 'quiet'],
  [question({ phase: 'done', outcome: 'done' }), 'answered', 'good'],
  [question({ phase: 'done', outcome: 'denied' }), 'declined', 'bad'],
  [question({ phase: 'done', outcome: 'expired' }), 'expired', 'bad'],
  [{ phase: 'request' }, 'waits for a decision', 'ask'],
  [{ phase: 'preparing' }, 'being prepared', 'busy'],
  [
    { phase: 'done', outcome: 'transport', resolvedBy: { resolution: 'did-not' } as Resolved },
    'did not happen',
    'bad',
  ],
  [{ phase: 'done', outcome: 'done', resolvedBy: { resolution: 'happened' } as Resolved }, 'done', 'good'],
] as const)('the phase of %j is shown as %s', (shown, text, tone) => {
  expect(describePhase(shown)).toEqual([text, tone]);
});

test.each([
  ['waiting', 'waits for a person', 'ask'],
  ['in_doubt', 'in doubt', 'ask'],
  ['timed_out', 'timed out', 'bad'],
  ['cancelled', 'cancelled', 'quiet'],
] as const)('a turn that is %s is shown as %s', (state, text, tone) => {
  expect(describeState(state)).toEqual([text, tone]);
});

test.each([
  ['done', 'done', 'good'],
  ['open', 'not over yet', 'busy'],
  ['would_run', 'would run', 'ask'],
  ['would_ask', 'would ask a person, then run', 'ask'],
  ['tool_not_found', 'tool not found', 'bad'],
] as const)('on a path a call that is %s is shown as %s', (outcome, text, tone) => {
  expect(describeOutcome(outcome)).toEqual([text, tone]);
});

const NOW = Date.parse('2026-01-01T00:01:00.000Z');
const at = (second: number): string => new Date(NOW + second * 1000).toISOString();

test.each<[Parameters<typeof describeActivity>[0], string]>([
  [{ state: 'scheduled', attempt: 1 }, 'waits for a worker'],
  [{ state: 'started', attempt: 1, startedAt: at(-3), worker: 'w-1' }, 'runs for 3.0 s on w-1'],
  [{ state: 'started', attempt: 2, startedAt: at(2) }, 'runs for 0 ms, attempt 2'],
  [
    { state: 'scheduled', attempt: 3, worker: 'w-1', nextAttemptAt: at(5), lastFailure: 'slow' },
    'waits for a worker, attempt 3, next try in 5.0 s (last failure: slow)',
  ],
  [{ state: 'started', attempt: 1, nextAttemptAt: at(5) }, 'runs'],
  [{ state: 'paused', attempt: 1 }, 'is paused by an operator'],
  [{ state: 'cancel_requested', attempt: 1 }, 'is being cancelled'],
  [{ state: 'scheduled', attempt: 1, waits: 'worker' }, 'waits for a worker'],
  [
    { state: 'scheduled', attempt: 3, waits: 'retry', lastFailure: 'HTTP 429' },
    'failed and is tried again, attempt 3 (last failure: HTTP 429)',
  ],
])('%j: %s', (activity, text) => {
  expect(describeActivity(activity, NOW)).toBe(text);
});

test.each([
  [{ attempt: 4, reason: 'no such agent' }, 'its workflow task fails (attempt 4): no such agent'],
  [{ attempt: 1 }, 'its workflow task fails (attempt 1): the reason is not known'],
])('a workflow task that fails, %j: %s', (task, text) => {
  expect(failingTaskText(task)).toBe(text);
});

test.each([
  [0, '0 calls'],
  [1, '1 call'],
  [2000, '2,000 calls'],
])('%d: %s', (count, text) => {
  expect(counted(count, 'call')).toBe(text);
});

test.each([
  [undefined, ''],
  [{ inputTokens: 1200, outputTokens: 5 }, '1,200 in, 5 out tokens'],
  [
    { inputTokens: 1200, cachedInputTokens: 800, outputTokens: 50, reasoningTokens: 20, cost: 0.0123 },
    '1,200 in (800 cached), 50 out (20 thinking) tokens, cost 0.012',
  ],
  [{ totalTokens: 7 }, '7 tokens'],
  [{ cost: 2 }, 'cost 2.00'],
])('the usage %j is %j', (usage, text) => {
  expect(describeUsage(usage)).toBe(text);
});

test.each([
  [0, '0.00'],
  [12.345, '12.35'],
  [0.5, '0.50'],
  [0.00012345, '0.00012'],
  [1e-9, '0.000000001'],
])('the cost %j is %j', (cost, text) => {
  expect(costText({ cost, currency: 'EUR' })).toBe(`${text} EUR`);
});

test('a cost that is not known is empty', () => {
  expect(costText({ currency: 'several' })).toBe('');
});
