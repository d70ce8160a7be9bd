/** What a cluster is made of: programs of the system, and the server built from its published source. */
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { postgresFolder } from './parts.cjs';
import { at, say } from './root.mjs';

const require = createRequire(import.meta.url);
/** The engine's own tools: only to be called once lib/ is built. */
const engine = (name) => require(at('lib', 'engine', `${name}.js`));

export const SERVER_VERSION = '1.32.0';

const SERVER = { package: 'server', program: 'temporal-server' };
const SQL_TOOL = { package: 'tools/sql', program: 'temporal-sql-tool' };

/** The directory of PostgreSQL's programs; throws what to install when there is none. */
export const findPostgres = () => {
  const found = postgresFolder(process.env);
  if (found !== undefined) return found;
  throw new Error(
    'PostgreSQL is missing: initdb and postgres are neither on PATH nor in COUNTERSIGN_POSTGRES_BIN.\n' +
      'Install it (Debian, Ubuntu: `apt-get install postgresql`; macOS: `brew install postgresql@16`) and run this again.',
  );
};

/** The directory of `temporal-server` and `temporal-sql-tool`: from the cache, or built into it once. */
export const buildServer = async () => {
  const { cacheDirectory } = engine('install-binary');
  const directory = join(dirname(cacheDirectory(process.env)), `temporal-server-${SERVER_VERSION}`);
  await mkdir(directory, { recursive: true });
  const waiting = { progress: say, what: 'The Temporal server is being built' };
  await require(at('lib', 'system', 'lock.js')).withLock(join(directory, '.lock'), waiting, async () => {
    if (![SERVER, SQL_TOOL].every(({ program }) => existsSync(join(directory, program))))
      await build(directory);
  });
  return directory;
};

/** Built beside its place and renamed: a build that was cut short leaves nothing that looks complete. */
const build = async (directory) => {
  say(`building the Temporal server ${SERVER_VERSION} with Go, once: 1 to 3 minutes on a small machine`);
  const staging = await mkdtemp(join(directory, '.staging-'));
  try {
    await goInstall(staging);
    for (const { package: path, program } of [SERVER, SQL_TOOL]) {
      const built = join(staging, path.split('/').at(-1));
      await chmod(built, 0o755);
      await rename(built, join(directory, program));
    }
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
};

const goInstall = async (bin) => {
  const packages = [SERVER, SQL_TOOL].map(
    ({ package: path }) => `go.temporal.io/server/cmd/${path}@v${SERVER_VERSION}`,
  );
  const { code, lines } = await runGo(['-ldflags', '-s -w', ...packages], {
    env: { ...process.env, GOBIN: bin },
    progress: say,
  });
  if (code !== 0) throw new Error(`the Temporal server cannot be built:\n${lines.slice(-8).join('\n')}`);
};

/** With the flags of the command line: what the two have in common is compiled once. */
const runGo = async (args, options) => {
  try {
    return await engine('download-or-build').runGo('install', args, options);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    throw new Error(
      'Go is missing, which builds the Temporal server (https://go.dev/dl). Install it and run this again.',
      {
        cause: error,
      },
    );
  }
};
