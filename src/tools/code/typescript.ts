import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { CountersignError } from '../../contract/errors';
import { isObject, parseJson } from '../../contract/json';

/**
 * The file of the TypeScript to use. It looks in the worker's folder first, because the author of the worker chose the
 * TypeScript there.
 *
 * @throws CountersignError `not_installed` if there is none, or only a version without the language service that we use.
 */
export function findTypeScript(name = 'typescript'): string {
  for (const folder of [process.cwd(), __dirname]) {
    const file = resolveFrom(folder, name);
    if (file !== undefined) return assertVersion(file, name);
  }
  throw missing(`the package "${name}" is not installed`, name);
}

function resolveFrom(folder: string, name: string): string | undefined {
  try {
    return createRequire(join(folder, 'here.js')).resolve(name);
  } catch {
    // Whatever the reason, the package cannot be loaded.
    return undefined;
  }
}

/** Only versions 5 and 6 have the language service that we use. */
function assertVersion(file: string, name: string): string {
  const about = resolveFrom(dirname(file), '../package.json');
  const manifest = about === undefined ? undefined : parseJson(readFileSync(about, 'utf8'));
  const version = isObject(manifest) ? String(manifest['version']) : 'unknown';
  if (/^[56]\./.test(version)) return file;
  throw missing(`"${name}" is version ${version}, which has no language service for it`, name);
}

function missing(why: string, name: string): CountersignError {
  return new CountersignError('not_installed', `createCodeTools needs TypeScript 5 or 6: ${why}`, {
    hint: 'Run npm install typescript@6, or name another one by the option typescript.',
    data: { name },
  });
}
