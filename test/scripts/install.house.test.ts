import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../support/build';
import { scratchDirectory } from '../support/scratch';

const scratch = scratchDirectory();

/** Evaluates an expression over `install`, the module as it is in a checkout of its own. */
const evaluate = (expression: string): unknown => {
  cpSync(join(root, 'scripts'), join(scratch(), 'scripts'), { recursive: true });
  const module = JSON.stringify(join(scratch(), 'scripts', 'install.mjs'));
  const script = `import(${module}).then((install) => console.log(JSON.stringify(${expression})))`;
  return JSON.parse(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' }));
};

const writePackages = (file: string, packages: Record<string, object>): void => {
  mkdirSync(join(scratch(), 'node_modules'), { recursive: true });
  writeFileSync(join(scratch(), file), JSON.stringify({ packages }));
};

const WANTED = {
  '': { name: 'countersign' },
  'node_modules/a': { version: '1.0.0' },
  'node_modules/b-darwin': { version: '1.0.0', optional: true },
};

it.each<[string, Record<string, object> | undefined, boolean]>([
  ['nothing is installed', undefined, true],
  ['all is installed, but what is for other platforms', { 'node_modules/a': { version: '1.0.0' } }, false],
  ['a package is missing', {}, true],
  ['a package has another version', { 'node_modules/a': { version: '0.9.0' } }, true],
  [
    'there is more than is wanted',
    { 'node_modules/a': { version: '1.0.0' }, 'node_modules/c': { version: '1.0.0' } },
    false,
  ],
])('when %s', (_what, installed, stale) => {
  writePackages('package-lock.json', WANTED);
  if (installed !== undefined) writePackages('node_modules/.package-lock.json', installed);
  expect(evaluate('install.isInstallStale()')).toBe(stale);
});

/** What `checkNode` throws on a Node of this version; null when it is content. */
const complaint = (version: string): unknown =>
  evaluate(
    `(() => { Object.defineProperty(process, 'versions', { value: { node: '${version}' } });` +
      ' try { install.checkNode(); return null; } catch (error) { return error.message; } })()',
  );

it.each(['20.19.0', '20.20.2', '22.0.0', '24.11.1'])('takes Node %s', (version) => {
  expect(complaint(version)).toBeNull();
});

it.each(['20.18.3', '18.20.0', '16.0.0'])('refuses Node %s and says what is needed', (version) => {
  expect(complaint(version)).toBe(
    `Node.js ${version} is too old; 20.19 or newer is needed (https://nodejs.org)`,
  );
});
