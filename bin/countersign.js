#!/usr/bin/env node
'use strict';

// Before anything is loaded: an older Node would end in a riddle.
const oldest = [20, 19];
const [major, minor] = process.versions.node.split('.').map(Number);
if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
  tell(
    `Node.js ${process.versions.node} is too old; ${oldest.join('.')} or newer is needed (https://nodejs.org)`,
  );
  process.exit(1);
}

const { spawnSync } = require('node:child_process');
const { existsSync, mkdirSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { join } = require('node:path');

const root = join(__dirname, '..');
const has = (...path) => existsSync(join(root, ...path));

// A fresh clone has neither lib/ nor node_modules/; the published package has no scripts/ and needs nothing.
if (
  has('scripts', 'bootstrap.mjs') &&
  !(has('lib', '.build-hash') && has('node_modules', '.package-lock.json'))
) {
  tell('first run in this clone; installing and building what is missing');
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'bootstrap.mjs'), 'prepare'], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) process.exit(1);
}

keepCompiled();
require('../lib/cli/program.js')
  .main()
  .catch((error) => {
    const { missingPackage, notInstalled } = require('../lib/system/missing-package.js');
    const name = missingPackage(error);
    if (name === undefined) throw error;
    const { message, hint } = notInstalled(name, error);
    tell(`${message}. ${hint}`);
    process.exit(1);
  });

// From 22.8 on Node can keep what it compiled: a command then starts in less time. A code cache may hold what a config
// holds, so it is for this user only, and a folder of everybody's would let others change what runs.
function keepCompiled() {
  if (enableCompileCache === undefined) return;
  const folder = join(require('../lib/system/files.js').userCacheDir(), 'compiled');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    enableCompileCache(folder);
  } catch {
    // Without a folder that can be written, commands work as before.
  }
}

function tell(line) {
  process.stderr.write(`countersign: ${line}\n`);
}
