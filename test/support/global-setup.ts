import { unpackChromium } from '../../scripts/browser.cjs';
import { resolveEngine } from '../../src/engine/resolve';
import { startServer } from '../../src/engine/server';
import type { RunningServer } from '../../src/engine/server-launch';
import { ensureBuilt, lib } from './build';

declare global {
  /** What global-teardown has to stop: Jest may load the two from module registries of their own. */
  var countersignTestServer: RunningServer | undefined;
}

const progress = (line: string): void => void process.stderr.write(`countersign: ${line}\n`);

/** One server in memory for the whole run, unless `COUNTERSIGN_TEST_ADDRESS` names one. Settings of Temporal's own are left out. */
const setup = async (): Promise<void> => {
  ensureBuilt();
  unpackChromium();
  process.env['COUNTERSIGN_TEST_BUNDLE'] = lib('workflow-bundle.js');
  await findBinary();
  if (process.env['COUNTERSIGN_TEST_ADDRESS'] !== undefined) return;
  const binary = process.env['COUNTERSIGN_TEMPORAL_CLI'] ?? '';
  const server = await startServer({ binary, headless: true, progress });
  globalThis.countersignTestServer = server;
  process.env['COUNTERSIGN_TEST_ADDRESS'] = server.address;
};

/** Tests that start servers of their own find the binary by the same setting as a user's. */
const findBinary = async (): Promise<void> => {
  for (const name of Object.keys(process.env).filter((key) => key.startsWith('TEMPORAL_')))
    delete process.env[name];
  const engine = await resolveEngine(
    { ...process.env, TEMPORAL_CONFIG_FILE: '/nowhere/temporal.toml' },
    { progress },
  );
  if (engine.kind === 'binary') process.env['COUNTERSIGN_TEMPORAL_CLI'] = engine.binary;
};

export default setup;
