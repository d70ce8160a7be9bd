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

test('two columns, aligned, within the width', () => {
  const lines = compareLines(comparison(), testScreen(90));
  expect(lines).toEqual([
    'two paths from 2.1 on, the second in a dry world',
    'turn-a                                      │ turn-b',
    '',
    'step 2',
    'now I pay                                   │ now I pay',
    '2.1 pay amount=10                           │ 2.1 pay amount=10',
    '    done: paid 10                           │     denied',
    '',
    'the end',
    'answered                                    │ failed',
    'all paid                                    │ no model',
  ]);
});

test.each([20, 40, 79])('one after the other on a terminal of %i columns', (width) => {
  const lines = compareLines(comparison(), testScreen(width));
  expect(lines.join('\n')).not.toContain('│');
  expect(lines.filter((line) => line === 'first:')).toHaveLength(3);
  for (const line of lines.slice(1)) expect(widthOf(line)).toBeLessThanOrEqual(width);
});

test.each([80, 100, 161, 300])('no line is longer than a terminal of %i columns', (width) => {
  const long = { text: 'word '.repeat(40), model: 'm', calls: [pay('done', { content: '字'.repeat(90) })] };
  const steps = [{ step: 2, left: long, right: long, same: false }];
  for (const line of compareLines(comparison({ steps }), testScreen(width)))
    expect(widthOf(line)).toBeLessThanOrEqual(width);
});

test('what is the same in both is shown once, and an answer at the end only', () => {
  const step = { text: 'all paid', model: 'm', calls: [] };
  const end = { status: 'answered' as const, answer: 'all paid' };
  const same = comparison({
    steps: [{ step: 3, left: step, right: step, same: true }],
    end: { left: end, right: end, same: true },
  });
  expect(compareLines(same, testScreen(90)).slice(2)).toEqual([
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
  expect(lines[4]).toContain('(it did not get this far)');
  expect(lines[5]).toContain(words);
});

test('nothing that a model or a tool said is obeyed', () => {
  const left = { text: '\u001b[2J', model: 'm', calls: [pay('done', { content: '\u202e\u001b[31m' })] };
  const lines = compareLines(comparison({ steps: [{ step: 2, left, same: false }] }), testScreen(90));
  expect(lines.join('')).not.toMatch(/[\u001b\u202e]/);
});
