import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from '../support/build';

/** What the reporter prints for these numbers. */
const print = (results: object): string => {
  const reporter = JSON.stringify(join(root, 'scripts', 'summary-reporter.cjs'));
  const script = `new (require(${reporter}))().onRunComplete(new Set(), ${JSON.stringify(results)})`;
  return execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' });
};

it.each([
  [
    'all passed',
    { numPassedTests: 12, numFailedTests: 0, numRuntimeErrorTestSuites: 0 },
    '12 passed, 0 failed\n',
  ],
  [
    'some failed',
    { numPassedTests: 10, numFailedTests: 2, numRuntimeErrorTestSuites: 0 },
    '10 passed, 2 failed\n',
  ],
  [
    'a file did not load',
    { numPassedTests: 3, numFailedTests: 0, numRuntimeErrorTestSuites: 1 },
    '3 passed, 1 failed\n',
  ],
])('prints one line when %s', (_what, results, line) => {
  expect(print(results)).toBe(line);
});
