import {
  callOfChild,
  childResult,
  childTurnId,
  isTurnResult,
  readChildEnd,
  startOf,
} from '../../src/contract/turn';
import { LIMITS } from '../../src/contract/limits';
import type { TurnResult } from '../../src/contract/turn';

const replyId = '3f6c1d2e-aaaa-bbbb-cccc-000000000000';

it.each(['turn-a', 'a.b.c', 'x/y'])('the id of a child turn of %s names its call', (turn) => {
  const child = childTurnId(turn, { callId: '12.3', replyId });
  expect(child).toBe(`${turn}.12.3.3f6c1d2eaaaa`);
  expect(callOfChild(turn, child)).toBe('12.3');
});

it.each([
  ['1,000 letters', 'x'.repeat(1000)],
  ['1,000 bytes in characters of four', '\u{1f600}'.repeat(250)],
])(
  'the id of a child turn of %s fits the server, also six levels down, and names its call',
  (_case, turn) => {
    let parent = turn;
    for (let level = 0; level < LIMITS.childDepthMost; level++) {
      const child = childTurnId(parent, { callId: '999999.1000', replyId });
      expect(Buffer.byteLength(child)).toBeLessThanOrEqual(1000);
      expect(child).not.toContain('\ufffd');
      expect(callOfChild(parent, child)).toBe('999999.1000');
      expect(callOfChild(`${parent}x`, child)).toBeUndefined();
      parent = child;
    }
  },
);

it('long ids that begin alike have different child turns', () => {
  const of = (end: string) => childTurnId(`${'x'.repeat(990)}${end}`, { callId: '1.1', replyId });
  expect(of('a')).not.toBe(of('b'));
});

it('another reply makes another child turn', () => {
  const of = (reply: string) => childTurnId('t', { callId: '1.1', replyId: reply });
  expect(of('other')).not.toBe(of(replyId));
  expect(callOfChild('t', of('a')) ?? '').toBe('1.1');
});

it.each(['t', 'u.1.1.abc', 't.', 't.abc', 't.1.1.', 't.1.1.abc-def', 't.1.1.aaaaaaaaaaaaaaa'])(
  '%j does not name a child turn of t',
  (id) => {
    expect(callOfChild('t', id)).toBeUndefined();
  },
);

const ended: TurnResult = {
  ...{ status: 'answered', answer: 'yes', steps: 2, usage: {} },
  counts: { calls: 0, failed: 0, requests: 0, denied: 0, modified: 0, expired: 0, inDoubt: 0 },
};
const of = {
  child: 't.1.1.k',
  head: { id: 'i', callId: '1.1', tool: 'helper', arguments: {} },
  facts: { timestamp: '2026-01-01T00:00:00.000Z' },
  outputBytes: 300,
};

it.each([
  ['an answer', { kind: 'completed' as const, result: ended }, undefined, /^yes$/],
  ['an empty answer', { kind: 'completed' as const, result: { ...ended, answer: '' } }, undefined, /^$/],
  [
    'its step limit',
    { kind: 'completed' as const, result: { ...ended, status: 'step_limit' } },
    'tool',
    /2 steps.*yes/s,
  ],
  [
    'its budget',
    { kind: 'completed' as const, result: { ...ended, status: 'budget', why: 'too much' } },
    'tool',
    /too much/,
  ],
  ['a failure', { kind: 'failed' as const, message: 'no key' }, 'tool', /failed: no key.*stays done/s],
  ['a cancellation', { kind: 'cancelled' as const }, 'cancelled', /stays done/],
  ['a termination', { kind: 'terminated' as const }, 'tool', /terminated/],
  ['the end of its time', { kind: 'timed_out' as const }, 'tool', /time was over/],
  ['a workflow of somebody else', { kind: 'foreign' as const, message: 'not ours' }, 'refused', /not ours/],
  ['nothing', { kind: 'completed' as const, result: undefined }, 'unknown', /cannot be read/],
  [
    'another status',
    { kind: 'completed' as const, result: { ...ended, status: 'fine' } },
    'unknown',
    /cannot/,
  ],
])('the result of a child turn that ended with %s', (_name, end, code, words) => {
  const result = childResult(end, of);
  expect(result.error?.code).toBe(code);
  expect(code === undefined ? result.content : result.error?.message).toMatch(words);
  expect(result.metadata.child).toBe('t.1.1.k');
});

it('cuts what is too long, of an answer and of words', () => {
  const long = 'x'.repeat(5000);
  expect(
    childResult({ kind: 'completed', result: { ...ended, answer: long } }, of).content.length,
  ).toBeLessThan(301);
  const failed = childResult({ kind: 'failed', message: long }, of);
  expect(failed.error?.message.length).toBeLessThan(301);
});

const MORE_CURRENCIES_THAN_A_TURN_TAKES_ALONG = Object.fromEntries(
  Array.from({ length: 21 }, (_, index) => [`C${index}`, 1]),
);

it.each([
  null,
  [],
  'answered',
  { ...ended, answer: 1 },
  { ...ended, steps: 1.5 },
  { ...ended, usage: null },
  { ...ended, why: 5 },
  { ...ended, spent: { tokens: -1, steps: 1, time: 1 } },
  { ...ended, spent: { tokens: 1, steps: 1, time: 1, money: { EUR: 'x' } } },
  { ...ended, spent: { tokens: 1, steps: 1, time: 1, money: MORE_CURRENCIES_THAN_A_TURN_TAKES_ALONG } },
])('%j cannot be the result of a turn', (value) => {
  expect(isTurnResult(value)).toBe(false);
});

it.each([undefined, null, 5, {}, { kind: 'failed' }, { kind: 'other' }, { kind: 'foreign', message: 3 }])(
  '%j cannot be the end of a child turn',
  (value) => {
    expect(readChildEnd(value)).toBeUndefined();
  },
);

it("gives Temporal's own UI no link of a prompt", () => {
  const prompt = 'pay\n\n[here](https://evil.example)';
  const { staticSummary, memo } = startOf({ agent: 'clerk', prompt }, prompt);
  expect(staticSummary).toBe('clerk: pay \\[here\\](https://evil.example)');
  expect(Object.values(memo)).toContain(prompt);
});
