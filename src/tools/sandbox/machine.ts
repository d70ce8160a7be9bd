import { readFileSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CountersignError } from '../../contract/errors';
import type { HostList } from '../http/hosts';
import {
  bubblewrapWords,
  chooseIdentity,
  findParts,
  findProgram,
  followBubblewrap,
  type Launch,
  makeTempFolder,
  makeOwnFolder,
  type Parts,
  runtimePaths,
  unenforced,
  isReachable,
} from './bubblewrap';
import type { Mount, createFolders } from './folders';
import { type Enforced, LIMIT_NAMES, type LimitName, type Limits, underShellLimits } from './limits';
import { startProxy } from './proxy';
import { isProcessor, seccompFilter } from './seccomp';

/** The checked settings that a sandbox has to enforce. */
export interface Settings {
  limits: Limits;
  allowUnlimited: readonly LimitName[];
  /** Programs run without a sandbox. */
  isBare: boolean;
  network: { hosts: HostList; privateHosts: HostList } | undefined;
}

/** How this machine enforces the settings. */
export interface Machine {
  kind: 'bubblewrap' | 'seatbelt' | 'none';
  enforced: Enforced;
  /** The folder for temporary files, as programs see it. */
  tmp: string;
  wrap(launch: Omit<Launch, 'files'>): Wrapped;
}

/** The command line that runs a program in the sandbox, its working directory, and the holder that follows it. */
export interface Wrapped {
  argv: string[];
  cwd: string;
  holder: ReturnType<typeof followBubblewrap> | undefined;
}

/** Whether this machine has a sandbox. The answer is in digests, so it is looked up once for each set of settings. */
export function hasSandbox(): boolean {
  return (
    process.platform === 'darwin' || (process.platform === 'linux' && findProgram('bwrap') !== undefined)
  );
}

/**
 * Finds the sandbox that this machine offers.
 *
 * @throws CountersignError `config_invalid` if the machine cannot enforce the settings.
 */
export async function prepareMachine(
  settings: Settings,
  folders: ReturnType<typeof createFolders>,
): Promise<Machine> {
  if (settings.isBare) return UNSANDBOXED;
  if (process.platform === 'darwin') return prepareMac(settings);
  if (process.platform === 'linux') return prepareLinux(settings, await findParts(), await folders());
  throw unavailable('there is no sandbox for this system', 'Use Linux or macOS, or set `unsandboxed: true`.');
}

const UNSANDBOXED: Machine = {
  kind: 'none',
  tmp: tmpdir(),
  enforced: new Set(),
  wrap: ({ argv, cwd }) => ({ argv: [...argv], cwd, holder: undefined }),
};

function unavailable(message: string, hint: string) {
  return new CountersignError('config_invalid', message, hint);
}

/** The path of the proxy's socket inside the sandbox. */
const PROXY = '/countersign/proxy.sock';

async function prepareLinux(settings: Settings, parts: Parts, mounts: readonly Mount[]): Promise<Machine> {
  const { arch } = process;
  if (!isProcessor(arch))
    throw unavailable(
      `there is no filter of system calls for this processor (${arch})`,
      'Use a machine with an x64 or arm64 processor, or set `unsandboxed: true`.',
    );
  const identity = await chooseIdentity(mounts);
  if (identity.kind === 'other' && parts.setpriv === undefined)
    throw unavailable('there is no `setpriv` on this machine', 'Install util-linux, or do not run as root.');
  const enforced = enforcedOf(settings, unenforced(parts, identity));
  if (settings.network !== undefined) requireNode(process.execPath, identity);
  const { folder, files } = await makeOwnFolder(identity);
  const build = { parts, identity, limits: settings.limits, enforced };
  const filter = seccompFilter(arch);
  const path = join(folder, 'proxy.sock');
  if (settings.network !== undefined) await startProxy({ ...settings.network, path });
  const forwarder = () => readFileSync(join(__dirname, 'forward.cjs'), 'utf8');
  const [forward, shown] =
    settings.network === undefined
      ? [[], files]
      : [
          [process.execPath, '-e', forwarder(), '--', PROXY],
          [...files, [path, PROXY] as const],
        ];
  return {
    kind: 'bubblewrap',
    tmp: '/tmp',
    enforced,
    wrap: (launch) => {
      requireNode(launch.argv[0], identity);
      const argv = bubblewrapWords(build, { ...launch, argv: [...forward, ...launch.argv], files: shown });
      return { argv, cwd: '/', holder: followBubblewrap(filter) };
    },
  };
}

/** @throws CountersignError `config_invalid` if a program is this Node and its user may not read that file. */
function requireNode(program: string | undefined, identity: Parameters<typeof isReachable>[1]) {
  if (program !== process.execPath || isReachable(program, identity)) return;
  throw unavailable(
    `programs run as another user than root, who may not read Node at ${program}`,
    'Install Node where everybody may read it, such as /usr/local, or do not run as root.',
  );
}

async function prepareMac(settings: Settings): Promise<Machine> {
  if (settings.network !== undefined)
    throw unavailable('on macOS a sandbox has no network', 'Leave out `network`, or use Linux.');
  const enforced = enforcedOf(settings, UNENFORCED_ON_MACOS);
  const tmp = await realpath(await makeTempFolder());
  const made = { tmp, runtime: runtimePaths(), limits: settings.limits, enforced };
  return {
    kind: 'seatbelt',
    tmp,
    enforced,
    wrap: ({ argv, mounts, cwd }) => ({
      argv: seatbeltWords({ ...made, mounts }, argv),
      cwd,
      holder: undefined,
    }),
  };
}

/** @throws CountersignError `config_invalid` naming each limit that is not enforced here and is not optional. */
function enforcedOf({ allowUnlimited }: Settings, reasons: ReadonlyMap<LimitName, string>): Enforced {
  const refused = [...reasons].filter(([name]) => !allowUnlimited.includes(name));
  if (refused.length > 0) {
    const why = refused.map(([name, reason]) => `\`${name}\` (${reason})`).join(', ');
    const names = refused.map(([name]) => `'${name}'`).join(', ');
    throw unavailable(
      `this machine does not limit ${why}`,
      `Run the worker as another user, or set \`allowUnlimited: [${names}]\`.`,
    );
  }
  return new Set(LIMIT_NAMES.filter((name) => !reasons.has(name)));
}

/** The limits that macOS cannot enforce, each with the reason. */
const UNENFORCED_ON_MACOS: ReadonlyMap<LimitName, string> = new Map([
  ['memory', 'macOS does not limit the memory of a process'],
  ['tmp', 'macOS has no /tmp of a limited size'],
]);

/** Folders that every program on macOS reads when it starts. */
const SYSTEM = [
  ...['/usr', '/bin', '/sbin', '/System', '/Library/Apple', '/Library/Developer/CommandLineTools'],
  ...['/opt/homebrew', '/private/var/db/dyld', '/private/var/db/timezone', '/private/etc/ssl'],
];

const DEVICES = ['/dev/null', '/dev/zero', '/dev/random', '/dev/urandom', '/dev/dtracehelper'];

/** Files without secrets in which programs look up users and hosts. */
const FILES = ['/private/etc/passwd', '/private/etc/group', '/private/etc/hosts', '/private/etc/services'];

/** System services without which programs do not start. None of them opens files or apps for a program. */
const SERVICES = [
  'com.apple.system.opendirectoryd.libinfo',
  'com.apple.system.notification_center',
  'com.apple.system.logger',
];

/** The inputs of a profile on macOS. Paths are real paths. */
interface SeatbeltPlan {
  mounts: readonly Mount[];
  /** The sandbox's own folder for temporary files. */
  tmp: string;
  /** Paths of the runtime. */
  runtime: readonly string[];
}

/**
 * The profile for `sandbox-exec`. Everything that the profile does not allow is denied. A later rule overrides an
 * earlier one.
 */
function seatbeltProfile({ mounts, tmp, runtime }: SeatbeltPlan): string {
  const shown = [...SYSTEM, ...runtime, ...mounts.map(({ path }) => path), tmp];
  const rules = mounts.map(({ path, isWritable }) =>
    isWritable
      ? `(allow file-write* (subpath ${quote(path)}))`
      : `(deny file-write* (subpath ${quote(path)}))`,
  );
  return [
    '(version 1)',
    '(deny default)',
    '(allow process-fork)',
    '(allow process-exec)',
    '(allow signal (target same-sandbox))',
    '(allow sysctl-read)',
    `(allow mach-lookup ${SERVICES.map((name) => `(global-name ${quote(name)})`).join(' ')})`,
    // Programs ask for the properties of every folder above their own.
    `(allow file-read-metadata ${parentsOf(shown)
      .map((path) => `(literal ${quote(path)})`)
      .join(' ')})`,
    `(allow file-read* (literal "/") ${shown.map((path) => `(subpath ${quote(path)})`).join(' ')})`,
    `(allow file-read* ${[...DEVICES, ...FILES].map((path) => `(literal ${quote(path)})`).join(' ')})`,
    '(allow file-write* (literal "/dev/null") (literal "/dev/zero"))',
    `(allow file-write* (subpath ${quote(tmp)}))`,
    ...rules,
    '(deny network*)',
    '',
  ].join('\n');
}

function parentsOf(paths: readonly string[]) {
  const found = new Set<string>();
  for (const path of paths)
    for (let parent = dirname(path); parent !== '/'; parent = dirname(parent)) found.add(parent);
  // The last three are links of the system that programs go through.
  return [...found, '/var', '/tmp', '/etc'].sort();
}

/** A string in the profile's language, in which only the quote and the backslash have a special meaning. */
function quote(text: string) {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`;
}

/** The command line that runs a program under a profile and the limits that macOS has. */
export function seatbeltWords(
  plan: SeatbeltPlan & { limits: Limits; enforced: Enforced },
  argv: readonly string[],
): string[] {
  const limited = underShellLimits(plan.limits, plan.enforced);
  return ['/usr/bin/sandbox-exec', '-p', seatbeltProfile(plan), ...limited, ...argv];
}
