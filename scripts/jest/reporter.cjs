const { appendFileSync } = require('node:fs');
const { relative } = require('node:path');

/** Writes what happens to the file that `test-run.mjs` follows, an event a line. */
module.exports = class EventReporter {
  constructor({ rootDir }) {
    this.rootDir = rootDir;
  }

  emit(event) {
    appendFileSync(process.env.COUNTERSIGN_TEST_EVENTS, `${JSON.stringify(event)}\n`);
  }

  onTestResult({ path, context }, result) {
    const isBroken = result.testExecError !== undefined && result.numFailingTests === 0;
    this.emit({
      kind: 'file',
      path: relative(this.rootDir, path),
      level: context.config.displayName.name,
      passed: result.numPassingTests,
      failed: result.numFailingTests + (isBroken ? 1 : 0),
      skipped: result.numPendingTests + result.numTodoTests,
      ms: result.perfStats.runtime,
      message: result.failureMessage ?? '',
    });
  }

  onRunComplete(_contexts, { wasInterrupted, runExecError }) {
    if (runExecError !== undefined) this.emit({ kind: 'broken', message: String(runExecError.message) });
    if (wasInterrupted !== true) this.emit({ kind: 'end' });
  }
};
