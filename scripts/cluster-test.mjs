/**
 * `npm run test:cluster`: the compose file's cluster without containers, and the engine's tests on it.
 * Needs PostgreSQL and Go on this machine; says so where one is missing. `--keep` leaves the cluster up until Ctrl-C;
 * `--programs` only gets what it runs: the command line, and the server.
 */
import { mkdtempSync, chmodSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildServer, findPostgres } from './cluster-parts.mjs';
import { startPostgres } from './cluster-postgres.mjs';
import { startTemporal } from './cluster-server.mjs';
import { at, say } from './root.mjs';
import { runShown } from './run.mjs';

const require = createRequire(import.meta.url);

const main = async (args) => {
  if (args.includes('--programs')) return programs();
  const keep = args.includes('--keep');
  const directory = mkdtempSync(join(tmpdir(), 'countersign-cluster-'));
  // PostgreSQL runs as another user where we are root, and has to reach its own directory in it.
  chmodSync(directory, 0o711);
  const running = [];
  const asked = stopSignal();
  try {
    const cluster = await Promise.race([start(directory, (part) => running.push(part)), asked.rejects]);
    if (!keep) return await test(cluster, args);
    say(`the cluster listens at ${cluster.address}, its logs are in ${directory}; Ctrl-C ends it`);
    return await asked.resolves;
  } finally {
    for (const part of running.reverse()) await part.stop();
    rmSync(directory, { recursive: true, force: true });
  }
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

const start = async (directory, started) => {
  const postgresBin = findPostgres();
  const cli = await findCli();
  const bin = await buildServer();
  const [port] = await require(at('lib', 'engine', 'server-args.js')).freePorts(1);
  say('starting PostgreSQL');
  const postgres = await startPostgres({ bin: postgresBin, directory, port, started });
  say('starting the Temporal server');
  const temporal = await startTemporal({ bin, cli, directory, postgres, started });
  say(`the cluster listens at ${temporal.address}`);
  return { ...temporal, bin, cli };
};

/** Settings of the caller for another server are left out: they would be a route of their own. */
const findCli = async () => {
  const env = Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  const nowhere = { TEMPORAL_CONFIG_FILE: join(tmpdir(), 'countersign-no-such', 'temporal.toml') };
  const { resolveEngine } = require(at('lib', 'engine', 'resolve.js'));
  const engine = await resolveEngine({ ...Object.fromEntries(env), ...nowhere }, { progress: say });
  return engine.binary;
};

const test = ({ address, bin, cli }, args) => {
  const jest = at('node_modules', 'jest', 'bin', 'jest.js');
  const config = ['--config', at('test', 'cluster', 'jest.config.js')];
  return runShown(process.execPath, [jest, ...config, ...args], {
    ...process.env,
    COUNTERSIGN_TEST_ADDRESS: address,
    COUNTERSIGN_TEST_SERVER_BIN: bin,
    COUNTERSIGN_TEMPORAL_CLI: cli,
  });
};

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    say(error.message);
    process.stdout.write('0 passed, 1 failed\n');
    process.exitCode = 1;
  },
);
