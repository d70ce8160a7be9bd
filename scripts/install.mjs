import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { at, say } from './root.mjs';
import { runQuiet } from './run.mjs';

const OLDEST_NODE = [20, 19];

/** Throws when this Node is too old, which would otherwise show as a riddle much later. */
export const checkNode = () => {
  const [major, minor] = process.versions.node.split('.').map(Number);
  const [needMajor, needMinor] = OLDEST_NODE;
  if (major > needMajor || (major === needMajor && minor >= needMinor)) return;
  throw new Error(
    `Node.js ${process.versions.node} is too old; ${OLDEST_NODE.join('.')} or newer is needed (https://nodejs.org)`,
  );
};

/**
 * True when what is installed is not what package-lock.json asks for. npm writes down what it installed, so times of
 * files need not be trusted; optional packages are those of other platforms.
 */
export const isInstallStale = () => {
  if (!existsSync(at('node_modules', '.package-lock.json'))) return true;
  const installed = packagesIn('node_modules', '.package-lock.json');
  const wanted = Object.entries(packagesIn('package-lock.json')).filter(
    ([path, { optional }]) => path && !optional,
  );
  return wanted.some(([path, { version }]) => installed[path]?.version !== version);
};

const packagesIn = (...path) => JSON.parse(readFileSync(at(...path), 'utf8')).packages;

/** Installs what is missing. */
export const install = async () => {
  if (isInstallStale()) await npmCi();
  linkOwnBin();
};

const npmCi = async () => {
  const packages = Object.entries(packagesIn('package-lock.json')).flatMap(([path, { optional }]) =>
    path && !optional ? [path] : [],
  );
  const startedAt = Date.now();
  say(`installing ${packages.length} packages (npm ci); half a minute with a fast line`);
  const tick = () => {
    const there = packages.filter((path) => existsSync(at(path, 'package.json'))).length;
    say(
      `installing: ${there} of ${packages.length} packages, ${Math.round((Date.now() - startedAt) / 1000)} s`,
    );
  };
  const [command, ...first] = npm();
  await runQuiet(command, [...first, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
    tick,
  });
};

/** The npm that runs us, if one does: on PATH there may be none. */
const npm = () => {
  const own = process.env.npm_execpath;
  return own?.endsWith('npm-cli.js') ? [process.execPath, own] : ['npm'];
};

/** npm links the bins of dependencies only; with this link `npx countersign` runs ours at once. */
const linkOwnBin = () => {
  const link = at('node_modules', '.bin', 'countersign');
  if (existsSync(link)) return;
  mkdirSync(at('node_modules', '.bin'), { recursive: true });
  try {
    symlinkSync('../../bin/countersign.js', link);
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
  }
};
