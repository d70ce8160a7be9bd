const common = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  setupFiles: ['<rootDir>/test/support/properties.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
  },
};

/** Tests that need a Temporal server: they share one, which global-setup starts only when one of them runs. */
const onServer = ['<rootDir>/test/e2e/**/*.test.ts', '<rootDir>/test/**/*.server.test.ts'];

module.exports = {
  maxWorkers: 2,
  testTimeout: 60_000,
  reporters: ['default', '<rootDir>/scripts/summary-reporter.cjs'],
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: [
        '/node_modules/',
        '<rootDir>/test/e2e/',
        '<rootDir>/test/cluster/',
        '\\.server\\.test\\.ts$',
      ],
    },
    {
      ...common,
      displayName: 'server',
      testMatch: onServer,
      globalSetup: '<rootDir>/test/support/global-setup.ts',
      globalTeardown: '<rootDir>/test/support/global-teardown.ts',
    },
  ],
};
