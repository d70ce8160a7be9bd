import type { Effect, Order } from '../../src/contract/tool';
import type { Phase } from '../../src/workflows/approvals/state';
import { nextToStart } from '../../src/workflows/order';
import { approvalsWith } from '../support/calls';

/** `P` pure, `E` with an effect; then the phase. */
function started(line: string, order: Order): string {
  const words = line.split(' ');
  const effects: Record<string, Effect> = { P: 'pure', E: 'unsafe' };
  const phases: Record<string, Phase> = {
    w: 'request',
    r: 'ready',
    x: 'running',
    d: 'in_doubt',
    o: 'done',
    p: 'replanning',
  };
  const approvals = approvalsWith(
    ...words.map((word, index) => ({ callId: `1.${index + 1}`, effect: effects[word[0] ?? ''] ?? 'pure' })),
  );
  const states = [...approvals.calls.values()];
  states.forEach((state, index) => (state.phase = phases[words[index]?.[1] ?? ''] ?? 'done'));
  return nextToStart(states, order)
    .map((state) => state.call.callId.slice(2))
    .join(' ');
}

it.each<[string, Order, string]>([
  ['Pr Pr Pr', 'lane', '1 2 3'],
  ['Er Er', 'lane', '1'],
  ['Ew Er', 'lane', '2'],
  ['Ew Ex Er', 'lane', ''],
  ['Ed Er Pr', 'lane', '3'],
  ['Eo Er Pr', 'lane', '3 2'],
  ['Ep Er', 'lane', '2'],
  ['Pr Pr', 'strict', '1'],
  ['Px Pr', 'strict', ''],
  ['Pw Pr', 'strict', ''],
  ['Eo Pr Er', 'strict', '2'],
  ['Ed Pr', 'strict', ''],
  ['Er Er Pr', 'parallel', '1 2 3'],
  ['Ed Er', 'parallel', '2'],
  ['', 'lane', ''],
])('%s in order %s starts %s', (line, order, expected) => {
  expect(started(line, order)).toBe(expected);
});

it.each<Order>(['lane', 'parallel'])('%s starts at most 16 pure calls at once', (order) => {
  expect(started(Array(20).fill('Pr').join(' '), order).split(' ')).toHaveLength(16);
  expect(started(Array(15).fill('Px').concat(Array(5).fill('Pr')).join(' '), order).split(' ')).toHaveLength(
    1,
  );
});
