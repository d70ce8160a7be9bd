import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { z } from 'zod';
import { CountersignError } from '../contract/errors';

/** Where this package is. */
export const ROOT = join(__dirname, '..', '..');

const manifestSchema = z.object({
  name: z.string(),
  version: z.string(),
  dependencies: z.record(z.string(), z.string()),
  peerDependencies: z.record(z.string(), z.string()),
  exports: z.record(z.string(), z.union([z.string(), z.object({ default: z.string() })])),
});

/** Packages that a config file may import although nothing is installed beside it. */
const LENT = ['zod'];

/** Name, version and entries of this package. */
export function manifest(): z.infer<typeof manifestSchema> {
  return manifestSchema.parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));
}

/**
 * What `import … from 'countersign'` means in a config file: this very package, whatever is installed beside the file.
 * Each entry is loaded when it is first asked for. zod is lent where the file has none of its own.
 */
export function ownModules(file: string): Record<string, unknown> {
  // Not named `exports`: in the compiled file that is where ROOT lives.
  const { name, exports: entries } = manifest();
  const modules: Record<string, unknown> = {};
  for (const [entry, target] of Object.entries(entries)) {
    const path = join(ROOT, typeof target === 'string' ? target : target.default);
    lend(modules, name + entry.slice(1), path);
  }
  for (const lent of LENT) if (!resolvesFrom(file, lent)) lend(modules, lent, require.resolve(lent));
  return modules;
}

function lend(modules: Record<string, unknown>, name: string, path: string): void {
  Object.defineProperty(modules, name, { enumerable: true, get: (): unknown => load(name, path) });
}

function load(name: string, path: string): unknown {
  if (!existsSync(path)) {
    throw new CountersignError('config_invalid', `${name} is not an entry of this version`, {
      hint: 'In a clone, run `npm run build` first.',
    });
  }
  return require(path);
}

function resolvesFrom(file: string, name: string): boolean {
  try {
    createRequire(file).resolve(name);
    return true;
  } catch {
    return false;
  }
}
