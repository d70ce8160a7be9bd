import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** The checkout. */
export const root = join(__dirname, '..', '..');

/** A path in lib/. */
export const lib = (...parts: string[]): string => join(root, 'lib', ...parts);

/** Builds lib/ if it is older than src/, unless the set-up of this run has; two test files may call it at once. */
export const ensureBuilt = (): void => {
  if (process.env['COUNTERSIGN_TEST_BUNDLE'] !== undefined) return;
  execFileSync(process.execPath, [join(root, 'scripts', 'bootstrap.mjs'), 'prepare'], { stdio: 'inherit' });
};
