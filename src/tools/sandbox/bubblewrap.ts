import { type ChildProcess, execFile } from 'node:child_process';
import {
  accessSync,
  existsSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { chown, constants, mkdtemp, stat, writeFile } from 'node:fs/promises';
import { Socket } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { CountersignError } from '../../contract/errors';
import { parseJson } from '../../contract/json';
import { type Holder, killProcess } from '../run-process';
import { within } from '../wait-within';
import { isWithin, type Mount, parentsOf, pinned } from './folders';
import { type Enforced, LIMIT_NAMES, type LimitName, type Limits, underLimits } from './limits';

/** The user that programs run as: the worker's user, another user that root switches to, or root without its rights. */
type RunAs = { kind: 'own' } | { kind: 'other'; uid: number; gid: number } | { kind: 'root' };

/** The programs of this machine for a sandbox. */
export interface Parts {
  bwrap: string;
  /** Options that this bubblewrap knows. */
  options: ReadonlySet<string>;
  prlimit: string | undefined;
  setpriv: string | undefined;
}

/** @throws CountersignError `config_invalid` without bubblewrap. */
export async function findParts(path?: string): Promise<Parts> {
  const [bwrap, prlimit, setpriv] = ['bwrap', 'prlimit', 'setpriv'].map((name) => findProgram(name, path));
  if (bwrap === undefined)
    throw new CountersignError(
      'config_invalid',
      'there is no bubblewrap on this machine',
      'Install it (Debian, Ubuntu: apt-get install bubblewrap), or set `unsandboxed: true`.',
    );
  const { stdout } = await promisify(execFile)(bwrap, ['--help']);
  return { bwrap, options: new Set(stdout.match(/--[a-z-]+/g)), prlimit, setpriv };
}

/** The file of a program of this machine. Folders of PATH that are not absolute are passed over. */
export function findProgram(name: string, path = process.env['PATH'] ?? ''): string | undefined {
  const folders = path.split(delimiter).filter((one) => one.startsWith('/'));
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(file: string) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** User and group that own nothing. */
const NOBODY = 65_534;

/** Chooses the user that programs run as. Only a control group limits root, so root switches to the folders' owner. */
export async function chooseIdentity(mounts: readonly Mount[], uid = process.geteuid?.()): Promise<RunAs> {
  if (uid !== 0) return { kind: 'own' };
  const owners = await Promise.all(
    mounts.filter(({ isWritable }) => isWritable).map(({ path }) => stat(path)),
  );
  const [first] = owners;
  if (first === undefined) return { kind: 'other', uid: NOBODY, gid: NOBODY };
  const isOne = owners.every((one) => one.uid === first.uid);
  return isOne && first.uid !== 0 ? { kind: 'other', uid: first.uid, gid: first.gid } : { kind: 'root' };
}

/**
 * Why `tmp` is not limited. The limit also needs `--disable-userns`. Otherwise a program could mount a /tmp of its own.
 */
const OLD_BUBBLEWRAP = 'this bubblewrap cannot limit /tmp (0.8 can)';

/** The limits that this machine cannot enforce, each with the reason. */
export function unenforced(parts: Parts, identity: RunAs): Map<LimitName, string> {
  const { options, prlimit } = parts;
  const reasons = LIMIT_NAMES.map((name): [LimitName, string | undefined] => {
    if (name === 'tmp')
      return [
        name,
        ['--size', '--disable-userns'].every((name) => options.has(name)) ? undefined : OLD_BUBBLEWRAP,
      ];
    if (prlimit === undefined) return [name, 'there is no `prlimit` (util-linux) here'];
    if (name === 'processes' && identity.kind === 'root')
      return [name, 'Linux does not limit the processes of root, who owns what may be written'];
    return [name, undefined];
  });
  return new Map(reasons.flatMap(([name, why]) => (why === undefined ? [] : [[name, why]])));
}

/** A program to start, and all that the sandbox shows it. */
export interface Launch {
  argv: readonly string[];
  /** The absolute path inside the sandbox. */
  cwd: string;
  mounts: readonly Mount[];
  /** Our own files, each with the path at which the sandbox shows it. */
  files: readonly (readonly [outside: string, inside: string])[];
}

/** The settings that all launches of one sandbox share. */
interface LaunchBase {
  parts: Parts;
  identity: RunAs;
  limits: Limits;
  enforced: Enforced;
}

/**
 * The command line that runs a program in a sandbox of its own. Bubblewrap reports on descriptor 3, and reads the filter
 * of system calls from descriptor 5.
 */
export function bubblewrapWords({ parts, identity, limits, enforced }: LaunchBase, launch: Launch): string[] {
  const { options, prlimit, setpriv = 'setpriv' } = parts;
  const become =
    identity.kind === 'other'
      ? [setpriv, `--reuid=${identity.uid}`, `--regid=${identity.gid}`, '--clear-groups', '--inh-caps=-all']
      : [];
  const hidden = workPlaces().filter((path) => !launch.mounts.some((mount) => mount.path === path));
  const size = (bytes: number) => (options.has('--size') ? ['--size', `${bytes}`] : []);
  return [
    ...become,
    ...[parts.bwrap, '--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-net', '--unshare-uts'],
    ...['--unshare-cgroup-try', '--die-with-parent', '--new-session', '--hostname', 'sandbox'],
    // A user namespace inside could mount a /tmp without a limit, and would expose more of the kernel.
    ...(options.has('--disable-userns') ? ['--disable-userns'] : []),
    ...['--cap-drop', 'ALL', '--json-status-fd', '3', '--seccomp', '5'],
    ...systemWords(),
    ...hidden.flatMap((path) => ['--tmpfs', path]),
    // Read-only, because a program of root could otherwise set here what the kernel runs.
    ...['--proc', '/proc', '--ro-bind', '/proc/sys', '/proc/sys', '--dev', '/dev'],
    // The names of the worker's keys.
    ...(existsSync('/proc/keys') ? ['--ro-bind', '/dev/null', '/proc/keys'] : []),
    ...[...size(limits.tmp), '--perms', '1777', '--tmpfs', '/dev/shm'],
    ...[...size(limits.tmp), '--perms', '1777', '--tmpfs', '/tmp'],
    // After /tmp, because the sandbox's own /tmp would hide a Node below /tmp.
    ...runtimePaths()
      .filter((path) => isReachable(path, identity))
      .flatMap((path) => ['--ro-bind', path, path]),
    ...launch.files.flatMap(([outside, inside]) => ['--ro-bind', outside, inside]),
    ...pinned(launch.mounts).flatMap(({ path, isWritable }) => [
      isWritable ? '--bind' : '--ro-bind',
      path,
      path,
    ]),
    // Read-only, because these are memory of the machine without a limit.
    ...['/', '/dev', ...hidden].flatMap((path) => ['--remount-ro', path]),
    ...['--chdir', launch.cwd, '--'],
    ...(prlimit === undefined ? [] : underLimits(limits, enforced, prlimit)),
    ...launch.argv,
  ];
}

/** Files in /etc that programs need. None of them is a key. */
const ETC = [
  ...['alternatives', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d', 'localtime', 'timezone', 'mime.types'],
  ...['protocols', 'services', 'ssl/certs', 'ssl/openssl.cnf', 'ca-certificates', 'pki/tls/certs'],
  ...['pki/tls/openssl.cnf', 'pki/ca-trust/extracted', 'crypto-policies', 'fonts', 'magic', 'terminfo'],
  ...['java-11-openjdk', 'java-17-openjdk', 'java-21-openjdk', 'os-release', 'debian_version'],
];

function systemWords() {
  const roots = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].filter(existsSync);
  return [
    ...roots.flatMap((path) =>
      lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path],
    ),
    ...ETC.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
  ];
}

/** Folders below /usr that we hide because they hold no programs: sources, and the worker's folder and home. */
function workPlaces() {
  const all = ['/usr/src', process.cwd(), homedir()].filter(
    (path) => isWithin(path, '/usr') && existsSync(path) && !isWithin(process.execPath, path),
  );
  return [...new Set(all)].filter((path) => !all.some((one) => one !== path && isWithin(path, one)));
}

/** The paths of this Node and its packages, if they lie outside the system's own folders. */
export function runtimePaths(node = process.execPath): string[] {
  if (isWithin(node, '/usr')) return [];
  const packages = join(dirname(dirname(node)), 'lib', 'node_modules');
  return [node, packages].filter(existsSync);
}

/**
 * Whether the user that programs run as may read a path. For example, no other user can read a Node below root's home.
 */
export function isReachable(path: string, identity: RunAs): boolean {
  if (identity.kind !== 'other') return true;
  const may = (at: string, wanted: number) => {
    const { uid, gid, mode } = statSync(at);
    const shift = uid === identity.uid ? 6 : gid === identity.gid ? 3 : 0;
    return ((mode >> shift) & wanted) === wanted;
  };
  const real = realpathSync(path);
  return may(real, 5) && parentsOf(real).every((folder) => may(folder, 1));
}

const etcFiles = ({ uid, gid }: { uid: number; gid: number }): Readonly<Record<string, string>> => ({
  passwd: `root:x:0:0:root:/:/usr/sbin/nologin\nsandbox:x:${uid}:${gid}:sandbox:/tmp:/bin/sh\n`,
  group: `root:x:0:\nsandbox:x:${gid}:\n`,
  hosts: '127.0.0.1 localhost sandbox\n::1 localhost\n',
  'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
});

/** Our folders, which are removed when this process exits. */
const ours = new Set<string>();

/** Makes a folder that only sandboxed programs and this worker can read, with our own files for `/etc`. */
export async function makeOwnFolder(identity: RunAs) {
  const folder = await makeTempFolder();
  const own = { uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 };
  const texts = Object.entries(etcFiles(identity.kind === 'other' ? identity : own));
  for (const [name, text] of texts) await writeFile(join(folder, name), text, { mode: 0o644 });
  if (identity.kind === 'other') await chown(folder, identity.uid, identity.gid);
  return { folder, files: texts.map(([name]) => [join(folder, name), `/etc/${name}`] as const) };
}

/** Makes a folder for this user only. It is removed when this process exits. */
export async function makeTempFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-sandbox-'));
  if (ours.size === 0) process.once('exit', removeAll);
  ours.add(folder);
  return folder;
}

function removeAll() {
  for (const folder of ours) rmSync(folder, { recursive: true, force: true });
}

const statusSchema = z.union([
  z.looseObject({ 'child-pid': z.int().positive() }),
  z.looseObject({ 'exit-code': z.int() }),
]);

/** Follows the processes of a sandbox by the reports of bubblewrap. */
interface BubblewrapHolder extends Holder {
  /**
   * False only if the program was never started: bubblewrap reports the exit code of every program that it started.
   * Call it after the end.
   */
  mayHaveRun(): boolean;
}

/** The longest time that the kernel may take to end all processes of a sandbox. */
const GONE_MS = 2000;
const LOOK_AGAIN_MS = 5;

/** The time that we wait for the kernel to end a process whose parent has ended. */
const MOMENT_MS = 50;

/**
 * Follows one sandbox, and hands it the filter of system calls. Its first process ends only after all its other
 * processes.
 */
export function followBubblewrap(filter: Buffer): BubblewrapHolder {
  let text = '';
  let isWhole = false;
  let closed: Promise<unknown> = Promise.resolve();
  let first: First | undefined;
  const said = () => text.split('\n').map((line) => statusSchema.safeParse(parseJson(line)).data ?? {});
  return {
    adopt(child: ChildProcess) {
      const [status, , rules] = [...child.stdio].slice(3);
      // Bubblewrap does not start the program without the whole filter.
      rules?.on('error', () => undefined);
      if (rules instanceof Socket) rules.end(filter);
      if (status == null) return;
      closed = new Promise((resolve) => status.once('close', resolve));
      status.once('end', () => (isWhole = true));
      status.on('error', () => undefined);
      status.on('data', (chunk: Buffer) => {
        text += chunk.toString('utf8');
        const [pid] = said().flatMap((one) => ('child-pid' in one ? [Number(one['child-pid'])] : []));
        if (pid !== undefined) first ??= { pid, started: lookAt(pid).started };
      });
    },
    mayHaveRun: () => !isWhole || said().some((one) => 'exit-code' in one),
    async leftBehind() {
      await within(closed, MOMENT_MS);
      // If bubblewrap is killed early, its first process may not yet have asked the kernel to end with bubblewrap, and
      // survives. A survivor is counted afterwards.
      if (first !== undefined && isThere(first)) killProcess(first.pid);
      await within(closed, GONE_MS);
      return { killed: 0, survivors: first !== undefined && (await outlives(first)) ? 1 : 0 };
    },
  };
}

/** The first process of a sandbox: its id outside the sandbox, and its start time, because ids are reused. */
interface First {
  pid: number;
  started: string;
}

async function outlives(first: First) {
  for (const deadline = performance.now() + GONE_MS; isThere(first); await sleep(LOOK_AGAIN_MS))
    if (performance.now() > deadline) return true;
  return false;
}

function isThere({ pid, started }: First) {
  const now = lookAt(pid);
  return now.started === started && !['', 'Z', 'X'].includes(now.state);
}

/** State and start time of a process, from `/proc`; empty if there is no such process. */
function lookAt(pid: number) {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = line.slice(line.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', started: fields[19] ?? '' };
  } catch {
    return { state: '', started: '' };
  }
}
