/** Runs test files on a mutant, or without one, for `scripts/mutants.mjs`. One run follows the other in one process. */
const { dirname, join } = require('node:path');
const { runCLI } = require('jest');
const jestConfig = require('../../jest.config.js');

const root = dirname(dirname(__dirname));
const runtime = join(__dirname, 'runtime.cjs');
const { takeChanged } = require(runtime);

process.env.NODE_ENV ??= 'test';
// A mutant may live through a tenth of a property.
process.env.COUNTERSIGN_THOROUGH = '1';
process.on('disconnect', () => process.exit(1));

const unit = jestConfig.projects.find(({ displayName }) => displayName === 'unit');
const config = JSON.stringify({ ...unit, runtime, rootDir: root, reporters: [], testTimeout: 60_000 });

/** The result of the files: how many tests ran, and the names of those that failed. */
const run = async ({ mutant, tests }) => {
  process.env.COUNTERSIGN_MUTANT = mutant ?? '';
  const chosen = {
    _: tests,
    runTestsByPath: true,
    runInBand: true,
    watchman: false,
    silent: true,
    $0: 'jest',
  };
  const { results } = await runCLI({ ...chosen, config }, [root]);
  const files = results.testResults.map(({ testFilePath, testExecError, failureMessage }) => ({
    file: testFilePath.slice(root.length + 1),
    ...(testExecError && { unloaded: failureMessage ?? testExecError.message }),
  }));
  const failed = results.testResults.flatMap((file) =>
    file.testResults.filter(({ status }) => status === 'failed').map(({ fullName }) => fullName),
  );
  return { count: results.numTotalTests, files, failed, isLoaded: takeChanged() };
};

process.on('message', async (asked) => {
  try {
    process.send(await run(asked));
  } catch (error) {
    process.send({ error: String(error?.stack ?? error) });
  }
});
