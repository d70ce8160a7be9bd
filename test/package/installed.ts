import { execFile } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../support/build';

/** How a command ended. */
export interface Ran {
  code: number;
  out: string;
  err: string;
}

/** How to run it. */
export interface RunOptions {
  cwd: string;
  env?: NodeJS.ProcessEnv;
}

/** Runs a command and waits for its end; whatever its exit code, it is an answer. */
export const run = (command: string, args: readonly string[], { cwd, env = {} }: RunOptions): Promise<Ran> =>
  new Promise((resolve) => {
    execFile(command, args, { cwd, env: { ...process.env, ...env }, timeout: 250_000 }, (error, out, err) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
      const late = error?.killed === true ? 'it took too long and was ended' : '';
      resolve({ code, out, err: err.replace(/^npm (warn|notice).*\n/gim, '') + late });
    });
  });

/** The package as it would be published, installed into an empty directory. */
export interface Installed {
  app: string;
  /** Names of everything in the package. */
  files: string[];
  /** The sum of their sizes. */
  bytes: number;
  node(...args: string[]): Promise<Ran>;
  countersign(...args: string[]): Promise<Ran>;
  /** Adds packages to the application, by their names and versions, and this to its `package.json`. */
  add(packages: readonly string[], manifest: { dependencies: object; overrides: object }): Promise<void>;
}

const QUIET = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error'];
/** npm waits five minutes for an answer of a registry that stands still, longer than the test. */
const AGAIN = ['--fetch-timeout=20000', '--fetch-retries=5'];

/** Packs this checkout as `npm publish` would and installs it; takes as long as npm does. */
export const installPackage = async (): Promise<Installed> => {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'countersign-package-')));
  const packed = await npm(root, 'pack', '--ignore-scripts', '--json', '--pack-destination', directory);
  const [about]: { filename: string; unpackedSize: number; files: { path: string }[] }[] = JSON.parse(packed);
  if (about === undefined) throw new Error('npm packed nothing');
  const manifest = join(directory, 'package.json');
  writeFileSync(manifest, JSON.stringify({ private: true }));
  await npm(directory, 'install', ...QUIET, ...AGAIN, join(directory, about.filename));
  for (const folder of ['package', 'plugins']) {
    const fixtures = join(root, 'test', 'fixtures', folder);
    for (const name of readdirSync(fixtures)) copyFileSync(join(fixtures, name), join(directory, name));
  }
  const node = (...args: string[]): Promise<Ran> => run(process.execPath, args, { cwd: directory });
  return {
    app: directory,
    files: about.files.map(({ path }) => path),
    bytes: about.unpackedSize,
    node,
    countersign: (...args) => node(join('node_modules', 'countersign', 'bin', 'countersign.js'), ...args),
    add: async (packages, { dependencies, overrides }) => {
      const own: { dependencies: object } = JSON.parse(readFileSync(manifest, 'utf8'));
      const all = { ...own.dependencies, ...dependencies };
      writeFileSync(manifest, JSON.stringify({ ...own, dependencies: all, overrides }));
      await npm(directory, 'install', ...QUIET, ...AGAIN, ...packages);
    },
  };
};

const npm = async (cwd: string, ...args: string[]): Promise<string> => {
  const { code, out, err } = await run('npm', args, { cwd });
  if (code !== 0) throw new Error(`npm ${args[0] ?? ''} failed: ${err}`);
  return out;
};
