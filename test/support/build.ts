import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** The checkout. */
export const root = join(__dirname, '..', '..');

/** A path in lib/. */
export const lib = (...parts: string[]): string => join(root, 'lib', ...parts);

/** Builds lib/ if it is older than src/; two test files may call it at once. */
export const ensureBuilt = (): void => {
  execFileSync(process.execPath, [join(root, 'scripts', 'bootstrap.mjs'), 'prepare'], { stdio: 'inherit' });
};
