/** What commands of this checkout make of a machine with a proxy, or with a home that cannot be written. */
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { at, say } from './root.mjs';

const OWN = ['localhost', '127.0.0.1', '::1'];

/** Servers of our own are on this machine: gRPC would ask a proxy for them too. */
const passBy = (env) => {
  const named = env.no_proxy ?? env.NO_PROXY ?? '';
  const all = [...new Set([...named.split(',').map((name) => name.trim()), ...OWN])]
    .filter(Boolean)
    .join(',');
  env.no_proxy = all;
  env.NO_PROXY = all;
};

const isOpen = (folder) => {
  try {
    accessSync(folder, constants.W_OK);
    return statSync(folder).isDirectory();
  } catch {
    return false;
  }
};

/** Node's own `recursive` never ends where nobody can make a folder, as in /proc. */
const makeFolder = (folder) => {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder, { mode: 0o700 });
};

const isWritable = (folder) => {
  try {
    makeFolder(folder);
  } catch {
    return false;
  }
  return isOpen(folder);
};

/** A folder that the desktop specification names, and where it is unless it is set. */
const FOLDERS = [
  ['XDG_CACHE_HOME', '.cache', 'cache'],
  ['XDG_STATE_HOME', join('.local', 'state'), 'state'],
];

const replaceUnwritable = (env) => {
  const home = env.HOME || homedir();
  for (const [name, usual, instead] of FOLDERS) {
    const folder = env[name] || join(home, usual);
    if (isWritable(folder)) continue;
    env[name] = at('.countersign', instead);
    say(`${folder} cannot be written; using ${env[name]}`);
  }
  // Go builds a server where none can be downloaded, and keeps what it fetches in the home.
  const isGoHome = env.GOPATH || env.GOMODCACHE || [home, join(home, 'go')].some(isOpen);
  if (!isGoHome) env.GOPATH = at('.countersign', 'go');
};

/** Changes the environment of this process, which all that it starts gets. */
export const adaptToMachine = (env = process.env) => {
  passBy(env);
  replaceUnwritable(env);
};
