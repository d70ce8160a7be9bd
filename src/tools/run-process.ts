import { type ChildProcess, spawn } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { randomBytes } from 'node:crypto';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { access, readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCapture } from './cut-output';
import { nothingDone, type ToolError } from './errors';
import { within } from './within';
import { errnoOf } from '../contract/errors';

/** A program to run: never through a shell, so nothing in it is expanded. */
export interface ProcessPlan {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Bytes. */
  outputLimit: number;
  /** Aborting it kills the program and all that it started. */
  signal: AbortSignal;
  /** Gets output as it comes. */
  onOutput(text: string): void;
  /** Absent: the program is its own holder. */
  holder?: Holder;
}

/** Knows of a program that holds others, such as a sandbox, what became of them. */
export interface Holder {
  /** Called once the program has started; the descriptor 3 of the program is a pipe to us. */
  adopt(child: ChildProcess): void;
  /** Called once the program has ended: what it held is ended too then. */
  leftBehind(): Promise<LeftBehind>;
}

/** How a program ended, and what became of what it left behind. */
export interface ProcessEnd extends LeftBehind {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Both streams, in the order they came. */
  output: string;
  /** Something that was not found still holds its output; nobody waits for that. */
  isHeld: boolean;
}

/** How long output is waited for once the program has ended and what it left behind was killed. */
const DRAIN_MS = 500;

/**
 * Runs a program to its end, and kills what it left behind then.
 *
 * @throws ToolError where it cannot be started; it proves that nothing was done.
 */
export async function runProcess(plan: ProcessPlan): Promise<ProcessEnd> {
  const { aborted, reason } = plan.signal;
  if (aborted) throw nothingDone('It was stopped before it started.', { cause: reason });
  const [file = ''] = plan.argv;
  const mark = newMark();
  const child = start(plan, file, mark);
  plan.holder?.adopt(child);
  const ending = ended(child, file, () => plan.holder?.leftBehind() ?? killLeftBehind(child.pid ?? 0, mark));
  const capture = createCapture(plan.outputLimit);
  for (const stream of [child.stdout, child.stderr]) {
    const decoder = new StringDecoder('utf8');
    stream?.on('data', (chunk: Buffer) => {
      capture.add(chunk);
      plan.onOutput(decoder.write(chunk));
    });
  }
  const stop = killOnAbort(child, plan.signal, plan.holder === undefined ? 'SIGTERM' : 'SIGKILL');
  try {
    const end = await ending;
    return { ...end, output: capture.text() };
  } finally {
    stop();
  }
}

function start({ argv, cwd, env, holder }: ProcessPlan, file: string, mark: string): ChildProcess {
  try {
    return spawn(file, argv.slice(1), {
      cwd,
      env: { ...env, ...markedEnvironment(mark) },
      stdio:
        holder === undefined ? ['ignore', 'pipe', 'pipe'] : onlyThese(['ignore', 'pipe', 'pipe', 'pipe']),
      // A group of its own, so that everything it starts can be killed with it.
      detached: true,
    });
  } catch (error) {
    throw startError(error, file);
  }
}

/** What a descriptor of a child is, as `spawn` takes it. */
type Descriptor = 'ignore' | 'pipe' | number;

/** Leads nowhere; open as long as this process. */
let nothing: number | undefined;

/**
 * The same descriptors, and nothing for those that this process inherited and would hand on: through the folder or the
 * socket of whoever started it a program would leave its sandbox.
 */
export function onlyThese(wanted: readonly Descriptor[]): Descriptor[] {
  if (process.platform !== 'linux') return [...wanted];
  const inherited = readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => fd >= wanted.length && isHandedOn(fd));
  const all: Descriptor[] = [...wanted];
  for (const fd of inherited) {
    nothing ??= openSync('/dev/null', 'r+');
    while (all.length < fd) all.push('ignore');
    all[fd] = nothing;
  }
  return all;
}

const CLOSE_ON_EXEC = 0o2000000;

function isHandedOn(fd: number): boolean {
  try {
    const [, flags = '0'] =
      /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? [];
    return (parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // It was the one that looked, and is closed.
    return false;
  }
}

async function ended(
  child: ChildProcess,
  file: string,
  endRest: () => Promise<LeftBehind>,
): Promise<Omit<ProcessEnd, 'output'>> {
  const closed = new Promise((resolve) => child.once('close', resolve));
  const [code, signal] = await exitOf(child, file);
  const left = await endRest();
  const isHeld = !(await within(closed, DRAIN_MS)).ended;
  // One more turn of the loop: what is already in the pipe is read first.
  await new Promise(setImmediate);
  child.stdout?.destroy();
  child.stderr?.destroy();
  await closed;
  return { code, signal, isHeld, ...left };
}

function exitOf(child: ChildProcess, file: string): Promise<[number | null, NodeJS.Signals | null]> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(startError(error, file)));
    child.once('exit', (code, signal) => resolve([code, signal]));
  });
}

function startError(error: unknown, file: string): ToolError {
  const code = errnoOf(error);
  const say = (why: string): ToolError => nothingDone(`${why} Nothing ran.`, { cause: error });
  if (code === 'ENOENT') return say(`There is no program "${file}" here. There is no shell: no built-ins.`);
  if (code === 'EACCES') return say(`"${file}" may not be executed.`);
  if (code === 'E2BIG') return say('The command line is too long for this system.');
  return say(`"${file}" could not be started: ${code ?? 'unknown error'}.`);
}

/** Between SIGTERM and SIGKILL; well within the time the executor gives a handler to end. */
const GRACE_MS = 1000;

/**
 * Kills the process group of a child when a signal aborts: asked first, then made to. One that holds others cannot ask
 * them, so it is made to at once. The function undoes it.
 */
function killOnAbort(child: ChildProcess, signal: AbortSignal, first: NodeJS.Signals): () => void {
  let hard: NodeJS.Timeout | undefined;
  const kill = (): void => {
    killGroup(child, first);
    hard = setTimeout(() => killGroup(child, 'SIGKILL'), GRACE_MS);
  };
  if (signal.aborted) kill();
  else signal.addEventListener('abort', kill, { once: true });
  return () => {
    clearTimeout(hard);
    signal.removeEventListener('abort', kill);
  };
}

/**
 * Sends a signal to a child that leads a group, and to everything in it. Only while the child itself is there: once it
 * was reaped its number may be another group's.
 */
export function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // EPERM is what macOS says of a group of which only a zombie is left.
    if (errnoOf(error) !== 'ESRCH' && errnoOf(error) !== 'EPERM') throw error;
  }
}

/** A variable in the environment of a command: everything that the command starts inherits it. */
const MARK = /^COUNTERSIGN_COMMAND_[0-9a-f]{32}$/;

/** The name of a new mark. */
export function newMark(): string {
  return `COUNTERSIGN_COMMAND_${randomBytes(16).toString('hex')}`;
}

/** The environment that marks a command, and keeps the marks of commands that this process was itself started by. */
export function markedEnvironment(mark: string): Record<string, string> {
  const inherited = Object.keys(process.env).filter((name) => MARK.test(name));
  return Object.fromEntries([...inherited, mark].map((name) => [name, '1']));
}

/** What became of the processes that a command left behind. */
export interface LeftBehind {
  /** How many were found and killed. */
  killed: number;
  /** How many could not be killed. */
  survivors: number;
}

/** How long killed processes may take to be gone. With the time between SIGTERM and SIGKILL it fits the executor's grace. */
const GONE_MS = 500;
const LOOK_AGAIN_MS = 20;
/** A busy machine takes longer than `GONE_MS` for one look; what was killed once gets the time to go. */
const LEAST_LOOKS = 4;

/** A process that forks while we look can be missed once, never twice in a row. */
const CLEAN_LOOKS = 2;

/**
 * Kills what a command left behind, once its own process has ended, and looks again until nothing is left.
 * On Linux that is every process that has its mark, or that stayed in its session; one that wipes its environment in a
 * session of its own is not found. Elsewhere, and where `/proc` cannot be read, it is the process group only.
 *
 * @param leader the command's own process, which led a session and a group. It was reaped, so its number may belong to
 * another process by now.
 */
export async function killLeftBehind(leader: number, mark: string): Promise<LeftBehind> {
  const find = (await canLook()) ? () => findProcesses(leader, mark) : () => findGroup(leader);
  const killed = new Set<number>();
  const deadline = performance.now() + GONE_MS;
  for (let [clean, looks] = [0, 1]; ; looks++) {
    const found = await find();
    clean = found.length === 0 ? clean + 1 : 0;
    if (clean === CLEAN_LOOKS) return { killed: killed.size, survivors: 0 };
    if (clean === 0 && looks > LEAST_LOOKS && performance.now() > deadline)
      return { killed: killed.size - found.length, survivors: found.length };
    for (const pid of found) {
      kill(pid);
      killed.add(pid);
    }
    if (clean === 0) await sleep(LOOK_AGAIN_MS);
  }
}

async function canLook(): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  return access('/proc/self/environ').then(
    () => true,
    () => false,
  );
}

async function findProcesses(leader: number, mark: string): Promise<number[]> {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // As long as a process of a session lives, its number goes to nobody else.
  const session = names.includes(`${leader}`) ? undefined : leader;
  const found = await Promise.all(names.map((name) => isOf(name, { session, mark })));
  return names.filter((_, index) => found[index]).map(Number);
}

/** A process that is gone meanwhile, or belongs to somebody else, cannot be read and is not ours. */
async function isOf(pid: string, { session, mark }: { session: number | undefined; mark: string }) {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  const [state = 'X', , , sid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z' || state === 'X') return false;
  if (session !== undefined && Number(sid) === session) return true;
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
  return environment.includes(mark);
}

/** A group as one entry: its number with a minus, as `kill` takes it. */
function findGroup(leader: number): number[] {
  try {
    process.kill(-leader, 0);
    return [-leader];
  } catch (error) {
    // EPERM is what macOS says of a group of which only a zombie is left.
    if (errnoOf(error) === 'ESRCH' || errnoOf(error) === 'EPERM') return [];
    throw error;
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    // It is gone, or it runs as somebody else and survives.
    if (errnoOf(error) !== 'ESRCH' && errnoOf(error) !== 'EPERM') throw error;
  }
}
