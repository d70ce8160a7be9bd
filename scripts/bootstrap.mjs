/**
 * What `npm run demo`, `npm run example`, `npm test`, `npm run check` and `npm run bench` start: installs and builds what is missing, then runs the rest.
 * Plain Node without dependencies, because on a fresh clone there are none.
 */
import { availableParallelism } from 'node:os';
import { check } from './check.mjs';
import { checkNode, install, isInstallStale } from './install.mjs';
import { withLock } from './lock.mjs';
import { at, say } from './root.mjs';
import { runShown } from './run.mjs';

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

const jest = (...args) => node(at('node_modules', 'jest', 'bin', 'jest.js'), ...args);

const isCounted = (args) => args.some((arg) => /^(-w|-i|--maxWorkers|--runInBand)\b/.test(arg));

/** Unit tests wait for nothing, the others for a server or a program: so many processes fill the cores. */
const WORKERS = { unit: Math.ceil(1.5 * availableParallelism()), core: 2 * availableParallelism() };

const project = (names, workers, args) =>
  jest(
    ...(isNamed(args) ? [] : ['--selectProjects', ...names]),
    ...(isCounted(args) ? [] : [`--maxWorkers=${workers}`]),
    ...args,
  );

/** Whoever names files means those, of whatever project. */
const isNamed = (args) => args.some((arg) => !arg.startsWith('-') || arg === '--selectProjects');

const jiti = (...args) => node(at('node_modules', 'jiti', 'lib', 'jiti-cli.mjs'), ...args);

const commands = {
  prepare: async () => 0,
  prepack: () => node(at('scripts', 'build.mjs')),
  demo: (args) => node(at('lib', 'cli', 'demo', 'main.js'), ...args),
  example: (args) => node(at('scripts', 'example.mjs'), ...args),
  test: (args) => jest(...args),
  'test:unit': (args) =>
    jest('--selectProjects', 'unit', ...(isCounted(args) ? [] : [`--maxWorkers=${unitWorkers}`]), ...args),
  check,
  mass: (args) => node(at('scripts', 'mass.mjs'), ...args),
  'test:mutants': (args) => node(at('scripts', 'mutants.mjs'), ...args),
  'test:nodes': (args) => node(at('scripts', 'nodes-test.mjs'), ...args),
  'test:cluster': (args) => node(at('scripts', 'cluster-test.mjs'), ...args),
  bench: (args) => jiti(at('bench', 'main.ts'), ...args),
  'bench:scale': (args) => jiti(at('bench', 'scale', 'main.ts'), ...args),
};

const main = async ([name, ...args]) => {
  const command = Object.hasOwn(commands, name ?? '') ? commands[name] : undefined;
  if (command === undefined) throw new Error(`usage: bootstrap.mjs ${Object.keys(commands).join('|')}`);
  await prepare(name);
  return command(args);
};

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    say(error.message);
    process.exitCode = 1;
  },
);
