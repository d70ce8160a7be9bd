/** A PostgreSQL of our own in a directory of its own: durable as it comes, on the loopback address only. */
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, closeSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const USER = 'temporal';
const READY_MS = 60_000;
const POLL_MS = 100;

/** Starts it and resolves with where it is once it takes connections; `started` gets a function that ends it, at once. */
export const startPostgres = async ({ bin, directory, port, started }) => {
  const owner = unprivileged();
  const password = randomBytes(16).toString('hex');
  const data = join(directory, 'postgres');
  mkdirSync(data, { mode: 0o700 });
  if (owner.uid !== undefined) chownSync(data, owner.uid, owner.gid);
  initialise({ bin, data, password, owner });
  const child = launch({ bin, data, port, owner, log: join(directory, 'postgres.log') });
  const gone = new Promise((resolve) => child.once('exit', resolve));
  // SIGINT is PostgreSQL's fast way to end: sessions are cut, data is kept.
  const stop = async () => {
    child.kill('SIGINT');
    await gone;
  };
  started({ stop });
  await ready({ port, gone, log: join(directory, 'postgres.log') });
  return { host: '127.0.0.1', port, user: USER, password, pid: child.pid };
};

/** PostgreSQL refuses to run as root: then it runs as the user that its package made, or as nobody. */
const unprivileged = () => {
  if (process.getuid?.() !== 0) return {};
  const name = ['postgres', 'nobody'].find((user) => idOf(user, '-u') !== undefined);
  if (name === undefined)
    throw new Error('PostgreSQL does not run as root, and there is no user `postgres` to run it as');
  return { uid: idOf(name, '-u'), gid: idOf(name, '-g') };
};

const idOf = (user, flag) => {
  try {
    return Number(
      execFileSync('id', [flag, user], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
    );
  } catch {
    return undefined;
  }
};

const initialise = ({ bin, data, password, owner }) => {
  const passwordFile = join(data, '..', 'postgres-password');
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (owner.uid !== undefined) chownSync(passwordFile, owner.uid, owner.gid);
  const settings = ['--auth=scram-sha-256', '--encoding=UTF8', '--no-locale', `--pwfile=${passwordFile}`];
  try {
    execFileSync(join(bin, 'initdb'), [`--pgdata=${data}`, `--username=${USER}`, ...settings], {
      ...owner,
      cwd: data,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  } finally {
    rmSync(passwordFile);
  }
};

/** `fsync` and `synchronous_commit` stay on: what the server acknowledged is on disk, as in production. */
const launch = ({ bin, data, port, owner, log }) => {
  const settings = [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    'max_connections=200',
    'fsync=on',
    'synchronous_commit=on',
  ];
  const output = openSync(log, 'w');
  try {
    const args = ['-D', data, ...settings.flatMap((setting) => ['-c', setting])];
    // In a group of its own: Ctrl-C is for us, and we end it last.
    return spawn(join(bin, 'postgres'), args, {
      ...owner,
      cwd: data,
      detached: true,
      stdio: ['ignore', output, output],
    });
  } finally {
    closeSync(output);
  }
};

const ready = async ({ port, gone, log }) => {
  let ended = false;
  void gone.then(() => (ended = true));
  const until = performance.now() + READY_MS;
  while (!(await answers(port))) {
    if (ended || performance.now() > until) throw new Error(`PostgreSQL did not start; see ${log}`);
    await delay(POLL_MS);
  }
};

/** Whether something listens on a port of the loopback address. */
export const answers = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const tell = (isThere) => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once('connect', () => tell(true));
    socket.once('error', () => tell(false));
  });
