const common = {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  setupFiles: ['<rootDir>/test/support/properties.ts', '<rootDir>/test/support/workflow-globals.ts'],
  // What a command loads late it names as Node does: with the ending of the output.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { target: 'es2023', parser: { syntax: 'typescript' } }, module: { type: 'commonjs' } },
    ],
    '/node_modules/(jose|openid-client|oauth4webapi|@opentelemetry/otlp-exporter-base)/.+\\.js$': [
      '@swc/jest',
      { jsc: { target: 'es2023' }, module: { type: 'commonjs' } },
    ],
  },
  // Some have no CommonJS, and the last imports late: Node itself can do both, Jest cannot.
  transformIgnorePatterns: [
    '/node_modules/(?!jose/|openid-client/|oauth4webapi/|@opentelemetry/otlp-exporter-base/)',
  ],
};

/** Tests whose name ends with a level; see CONTRIBUTING.md. */
const level = (name) => [`<rootDir>/test/**/*.${name}.test.ts`];

const project = (displayName, rest) => ({
  ...common,
  displayName,
  testEnvironment: '<rootDir>/scripts/jest/environment.cjs',
  runtime: '<rootDir>/scripts/jest/runtime.cjs',
  testRunner: '<rootDir>/scripts/jest/runner.cjs',
  ...rest,
});

/** They share a Temporal server, which starts only when one of them runs. */
const onServer = {
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
};

module.exports = {
  // As many as the smallest machine has cores. A third one fills the cores that two leave idle for four tenths of the time,
  // but then files that kill workers wait longer for a core than a server waits for a worker.
  maxWorkers: 2,
  // Of all memory, which ten of them share with what they start. Between two files a process that has grown further is replaced:
  // one of 2 GB took 130 ms to start a program, one of 200 MB takes 10. But a fresh one loads all packages anew.
  workerIdleMemoryLimit: 0.04,
  testSequencer: '<rootDir>/scripts/test-sequencer.cjs',
  // It only ends what hangs: a machine may be three times slower than ours.
  testTimeout: 300_000,
  projects: [
    project('unit', {
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '\\.(core|deep|house|cluster)\\.test\\.ts$'],
    }),
    project('core', { testMatch: level('core'), ...onServer }),
    project('deep', { testMatch: level('deep'), ...onServer }),
    project('house', { testMatch: level('house') }),
  ],
};
