/** The cluster that the tests and the bench of sizes run on: PostgreSQL, and the compose file's server with its four shards. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildServer, findPostgres } from './cluster-parts.mjs';
import { startPostgres } from './cluster-postgres.mjs';
import { startTemporal } from './cluster-server.mjs';
import { at, say } from './root.mjs';

const require = createRequire(import.meta.url);

/** Starts a cluster in a directory of its own and hands it to `use`; whatever happens, nothing of it is left. `ended` rejects when somebody asks to end. */
export const withCluster = async (ended, use) => {
  const directory = mkdtempSync(join(tmpdir(), 'countersign-cluster-'));
  // PostgreSQL runs as another user where we are root, and has to reach its own directory in it.
  chmodSync(directory, 0o711);
  const running = [];
  try {
    return await use(await Promise.race([start(directory, (part) => running.push(part)), ended]));
  } finally {
    for (const part of running.reverse()) await part.stop();
    rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
  }
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
  return { ...temporal, directory, postgres, bin, cli };
};

/** Settings of the caller for another server are left out: they would be a route of their own. */
export const findCli = async () => {
  const env = Object.entries(process.env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  const nowhere = { TEMPORAL_CONFIG_FILE: join(tmpdir(), 'countersign-no-such', 'temporal.toml') };
  const { resolveEngine } = require(at('lib', 'engine', 'resolve.js'));
  const engine = await resolveEngine({ ...Object.fromEntries(env), ...nowhere }, { progress: say });
  return engine.binary;
};
