import { compareLines } from '../../../src/cli/commands/fork';
import type { Comparison, PathCall, PathOutcome } from '../../../src/history/compare';
import { widthOf } from '../../../src/contract/text/columns';
import { testScreen } from '../support';

const pay = (outcome: PathOutcome, more: Partial<PathCall> = {}): PathCall => ({
  callId: '2.1',
  tool: 'pay',
  arguments: { amount: 10 },
  outcome,
  ...more,
});

const comparison = (more: Partial<Comparison> = {}): Comparison => ({
  of: 'turn-a',
  fork: 'turn-b',
  from: '2.1',
  world: 'dry',
  steps: [
    {
      step: 2,
      left: { text: 'now I pay', model: 'm', calls: [pay('done', { content: 'paid 10' })] },
      right: { text: 'now I pay', model: 'm', calls: [pay('denied')] },
      same: false,
    },
  ],
  end: {
    left: { status: 'answered', answer: 'all paid' },
    right: { status: 'failed', error: 'no model' },
    same: false,
  },
  ...more,
});

test('the two paths, one after the other', () => {
  expect(compareLines(comparison(), testScreen(90))).toEqual([
    'two paths from 2.1 on, the second in a dry world',
    ...['first:', 'turn-a', 'second:', 'turn-b', '', 'step 2'],
    ...['first:', 'now I pay', '2.1 pay amount=10', '    done: paid 10'],
    ...['second:', 'now I pay', '2.1 pay amount=10', '    denied', '', 'the end'],
    ...['first:', 'answered', 'all paid', 'second:', 'failed', 'no model'],
  ]);
});

test.each([20, 80, 300])('no line is longer than a terminal of %i columns', (width) => {
  const long = { text: 'word '.repeat(40), model: 'm', calls: [pay('done', { content: '字'.repeat(90) })] };
  const steps = [{ step: 2, left: long, right: long, same: false }];
  for (const line of compareLines(comparison({ steps }), testScreen(width)).slice(1))
    expect(widthOf(line)).toBeLessThanOrEqual(width);
});

test('what is the same in both is shown once, and an answer at the end only', () => {
  const step = { text: 'all paid', model: 'm', calls: [] };
  const end = { status: 'answered' as const, answer: 'all paid' };
  const same = comparison({
    steps: [{ step: 3, left: step, right: step, same: true }],
    end: { left: end, right: end, same: true },
  });
  expect(compareLines(same, testScreen(90)).slice(5)).toEqual([
    '',
    'step 3, the same in both',
    'm answers',
    '',
    'the same end',
    'answered',
    'all paid',
  ]);
});

test.each<[PathOutcome, string]>([
  ['would_run', 'would run'],
  ['would_ask', 'would ask a person, then run'],
  ['open', 'not over yet'],
  ['in_doubt', 'in doubt'],
])('the outcome %s in words, and a path that ended before', (outcome, words) => {
  const right = { text: '', model: 'm', calls: [pay(outcome)] };
  const lines = compareLines(comparison({ steps: [{ step: 2, right, same: false }] }), testScreen(90));
  expect(lines).toContain('(it did not get this far)');
  expect(lines).toContainEqual(expect.stringContaining(words));
});

test('nothing that a model or a tool said is obeyed', () => {
  const left = { text: '\u001b[2J', model: 'm', calls: [pay('done', { content: '\u202e\u001b[31m' })] };
  const lines = compareLines(comparison({ steps: [{ step: 2, left, same: false }] }), testScreen(90));
  expect(lines.join('')).not.toMatch(/[\u001b\u202e]/);
});
