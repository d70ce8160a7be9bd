/**
 * What `npm run demo`, `npm run example`, `npm test`, `npm run check` and `npm run bench` start: installs and builds what is missing, then runs the rest.
 * Plain Node without dependencies, because on a fresh clone there are none.
 */
import { check } from './check.mjs';
import { checkNode, install, isInstallStale } from './install.mjs';
import { withLock } from './lock.mjs';
import { at, exitWith } from './root.mjs';
import { runShown } from './run.mjs';
import { adaptToMachine } from './surroundings.mjs';

const prepare = async (name) => {
  checkNode();
  if (isInstallStale()) await withLock(install);
  else await install();
  // It builds with every check.
  if (name === 'prepack') return;
  // Only now: it needs nothing installed to load, but what it does needs everything.
  const { build, isBuildStale } = await import('./build.mjs');
  if (isBuildStale()) await withLock(async () => (isBuildStale() ? build({ check: false }) : undefined));
};

const node = (...args) => runShown(process.execPath, args);

/** Loaded late: what it loads may not be installed yet. */
const tests = async (levels, args) => {
  const { runTests } = await import('./tests.mjs');
  return runTests(levels, args);
};

const jiti = (...args) => node(at('node_modules', 'jiti', 'lib', 'jiti-cli.mjs'), ...args);

const commands = {
  prepare: async () => 0,
  prepack: () => node(at('scripts', 'build.mjs')),
  demo: (args) => node(at('lib', 'cli', 'demo', 'main.js'), ...args),
  example: (args) => node(at('scripts', 'example.mjs'), ...args),
  test: (args) => tests(['unit', 'core'], args),
  'test:unit': (args) => tests(['unit'], args),
  'test:all': (args) => tests(['unit', 'core', 'deep', 'house'], args),
  'test:house': (args) => tests(['house'], args),
  check,
  mass: (args) => node(at('scripts', 'mass.mjs'), ...args),
  'test:mutants': (args) => node(at('scripts', 'mutants.mjs'), ...args),
  'test:nodes': (args) => node(at('scripts', 'nodes-test.mjs'), ...args),
  'test:cluster': (args) => node(at('scripts', 'cluster-test.mjs'), ...args),
  bench: (args) => jiti(at('bench', 'main.ts'), ...args),
  'bench:scale': (args) => jiti(at('bench', 'scale', 'main.ts'), ...args),
  'bench:chaos': (args) => jiti(at('bench', 'chaos', 'main.ts'), ...args),
};

const main = async ([name, ...args]) => {
  const command = Object.hasOwn(commands, name ?? '') ? commands[name] : undefined;
  if (command === undefined) throw new Error(`usage: bootstrap.mjs ${Object.keys(commands).join('|')}`);
  adaptToMachine();
  await prepare(name);
  return command(args);
};

void exitWith(main(process.argv.slice(2)));
