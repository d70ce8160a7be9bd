import { Connection } from '@temporalio/client';
import { makeRetries } from '../../src/client/retries';
import { startServer } from '../../src/engine/server';
import type { RunningServer, StartOptions } from '../../src/engine/server-launch';

const setting = (name: string): string => {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: only the core and deep tests have it`);
  return value;
};

/** Where the server of this test run listens; its namespace is `default`, our search attributes are registered. */
export const testAddress = (): string => setting('COUNTERSIGN_TEST_ADDRESS');

/** The prebuilt workflow bundle; give it to a worker as `workflowBundle: { codePath: testBundle() }`. */
export const testBundle = (): string => setting('COUNTERSIGN_TEST_BUNDLE');

/** Temporal's command line, for tests that use it as an operator would. */
export const testCli = (): string => setting('COUNTERSIGN_TEMPORAL_CLI');

/** A server for one test that kills or restarts it; headless unless asked otherwise. Stop it when done. */
export const startOwnServer = async (options: Omit<StartOptions, 'binary'> = {}): Promise<RunningServer> =>
  startServer({ binary: testCli(), headless: true, ...options });

/** A connection that a test may close while a call is tried again: with the SDK's own retries that ends the next test file. */
export const testConnection = (address = testAddress()): Promise<Connection> =>
  Connection.connect({ address, interceptors: [makeRetries(() => true)] });
