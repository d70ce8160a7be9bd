const { relative } = require('node:path');
const { default: Sequencer } = require('@jest/test-sequencer');
const { seconds: known } = require('../test/budget.json');

/** Those that failed last time first, then the longest, by the last run or else by what is on record, as each stage ends with its last file: short ones fill the processes to the end. */
module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    // Jest's own order sets what it knows of durations.
    const order = super.sort(tests);
    const failed = new Set(order.filter((test) => this.hasFailed(test)));
    const seconds = ({ path, duration, context }) =>
      duration === undefined ? (known[relative(context.config.rootDir, path)] ?? 0) : duration / 1000;
    return order.sort((a, b) => Number(failed.has(b)) - Number(failed.has(a)) || seconds(b) - seconds(a));
  }
};
