import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { types } from 'node:util';
import { CountersignError } from '../contract/errors';

/** What Node says of a package that is not there, and what Yarn says where it keeps packages without a folder. */
const MISSING = [
  /^Cannot find (?:module|package) '([^'./][^']*)'/,
  / tried to access (\S+?),? (?:\(a peer dependency\) )?but it isn't/,
];

/** The name of the package for whose lack an error was thrown. Undefined for any other error, and for a file of our own. */
export function missingPackage(error: unknown): string | undefined {
  if (!types.isNativeError(error) || !('code' in error)) return undefined;
  if (!/^(ERR_)?MODULE_NOT_FOUND$/.test(String(error.code))) return undefined;
  return MISSING.map((form) => form.exec(error.message)?.[1]).find((name) => name !== undefined);
}

interface Manifest {
  peerDependencies: Record<string, string>;
  peerDependenciesMeta: Record<string, object>;
}

/**
 * What to do about a missing package. What the application itself has to name is named as a whole: not every package
 * manager installs it, and one of a kind alone would be of another version than the rest.
 */
function installHint(name: string): string {
  const manifest: Manifest = JSON.parse(readFileSync(join(__dirname, '../../package.json'), 'utf8'));
  const { peerDependencies: peers, peerDependenciesMeta: meta } = manifest;
  if (!(name in peers)) return 'Run `npm install` again, without leaving anything out.';
  const wanted = name in meta ? [name] : Object.keys(peers).filter((peer) => !(peer in meta));
  const list = wanted.map((peer) => `${peer}@${peers[peer]}`).join(' ');
  return `Install it beside countersign: \`npm install ${list}\`, or with \`pnpm add\` or \`yarn add\`.`;
}

/** The error for a package that is not there, with what to do about it. */
export function notInstalled(name: string, cause: unknown): CountersignError {
  return new CountersignError('not_installed', `${name} is not installed`, {
    hint: installHint(name),
    data: { name },
    cause,
  });
}

/** @throws CountersignError `not_installed` if a package is not there that only some applications need. */
export function requirePackage(name: string): void {
  try {
    require.resolve(name);
  } catch (error) {
    throw notInstalled(name, error);
  }
}
