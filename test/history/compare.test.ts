import { compareFork } from '../../src/history/compare';
import type { TurnEvent } from '../../src/history/events';
import type { TurnInput } from '../../src/contract/turn';
import type { PreparedCall } from '../../src/contract/call';
import { result, run, Script, thinkOutput } from './script';

const usage = { status: 'answered' as const, steps: 2, usage: {} };
const counts = { calls: 0, failed: 0, requests: 0, denied: 0, modified: 0, expired: 0, inDoubt: 0 };

const answered = (script: Script, answer: string): TurnEvent[] => {
  script.add({ kind: 'completed', result: { ...usage, counts, answer } });
  return script.fold();
};

const look = run('1.1', { tool: 'look', arguments: { n: 1 } });

/** A turn that looked once. */
const original = (content = 'seen'): TurnEvent[] => {
  const script = new Script().started().task().think(1, [look]);
  script.done(script.call(look), { result: result('1.1', { tool: 'look', content, arguments: { n: 1 } }) });
  return answered(script.task().think(2, []), 'done');
};

/** Its fork from the call on, which begins with these calls. */
const forked = (calls: PreparedCall[], answer = 'done'): TurnEvent[] => {
  const fork: TurnInput['fork'] = { of: 't', from: '1.1', world: 'dry', given: thinkOutput(calls) };
  const script = new Script().started('go', { fork }).task();
  return answered(script.think(2, []), answer);
};

const recorded = (more: object = {}): PreparedCall => ({
  kind: 'recorded',
  callId: '1.1',
  id: 'x',
  tool: 'look',
  proposed: { n: 1 },
  result: result('1.1', { tool: 'look', arguments: { n: 1 }, ...more }),
});

test('what is the same on both paths is said to be so, whatever the results said', () => {
  const comparison = compareFork(original(), forked([recorded({ content: 'something else' })]));
  expect(comparison).toMatchObject({ of: 't', from: '1.1', world: 'dry', end: { same: true } });
  expect(comparison?.steps.map(({ step, same }) => [step, same])).toEqual([
    [1, true],
    [2, true],
  ]);
});

test.each<[string, PreparedCall[], string]>([
  ['another outcome', [recorded({ success: false, error: { code: 'denied', message: 'no' } })], 'denied'],
  ['an effect that would have been', [run('1.1', { kind: 'ask', tool: 'look' })], 'would_ask'],
])('%s', (_, calls, outcome) => {
  const [first] = compareFork(original(), forked(calls))?.steps ?? [];
  expect(first?.left?.calls).toMatchObject([
    { callId: '1.1', tool: 'look', outcome: 'done', content: 'seen' },
  ]);
  expect(first?.right?.calls).toMatchObject([{ outcome }]);
  expect(first?.same).toBe(outcome === 'would_ask');
});

test('a path that is longer than the other has a side of its own', () => {
  const script = new Script().started().task().think(1, [look]);
  const short = script.fold();
  const comparison = compareFork(short, forked([recorded()], 'another end'));
  expect(comparison?.steps[0]?.left?.calls).toMatchObject([{ outcome: 'open' }]);
  expect(comparison?.steps[1]).toMatchObject({ step: 2, right: { calls: [] }, same: false });
  expect(comparison?.steps[1]?.left).toBeUndefined();
  expect(comparison?.end).toMatchObject({
    left: { status: 'running' },
    right: { answer: 'another end' },
    same: false,
  });
});

test('a turn that is not a fork has nothing to be compared with', () => {
  expect(compareFork(original(), original())).toBeUndefined();
});
