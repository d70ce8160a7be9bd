import { scriptedModel, type ModelRequest } from 'countersign';

const lastResult = ({ messages }: ModelRequest): string =>
  messages.findLast(({ role }) => role === 'tool')?.content ?? '';

const runTests = { toolCalls: [{ name: 'run_tests' }] };

/** Two changes of one file: the mistake, and one that nobody asked for. A person may take either. */
const edits = [
  {
    old_text: 'lines.reduce((sum, cents) => sum + Math.round(cents * (1 + rate)), 0)',
    new_text: 'Math.round(lines.reduce((sum, cents) => sum + cents, 0) * (1 + rate))',
  },
  { old_text: 'const whole = Math.floor(cents / 100);', new_text: 'const whole = Math.trunc(cents / 100);' },
];

/**
 * Takes the place of a language model, so that the example runs without a key. Whatever it is asked, it makes the tests
 * of the small repository pass: it runs them, reads the file, proposes a change, and runs them again.
 */
export const maintainerScript = scriptedModel(
  [
    runTests,
    (request) =>
      lastResult(request).startsWith('passed')
        ? { text: 'All tests pass, so there is nothing to do.' }
        : { toolCalls: [{ name: 'read_file', arguments: { path: 'src/price.mjs' } }] },
    { toolCalls: [{ name: 'edit_file', arguments: { path: 'src/price.mjs', edits } }] },
    runTests,
    (request) => ({
      text: lastResult(request).startsWith('passed') ? 'The tests pass now.' : 'The tests still fail.',
    }),
  ],
  { id: 'maintainer-script' },
);
