import { type ChildProcess, spawn } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { randomBytes } from 'node:crypto';
import { openSync, readdirSync, readFileSync } from 'node:fs';
import { access, readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createCapture } from './cut-output';
import { nothingDone, type ToolError } from './errors';
import { within } from './wait-within';
import { errnoOf } from '../contract/errors';

/** A program to run, never through a shell, so that nothing in its arguments is expanded. */
interface ProcessPlan {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Bytes. */
  outputLimit: number;
  /** An abort kills the program and all processes that it started. */
  signal: AbortSignal;
  /** Receives output as it comes. */
  onOutput(text: string): void;
  /** Absent: the program holds no other program. */
  holder?: Holder;
}

/** Follows the processes inside a program that holds others, such as a sandbox. */
export interface Holder {
  /** Called when the program has started. Descriptors 3 and 5 of the program are pipes to us. */
  adopt(child: ChildProcess): void;
  /** Called when the program has ended. Makes sure that the processes inside have ended too. */
  leftBehind(): Promise<LeftBehind>;
}

/** How a program ended, and how the processes that it left behind ended. */
export interface ProcessEnd extends LeftBehind {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The output of both streams, in the order in which it came. */
  output: string;
  /** True if a process that we did not find still holds the output open. We do not wait for that process. */
  isHeld: boolean;
}

/** The time that we wait for output after the program has ended and the processes that it left behind were killed. */
const DRAIN_MS = 500;

/**
 * Runs a program to its end, and then kills the processes that it left behind.
 *
 * @throws ToolError if the program cannot be started. The error proves that nothing was done.
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
        holder === undefined
          ? ['ignore', 'pipe', 'pipe']
          : onlyThese(['ignore', 'pipe', 'pipe', 'pipe', 'ignore', 'pipe']),
      // The program gets its own process group, so that all processes that it starts can be killed with it.
      detached: true,
    });
  } catch (error) {
    throw startError(error, file);
  }
}

/** A descriptor of a child process, in the form of `spawn`. */
type Descriptor = 'ignore' | 'pipe' | number;

/** A descriptor of `/dev/null`, open as long as this process. */
let nothing: number | undefined;

/**
 * The wanted descriptors, and `/dev/null` in place of every descriptor that this process inherited and would pass on.
 * With an inherited folder or socket, a program could leave its sandbox.
 */
export function onlyThese(wanted: readonly Descriptor[]): Descriptor[] {
  if (process.platform !== 'linux') return [...wanted];
  const inherited = readdirSync('/proc/self/fd')
    .map(Number)
    .filter((fd) => fd > 2 && (wanted[fd] ?? 'ignore') === 'ignore' && isHandedOn(fd));
  const all: Descriptor[] = [...wanted];
  for (const fd of inherited) {
    nothing ??= openSync('/dev/null', 'r+');
    while (all.length < fd) all.push('ignore');
    all[fd] = nothing;
  }
  return all;
}

const CLOSE_ON_EXEC = 0o2000000;

function isHandedOn(fd: number) {
  try {
    const [, flags = '0'] =
      /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? [];
    return (parseInt(flags, 8) & CLOSE_ON_EXEC) === 0;
  } catch {
    // The descriptor was the one with which we read the list. It is closed now.
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
  // One more turn of the event loop, so that output which is already in the pipe is read.
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
  const say = (why: string) => nothingDone(`${why} Nothing ran.`, { cause: error });
  if (code === 'ENOENT') return say(`There is no program "${file}" here. There is no shell: no built-ins.`);
  if (code === 'EACCES') return say(`"${file}" may not be executed.`);
  if (code === 'E2BIG') return say('The command line is too long for this system.');
  return say(`"${file}" could not be started: ${code ?? 'unknown error'}.`);
}

/** The time between SIGTERM and SIGKILL. It is well within the time that the executor gives a handler to end. */
const GRACE_MS = 1000;

/**
 * Kills the process group of a child when `signal` aborts: sends `first`, and SIGKILL after the grace. A sandbox cannot
 * pass SIGTERM on to its processes, so it gets SIGKILL immediately. The returned function removes the listener and
 * timer.
 */
function killOnAbort(child: ChildProcess, signal: AbortSignal, first: NodeJS.Signals): () => void {
  let hard: NodeJS.Timeout | undefined;
  const kill = () => {
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
 * Sends a signal to the process group that a child leads. Does so only while the child itself exists: afterwards its
 * number may belong to another group.
 */
export function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  try {
    process.kill(-child.pid, signal);
  } catch (error) {
    // macOS answers EPERM for a group in which only a zombie is left.
    if (errnoOf(error) !== 'ESRCH' && errnoOf(error) !== 'EPERM') throw error;
  }
}

/** The name of a variable that marks the environment of a command. All processes that the command starts inherit it. */
const MARK = /^COUNTERSIGN_COMMAND_[0-9a-f]{32}$/;

/** The name of a new mark. */
export function newMark(): string {
  return `COUNTERSIGN_COMMAND_${randomBytes(16).toString('hex')}`;
}

/** The variables that mark a command. They include the marks of the commands that started this process. */
export function markedEnvironment(mark: string): Record<string, string> {
  const inherited = Object.keys(process.env).filter((name) => MARK.test(name));
  return Object.fromEntries([...inherited, mark].map((name) => [name, '1']));
}

/** The result of killing the processes that a command left behind. */
interface LeftBehind {
  /** The number of processes that were found and killed. */
  killed: number;
  /** The number of processes that could not be killed. */
  survivors: number;
}

/**
 * The longest time that killed processes may take to end. Together with `GRACE_MS`, this fits into the executor's
 * grace.
 */
const GONE_MS = 500;
const LOOK_AGAIN_MS = 20;
/** The fewest searches. On a busy machine one may exceed `GONE_MS`, and killed processes still need time to end. */
const LEAST_LOOKS = 4;

/** A search can miss a process that forks meanwhile, but not twice in a row. So two searches have to find nothing. */
const CLEAN_LOOKS = 2;

/**
 * Kills the processes that a command left behind when it ended, and searches again until none is left.
 * On Linux these are all processes with the command's mark or in its session. A process that cleared its environment in
 * a session of its own is not found. Elsewhere, and if `/proc` cannot be read, we kill the process group only.
 *
 * @param leader the id of the command's own process, which led a session and a group. The process was reaped, so its id
 * may belong to another process by now. Undefined: we look only for processes with the mark, and without `/proc` we
 * kill nothing.
 */
export async function killLeftBehind(leader: number | undefined, mark: string): Promise<LeftBehind> {
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
      killProcess(pid);
      killed.add(pid);
    }
    if (clean === 0) await sleep(LOOK_AGAIN_MS);
  }
}

async function canLook() {
  if (process.platform !== 'linux') return false;
  return access('/proc/self/environ').then(
    () => true,
    () => false,
  );
}

async function findProcesses(leader: number | undefined, mark: string) {
  const names = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  // While a process of a session lives, the system gives the session's number to no other process.
  const session = names.includes(`${leader}`) ? undefined : leader;
  const found = await Promise.all(names.map((name) => isOf(name, { session, mark })));
  return names.filter((_, index) => found[index]).map(Number);
}

/** Whether we look for a process. A process that ended meanwhile, or of another user, cannot be read. */
async function isOf(pid: string, { session, mark }: { session: number | undefined; mark: string }) {
  const stat = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
  const [state = 'X', , , sid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (state === 'Z' || state === 'X') return false;
  if (session !== undefined && Number(sid) === session) return true;
  const environment = await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '');
  return environment.includes(mark);
}

/**
 * The group as a list of one entry: the leader's id, negated, which is how `kill` takes a group. Empty if the group is
 * gone, or only a zombie is left in it.
 */
function findGroup(leader: number | undefined) {
  if (leader === undefined) return [];
  try {
    process.kill(-leader, 0);
    return [-leader];
  } catch (error) {
    // macOS answers EPERM for a group in which only a zombie is left.
    if (errnoOf(error) === 'ESRCH' || errnoOf(error) === 'EPERM') return [];
    throw error;
  }
}

/** Kills a process. Fails neither where the process is gone nor where it belongs to another user. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH' && errnoOf(error) !== 'EPERM') throw error;
  }
}
