import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { at, root } from './root.mjs';

/** Everything lib/ is made from. */
const inputs = () => [
  ...filesOf(at('src')),
  at('tsconfig.json'),
  at('package-lock.json'),
  at('scripts', 'build.mjs'),
  at('scripts', 'build-web.mjs'),
];

/** A digest of names and contents of everything lib/ is made from. */
export const hashSources = () => {
  const hash = createHash('sha256');
  for (const file of inputs())
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update('\0');
  return hash.digest('hex');
};

const filesOf = (directory) =>
  readdirSync(directory, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(directory, entry.name);
      return entry.isDirectory() ? filesOf(path) : [path];
    });
