/** What tests need of the system, beside Node and npm: how to find it, and the packages of Debian and Ubuntu that bring it. */
const { accessSync, constants, existsSync, readdirSync } = require('node:fs');
const { delimiter, join } = require('node:path');

const isProgram = (file) => {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
};

const foldersOnPath = (env) => (env.PATH ?? '').split(delimiter).filter(Boolean);

const onPath = (name, env) =>
  foldersOnPath(env)
    .map((folder) => join(folder, name))
    .find(isProgram);

/** The shell draws pages and nothing else: a tab of it costs a tenth of a whole browser's. */
const BROWSERS = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
];

/** The Chromium of `COUNTERSIGN_CHROMIUM` or of PATH. */
const chromiumOfSystem = (env) =>
  env.COUNTERSIGN_CHROMIUM || BROWSERS.map((name) => onPath(name, env)).find((found) => found !== undefined);

/** What an npm package brings for this platform; compressed, see browser.cjs. */
const packagedChromium = () => {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const folder = join(__dirname, '..', 'node_modules', '@sparticuz', 'chromium', 'bin');
  return existsSync(join(folder, 'chromium.br')) ? folder : undefined;
};

const SWANK = '/usr/share/common-lisp/source/slime/swank-loader.lisp';

/** The newest first. */
const versionsIn = (folder) =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => /^(postgresql.*|\d+)$/.test(name))
        .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
        .map((name) => join(folder, name, 'bin'))
    : [];

/** The folder of PostgreSQL's programs. */
const postgresFolder = (env) =>
  [
    ...[env.COUNTERSIGN_POSTGRES_BIN ?? ''].filter(Boolean),
    ...foldersOnPath(env),
    ...['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/opt'].flatMap(versionsIn),
  ].find((folder) => ['initdb', 'postgres'].every((name) => isProgram(join(folder, name))));

const all =
  (...names) =>
  (env) =>
    names.every((name) => onPath(name, env) !== undefined);

const PARTS = {
  chromium: {
    title: 'Chromium',
    packages: ['chromium'],
    isHere: (env) => chromiumOfSystem(env) !== undefined || packagedChromium() !== undefined,
  },
  bubblewrap: {
    title: 'bubblewrap',
    packages: ['bubblewrap', 'util-linux'],
    isHere: all('bwrap', 'prlimit', 'setpriv'),
  },
  ssh: {
    title: 'ssh-keygen',
    packages: ['openssh-client'],
    isHere: all('ssh-keygen', 'ssh-agent', 'ssh-add'),
  },
  terminal: { title: 'script', packages: ['bsdutils'], isHere: all('script') },
  openssl: { title: 'openssl', packages: ['openssl'], isHere: all('openssl') },
  lisp: {
    title: 'SBCL with Swank',
    packages: ['sbcl', 'cl-swank'],
    isHere: (env) => onPath('sbcl', env) !== undefined && existsSync(SWANK),
  },
  postgres: {
    title: 'PostgreSQL',
    packages: ['postgresql'],
    isHere: (env) => postgresFolder(env) !== undefined,
  },
  prometheus: {
    title: 'Prometheus',
    packages: ['prometheus'],
    isHere: all('prometheus', 'promtool'),
  },
};

/** The names of the parts that are not here. */
const missingParts = (env = process.env) => Object.keys(PARTS).filter((name) => !PARTS[name].isHere(env));

/** The command that installs parts. */
const installCommand = (names) =>
  `${process.getuid?.() === 0 ? '' : 'sudo '}apt-get install ${names.flatMap((name) => PARTS[name].packages).join(' ')}`;

module.exports = { PARTS, missingParts, installCommand, chromiumOfSystem, packagedChromium, postgresFolder };
