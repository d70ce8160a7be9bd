import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, delimiter, dirname, join, relative, resolve } from 'node:path';
import { z } from 'zod';
import { CountersignError } from '../contract/errors';
import { parseJson } from '../contract/json';
import { shellWord } from '../contract/text/shell-word';

/** The folder of this package. */
export const ROOT = join(__dirname, '..', '..');

/** What is read of this package's own package.json. */
interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, string | { default: string }>>;
}

/** Packages that a config file may import although nothing is installed beside it. */
const LENT = ['zod'];

/** Name, version and entries of this package. */
export function manifest(): Manifest {
  const own: Manifest = require('../../package.json');
  return own;
}

/**
 * The modules that a config file gets from `import … from 'countersign'`: the modules of this package, whatever is
 * installed beside the file. Each entry is loaded when it is first used. zod is provided if the file has no zod of its
 * own.
 */
export function ownModules(file: string): Record<string, unknown> {
  // Not named `exports`, because in the compiled file `exports` holds ROOT.
  const { name, exports: entries } = manifest();
  const modules: Record<string, unknown> = {};
  for (const [entry, target] of Object.entries(entries)) {
    const path = join(ROOT, typeof target === 'string' ? target : target.default);
    lend(modules, name + entry.slice(1), path);
  }
  for (const lent of LENT) {
    try {
      createRequire(file).resolve(lent);
    } catch {
      lend(modules, lent, require.resolve(lent));
    }
  }
  return modules;
}

function lend(modules: Record<string, unknown>, name: string, path: string) {
  Object.defineProperty(modules, name, { enumerable: true, get: () => load(name, path) });
}

function load(name: string, path: string): unknown {
  if (!existsSync(path)) {
    throw new CountersignError(
      'config_invalid',
      `${name} is not an entry of this version`,
      'In a clone, run `npm run build` first.',
    );
  }
  return require(path);
}

/**
 * The command that starts this program here: its name if a shell finds it, `npx countersign` if npm finds it,
 * otherwise `node` with its file.
 */
export function programName(env: NodeJS.ProcessEnv, cwd = process.cwd()): string {
  const { name } = manifest();
  const own = join(ROOT, 'bin', 'countersign.js');
  const isOwn = (file: string) => realpathOf(file) === realpathOf(own);
  // npm adds folders to the path while it runs a command. They are not there afterwards.
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => !folder.endsWith(BIN));
  if (folders.some((folder) => folder !== '' && isOwn(join(folder, name)))) return name;
  // Yarn may keep packages without a folder of them.
  if (process.versions['pnp'] !== undefined) return `yarn ${name}`;
  const isHere = (folder: string) => realpathOf(folder) === realpathOf(ROOT);
  const isNear = foldersFrom(cwd).some((folder) => isHere(folder) || isHere(join(folder, MODULES, name)));
  // npx keeps a downloaded package in its own folder, and finds it there again.
  if (isNear || ROOT.includes(join('_npx', ''))) return `npx ${name}`;
  const path = relative(cwd, own);
  return `node ${shellWord(path.length < own.length ? path : own)}`;
}

const MODULES = 'node_modules';
const BIN = join(MODULES, '.bin');

/** A folder and all of its parent folders. */
export function foldersFrom(folder: string): string[] {
  const above = dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersFrom(above)];
}

function realpathOf(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    return undefined;
  }
}

/**
 * The source of this package in the form of a dependency: a version of the registry, or the address or path of a
 * tarball. Undefined for a clone.
 */
export function packageSource(root = ROOT): string | undefined {
  const { name, version } = manifest();
  const modules = dirname(root);
  if (basename(modules) !== 'node_modules') return undefined;
  const lockSchema = z.object({
    packages: z.record(z.string(), z.object({ resolved: z.string().optional() })),
  });
  const file = join(modules, '.package-lock.json');
  const lock = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const { resolved = '' } =
    lockSchema.safeParse(parseJson(lock)).data?.packages[`node_modules/${name}`] ?? {};
  if (resolved.startsWith('file:'))
    return `file:${resolve(dirname(modules), resolved.slice('file:'.length))}`;
  const isOfRegistry = resolved === '' || resolved.endsWith(`/${name}/-/${name}-${version}.tgz`);
  return isOfRegistry ? `^${version}` : resolved;
}
