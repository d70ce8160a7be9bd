/**
 * Tests on the cluster that scripts/cluster-test.mjs starts: its own, and those of the engine's that a real cluster could
 * fail where a dev server does not.
 */
const projects = require('../../jest.config').projects;
const { ALONE, TOO } = require('./files.json');

const onServer = projects.find(({ displayName }) => displayName === 'core');

module.exports = {
  ...onServer,
  rootDir: '../..',
  displayName: 'cluster',
  testMatch: [
    '<rootDir>/test/cluster/**/*.cluster.test.ts',
    ...[...ALONE, ...TOO].map((name) => `<rootDir>/test/e2e/${name}.test.ts`),
  ],
  maxWorkers: 2,
  testTimeout: 120_000,
  testSequencer: '<rootDir>/scripts/test-sequencer.cjs',
};
