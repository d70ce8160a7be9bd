import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import { CountersignError } from '../contract/errors';

/**
 * Packages of Temporal's SDK that have classes and state. A copy in one folder does not recognize objects of a copy in
 * another folder.
 */
const PACKAGES = ['activity', 'client', 'common', 'proto', 'worker', 'workflow'].map(
  (name) => `@temporalio/${name}`,
);

/** The oldest version that has everything we use, and the first later version that nobody tried. */
const [LEAST, LIMIT] = ['1.24.0', '1.25.0'];

/** One package of the SDK in one folder. */
interface SdkCopy {
  name: string;
  version: string;
  folder: string;
}

/** The version of the SDK that this package uses. */
export function sdkVersion(): string {
  return copyAt(__dirname, '@temporalio/worker')?.version ?? '0.0.0';
}

/**
 * Every copy that is found from these folders and from the folder of the SDK itself. Folders without the SDK are
 * skipped.
 */
export function sdkCopies(folders: readonly string[]): SdkCopy[] {
  const [worker] = folders.flatMap((folder) => copyAt(folder, '@temporalio/worker') ?? []);
  const places = worker === undefined ? folders : [...folders, worker.folder];
  const copies = places.flatMap((place) => PACKAGES.flatMap((name) => copyAt(place, name) ?? []));
  return [...new Map(copies.map((copy) => [copy.folder, copy])).values()];
}

/**
 * The packages below a folder to which npm, pnpm or Yarn gave packages of the SDK of their own. The folder itself is one
 * if it has any.
 */
export function ownersOfSdk(folder: string): string[] {
  const modules = join(folder, 'node_modules');
  const below = packagesIn(modules).flatMap(ownersOfSdk);
  return existsSync(join(modules, '@temporalio')) ? [folder, ...below] : below;
}

function packagesIn(modules: string) {
  return foldersIn(modules).flatMap((one) => (/^(@.*|\.pnpm)$/.test(basename(one)) ? foldersIn(one) : one));
}

/** The folders in a folder. A link is not followed: what it leads to is found in its own place. */
function foldersIn(folder: string) {
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

function copyAt(place: string, name: string): SdkCopy | undefined {
  const file = manifestOf(place, name);
  if (file === undefined) return undefined;
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8')));
  return { name, version, folder: dirname(file) };
}

function manifestOf(place: string, name: string) {
  try {
    return realpathSync(createRequire(join(place, 'index.js')).resolve(`${name}/package.json`));
  } catch {
    return undefined;
  }
}

/**
 * The problem with these copies: two copies of one package, packages of two versions, or a version that we do not
 * support.
 */
export function sdkProblem(copies: readonly SdkCopy[]): string | undefined {
  const versions = [...new Set(copies.map(({ version }) => version))];
  const names = new Set(copies.map(({ name }) => name));
  if (versions.length > 1 || names.size < copies.length)
    return [
      "there is more than one copy of Temporal's SDK:",
      ...copies.map(({ name, version, folder }) => `  ${name} ${version} in ${folder}`),
    ].join('\n');
  const unknown = versions.find((version) => isOlder(version, LEAST) || !isOlder(version, LIMIT));
  if (unknown === undefined) return undefined;
  return `Temporal's SDK is ${unknown}; Countersign works with ${LEAST} and later, before ${LIMIT}`;
}

/** Whether a version is older than another. Compares the numbers, and `1.24.0-rc.1` counts as `1.24.0`. */
function isOlder(version: string, than: string) {
  return version.localeCompare(than, 'en', { numeric: true }) < 0 && !version.startsWith(`${than}-`);
}

/** The advice to a user who has more than one copy. */
export const SDK_HINT =
  'Install one version of all @temporalio packages: `npm ls @temporalio/common` shows who asks for which, and `overrides` in package.json can make them one.';

/**
 * Checks that the application and this package share one copy of the SDK. Otherwise, objects of one copy fail again and
 * again in the other, with errors that do not say why.
 *
 * @throws CountersignError `not_installed`, which names the copies.
 */
export function requireOneSdk(): void {
  const [, script] = process.argv;
  const application = script === undefined ? [] : [dirname(script)];
  const problem = sdkProblem(sdkCopies([__dirname, ...application]));
  if (problem !== undefined) throw new CountersignError('not_installed', problem, SDK_HINT);
}
