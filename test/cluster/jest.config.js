/**
 * Tests on the cluster that scripts/cluster-test.mjs starts: its own, and those of the engine's that a real cluster could
 * fail where a dev server does not.
 */
const projects = require('../../jest.config').projects;
const onServer = projects.find(({ displayName }) => displayName === 'core');

const E2E = [
  'turn',
  'doors',
  'visibility',
  'kill',
  'crash-points',
  'in-doubt',
  'reset',
  'continue',
  'limits',
  'client',
];

module.exports = {
  ...onServer,
  rootDir: '../..',
  displayName: 'cluster',
  testMatch: [
    '<rootDir>/test/cluster/**/*.cluster.test.ts',
    `<rootDir>/test/e2e/{${E2E.join(',')}}.{core,deep}.test.ts`,
  ],
  maxWorkers: 2,
  testTimeout: 120_000,
  reporters: ['default', '<rootDir>/scripts/summary-reporter.cjs'],
};
