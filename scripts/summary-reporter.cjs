/** Prints `N passed, N failed` as the last line of a test run; a test file that could not be loaded counts as failed. */
module.exports = class SummaryReporter {
  onRunComplete(_contexts, results) {
    const failed = results.numFailedTests + results.numRuntimeErrorTestSuites;
    // Jest's own summary always comes after every other reporter, so this waits for the end of the process.
    process.once('exit', () => process.stdout.write(`${results.numPassedTests} passed, ${failed} failed\n`));
  }
};
