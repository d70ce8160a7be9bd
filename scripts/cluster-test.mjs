/**
 * `npm run test:cluster`: the compose file's cluster without containers, and the engine's tests on it.
 * Needs PostgreSQL and Go on this machine; says so where one is missing. `--keep` leaves the cluster up until Ctrl-C;
 * `--programs` only gets what it runs: the command line, and the server; `--cli` only the command line.
 */
import { buildServer } from './cluster-parts.mjs';
import { findCli, withCluster } from './cluster.mjs';
import { at, exitWith, say } from './root.mjs';
import { conclude, runJest } from './test-run.mjs';

const main = async (args) => {
  if (args.includes('--cli')) return findCli().then(() => 0);
  if (args.includes('--programs')) return programs();
  const asked = stopSignal();
  return withCluster(asked.rejects, async (cluster) => {
    if (!args.includes('--keep')) return test(cluster, args);
    say(`the cluster listens at ${cluster.address}, its logs are in ${cluster.directory}; Ctrl-C ends it`);
    return asked.resolves;
  });
};

/** Ctrl-C and SIGTERM end what was started, whenever they come. */
const stopSignal = () => {
  const signals = ['SIGINT', 'SIGTERM'].map(
    (name) => new Promise((resolve) => process.once(name, () => resolve(name))),
  );
  const first = Promise.race(signals);
  const rejects = first.then((name) => Promise.reject(new Error(`ended by ${name}`)));
  rejects.catch(() => undefined);
  return { rejects, resolves: first.then(() => 0) };
};

const programs = async () => {
  await findCli();
  await buildServer();
  return 0;
};

const test = async ({ address, bin, cli }, args) => {
  const config = ['--config', at('test', 'cluster', 'jest.config.js')];
  const env = {
    ...process.env,
    COUNTERSIGN_TEST_ADDRESS: address,
    COUNTERSIGN_TEST_SERVER_BIN: bin,
    COUNTERSIGN_TEMPORAL_CLI: cli,
  };
  return conclude([await runJest({ title: 'cluster', args: [...config, ...args], env })]);
};

void exitWith(main(process.argv.slice(2)), '0 passed, 1 failed\n');
