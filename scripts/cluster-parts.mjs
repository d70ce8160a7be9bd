/** What a cluster is made of: programs of the system, and the server built from its published source. */
import { existsSync, readdirSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { at, say } from './root.mjs';

const require = createRequire(import.meta.url);
/** The engine's own tools: only to be called once lib/ is built. */
const engine = (name) => require(at('lib', 'engine', `${name}.js`));

export const SERVER_VERSION = '1.32.0';

const SERVER = { package: 'server', program: 'temporal-server' };
const SQL_TOOL = { package: 'tools/sql', program: 'temporal-sql-tool' };

/** The directory of PostgreSQL's programs; throws what to install when there is none. */
export const findPostgres = () => {
  const found = candidates().find((directory) =>
    ['initdb', 'postgres'].every((name) => existsSync(join(directory, name))),
  );
  if (found !== undefined) return found;
  throw new Error(
    'PostgreSQL is missing: initdb and postgres are neither on PATH nor in COUNTERSIGN_POSTGRES_BIN.\n' +
      'Install it (Debian, Ubuntu: `apt-get install postgresql`; macOS: `brew install postgresql@16`) and run this again.',
  );
};

const candidates = () => [
  ...[process.env.COUNTERSIGN_POSTGRES_BIN ?? ''].filter(Boolean),
  ...(process.env.PATH ?? '').split(delimiter).filter(Boolean),
  ...versions('/usr/lib/postgresql').map((version) => join('/usr/lib/postgresql', version, 'bin')),
  ...['/opt/homebrew/opt', '/usr/local/opt'].flatMap((base) =>
    versions(base)
      .filter((name) => name.startsWith('postgresql'))
      .map((name) => join(base, name, 'bin')),
  ),
];

/** Newest first. */
const versions = (directory) =>
  existsSync(directory)
    ? readdirSync(directory).sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    : [];

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
    await goBuild(staging);
    for (const { package: path, program } of [SERVER, SQL_TOOL]) {
      const built = join(staging, 'bin', path.split('/').at(-1));
      await chmod(built, 0o755);
      await rename(built, join(directory, program));
    }
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
};

/**
 * Libraries that are the server's own whatever the command line has: Temporal's, the ones that requests and data go through, and
 * those of which the server needs more.
 */
const ITS_OWN =
  /^(go\.temporal\.io|github\.com\/temporalio|github\.com\/aws|google\.golang\.org\/grpc|github\.com\/jackc\/pgx|github\.com\/lib\/pq)\b/;

/** Lines of `go`, each a module and its version. */
const versionsIn = ({ lines }) =>
  new Map(lines.map((line) => line.split(' ')).filter(([path, version]) => path !== 'go:' && version));

/** The go.mod that builds the server: each library it shares with the command line is the one that Go has compiled for that. */
export const serverModule = (ofServer, ofCli) => {
  const { GO_OLDEST } = engine('install-binary');
  const shared = [...ofCli].filter(
    ([path, version]) => ofServer.has(path) && ofServer.get(path) !== version && !ITS_OWN.test(path),
  );
  return [
    'module countersign/server',
    `go ${GO_OLDEST}`,
    `require go.temporal.io/server v${SERVER_VERSION}`,
    ...shared.map(([path, version]) => `replace ${path} => ${path} ${version}`),
  ].join('\n');
};

const goBuild = async (staging) => {
  const startedAt = Date.now();
  const counts = { modules: 0, packages: 0 };
  const onLine = (line) => {
    if (line.startsWith('go: downloading')) counts.modules++;
    else if (/^\S+$/.test(line)) counts.packages++;
  };
  const ticker = engine('run').every(10_000, () =>
    say(
      `building the server: ${counts.modules} modules fetched, ${counts.packages} packages compiled, ${Math.round((Date.now() - startedAt) / 1000)} s`,
    ),
  );
  const env = { ...process.env, CGO_ENABLED: '0' };
  const go = (folder, ...args) => runGo(args, { cwd: join(staging, folder), env, onLine });
  const { goModule } = engine('download-or-build');
  const listed = ['list', '-mod=mod'];
  try {
    for (const [folder, text] of [
      ['cli', goModule()],
      ['server', serverModule(new Map(), new Map())],
    ]) {
      await mkdir(join(staging, folder));
      await writeFile(join(staging, folder, 'go.mod'), text);
    }
    const linked = '{{with .Module}}{{.Path}} {{.Version}}{{end}}';
    const ofCli = versionsIn(await go('cli', ...listed, '-deps', '-f', linked, 'tool'));
    const ofServer = versionsIn(await go('server', ...listed, '-m', '-f', '{{.Path}} {{.Version}}', 'all'));
    await writeFile(join(staging, 'server', 'go.mod'), serverModule(ofServer, ofCli));
    const packages = [SERVER, SQL_TOOL].map(({ package: path }) => `go.temporal.io/server/cmd/${path}`);
    const flags = ['-v', '-mod=mod', '-trimpath', '-o', `${join(staging, 'bin')}/`, '-ldflags', '-s -w'];
    await go('server', 'build', ...flags, ...packages);
  } finally {
    ticker.stop();
  }
};

const runGo = async (args, options) => {
  try {
    const result = await engine('run').run('go', args, options);
    if (result.code !== 0)
      throw new Error(`the Temporal server cannot be built:\n${result.lines.slice(-8).join('\n')}`);
    return result;
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
