import { type ChildProcess, spawn } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { CountersignError, errorMessage } from '../../contract/errors';
import type { JsonObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { nothingDone } from '../errors';
import { hostList } from '../http/hosts';
import { checkedOptions, wrongOptions } from '../option-values';
import {
  killGroup,
  killLeftBehind,
  markedEnvironment,
  newMark,
  onlyThese,
  type ProcessEnd,
  runProcess,
} from '../run-process';
import { onOneLine } from '../workspace/path';
import { createFolders, holderOf, listFolders, type Mount } from './folders';
import { describeLimits, LIMIT_NAMES, limitsSchema } from './limits';
import { hasSandbox, type Machine, prepareMachine, type Settings, type Wrapped } from './machine';

/** A program for a sandbox. */
export interface SandboxCommand {
  /** Program and arguments; no shell reads them. */
  argv: readonly string[];
  /** The working directory, in a listed folder. @default '/tmp' inside */
  cwd?: string;
  /** Variables in addition to the variables of every sandbox. @default none */
  env?: Readonly<Record<string, string>>;
  /** Bytes of output kept. @default 64 KiB */
  outputLimit?: number;
  signal?: AbortSignal;
  onOutput?(text: string): void;
}

/** Runs programs separately from this machine. Made by `sandbox`. */
export interface Sandbox {
  /** True if programs can neither read listed folders, nor change anything outside, nor use the network. */
  readonly isClosed: boolean;
  /** The settings, and whether programs run without a sandbox here. The digests of tools contain this; see inPlace. */
  readonly place: JsonObject;
  /**
   * Everything that programs can reach, in words for the person who approves.
   *
   * @throws CountersignError `config_invalid` if this machine cannot enforce the settings.
   */
  describe(): Promise<string>;
  /** @throws CountersignError `config_invalid` for a folder that programs do not see. */
  assertShown(folder: string): void;
  /**
   * Runs a program to its end, and ends all processes that it started.
   *
   * @throws ToolError if the program cannot be started. The error proves that nothing was done.
   */
  run(command: SandboxCommand): Promise<ProcessEnd>;
  /** Starts a program that keeps running. Its descriptor 4 is a channel to us. Throws as `run` does. */
  start(command: Pick<SandboxCommand, 'argv' | 'cwd'>): Promise<SandboxedProcess>;
}

/** A program that keeps running. */
export interface SandboxedProcess {
  child: ChildProcess;
  /**
   * Kills the program and all processes that it started. Resolves to true when no process is left. Also has to be
   * called after the program has ended by itself.
   */
  end(): Promise<boolean>;
  /** False only if the program was never started. Call it after the program's end. */
  mayHaveRun(): boolean;
}

const paths = z.array(z.string().min(1)).readonly().default([]);

const optionsSchema = z.strictObject({
  /** Folders and files that programs may read, besides the system's programs. @default none */
  read: paths,
  /** Folders that programs may read and write. A `read` folder inside one of them stays read-only. @default none */
  write: paths,
  /**
   * Hosts that programs reach over HTTP and HTTPS, through our proxy, which they find in `https_proxy`:
   * `api.example.com`, `*.example.com`, `10.0.0.7:8080`. `privateHosts`: hosts whose addresses may be private.
   *
   * @default false
   */
  network: z
    .union([
      z.literal(false),
      z.strictObject({
        hosts: z.array(z.string()).min(1),
        privateHosts: z.array(z.string()).default([]),
      }),
    ])
    .default(false),
  limits: limitsSchema.prefault({}),
  /** Limits that this machine need not enforce. If it cannot enforce another limit, nothing runs. @default none */
  allowUnlimited: z.array(z.enum(LIMIT_NAMES)).default([]),
  /**
   * True: if this machine has no sandbox, programs run without one. False: such programs are refused.
   * @default false
   */
  unsandboxed: z.boolean().default(false),
});

/** The options of a sandbox. Paths are relative to the current folder. Programs see the same paths as outside. */
export interface SandboxOptions extends z.input<typeof optionsSchema> {}

/** Sizes in bytes, at least 1 MiB. */
export interface SandboxLimits extends z.input<typeof limitsSchema> {}

/**
 * A sandbox for programs. They see the system's programs and the listed folders, no home, no sockets, no variables of
 * this worker, and no network except the listed hosts. Uses bubblewrap on Linux and `sandbox-exec` on macOS.
 *
 * @throws CountersignError `config_invalid` for a wrong option. The first use throws if this machine cannot enforce the
 * settings.
 * @example
 * createShellTools({ root: './site', sandbox: sandbox({ write: ['./site'], network: { hosts: ['registry.npmjs.org'] } }) });
 */
export function sandbox(options: SandboxOptions = {}): Sandbox {
  const { read, write, network, unsandboxed, ...rest } = checkedOptions(optionsSchema, options, invalid);
  const listed = listFolders(read, write);
  const hosts = network === false ? [] : network.hosts;
  const isBare = unsandboxed && !hasSandbox();
  const settings = { ...rest, isBare, network: toNetwork(network) };
  const folders = createFolders(listed);
  const machine = once(() => prepareMachine(settings, folders));
  const wrap = async ({ argv, cwd, env = {} }: SandboxCommand): Promise<Started> => {
    const [made, mounts] = [await machine(), await folders()];
    const inside = cwd === undefined ? made.tmp : await realpath(cwd);
    return { ...made.wrap({ argv, mounts, cwd: inside }), env: { ...environment(made.tmp), ...env } };
  };
  return {
    isClosed: listed.length === 0 && network === false && !unsandboxed,
    place: { ...rest, isBare, network, listed: listed.map(({ path, isWritable }) => ({ path, isWritable })) },
    describe: async () => {
      const made = await machine();
      return describe({ listed: await folders(), hosts, limits: rest.limits }, made);
    },
    assertShown: (folder) => assertShown(listed, folder),
    run: async (command) => run(command, await wrap(command).catch(failStart)),
    start: async (command) => start(await wrap(command).catch(failStart)),
  };
}

function toNetwork(network: z.output<typeof optionsSchema>['network']): Settings['network'] {
  if (network === false) return undefined;
  const list = (option: 'hosts' | 'privateHosts') =>
    hostList(`network.${option}`, network[option], (name, message) => invalid(`\`${name}\`: ${message}`));
  return { hosts: list('hosts'), privateHosts: list('privateHosts') };
}

/** Does work once. After a failure the next call tries again, because somebody may have corrected the machine. */
function once<T>(work: () => Promise<T>) {
  let done: Promise<T> | undefined;
  return () => {
    done ??= work().catch((error: unknown) => {
      done = undefined;
      throw error;
    });
    return done;
  };
}

/** The command line to start, with its environment. */
type Started = Wrapped & { env: Readonly<Record<string, string>> };

const invalid = wrongOptions('sandbox');

function failStart(error: unknown): never {
  const hint = error instanceof CountersignError && error.hint !== undefined ? ` ${error.hint}` : '';
  throw nothingDone(`The sandbox cannot be used: ${errorMessage(error)}.${hint} Nothing ran.`, {
    cause: error,
  });
}

function assertShown(listed: readonly Mount[], folder: string) {
  if (holderOf(listed, folder) !== undefined) return;
  throw new CountersignError(
    'config_invalid',
    `the sandbox does not show ${folder}`,
    'List it in `read` or `write` of the sandbox.',
  );
}

interface Described {
  listed: readonly Mount[];
  hosts: readonly string[];
  limits: Settings['limits'];
}

function describe({ listed, hosts, limits }: Described, { kind, enforced }: Machine) {
  if (kind === 'none')
    return 'WITHOUT a sandbox, which this machine does not have: it reaches whatever this worker can';
  const paths = (isWritable: boolean) =>
    listed
      .filter((one) => one.isWritable === isWritable)
      .map(({ path }) => onOneLine(path))
      .join(', ');
  const survivors = kind === 'seatbelt' ? ['what it starts in a session of its own may outlive it'] : [];
  return [
    'in a sandbox: no home, no variables of the worker',
    `reads: ${[paths(false), 'programs of the system'].filter(Boolean).join(', ')}`,
    `writes: ${paths(true) || 'nothing'}`,
    hosts.length === 0 ? 'no network' : `network: only ${hosts.join(', ')} (HTTP, HTTPS)`,
    describeLimits(limits, enforced),
    ...survivors,
  ].join('\n');
}

/** The environment of every program. Node's folder is last in PATH, so that the system's programs take precedence. */
const environment = (tmp: string): Record<string, string> => ({
  PATH: `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:${dirname(process.execPath)}`,
  HOME: tmp,
  TMPDIR: tmp,
  LANG: 'C.UTF-8',
  USER: 'sandbox',
  LOGNAME: 'sandbox',
});

async function run(command: SandboxCommand, { argv, cwd, env, holder }: Started): Promise<ProcessEnd> {
  const { outputLimit = LIMITS.outputBytes, onOutput = () => undefined } = command;
  const { signal = new AbortController().signal } = command;
  const plan = { argv, cwd, env, outputLimit, signal, onOutput };
  const end = await runProcess({ ...plan, holder });
  if (holder === undefined || holder.mayHaveRun() || end.signal !== null || signal.aborted) return end;
  throw nothingDone(`The sandbox could not be made, so nothing ran: ${end.output.trim()}`);
}

function start({ argv, cwd, env, holder }: Started): SandboxedProcess {
  const [file = ''] = argv;
  const mark = newMark();
  const child = spawn(file, argv.slice(1), {
    cwd,
    env: { ...env, ...markedEnvironment(mark), COUNTERSIGN_CHANNEL: '4' },
    stdio: onlyThese(['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe']),
    detached: true,
  });
  holder?.adopt(child);
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  return {
    child,
    // A killed bubblewrap reports nothing, so the program may have run.
    mayHaveRun: () => child.signalCode !== null || holder?.mayHaveRun() !== false,
    end: async () => {
      // Kills the group, because bubblewrap's first process may not yet have asked the kernel to end with bubblewrap.
      killGroup(child, 'SIGKILL');
      await exited;
      const left = holder?.leftBehind() ?? killLeftBehind(child.pid ?? 0, mark);
      return (await left).survivors === 0;
    },
  };
}
