import { spawn, type ChildProcess } from 'node:child_process';
import { StringDecoder } from 'node:string_decoder';
import { ToolError } from '../errors';
import { codeOf } from '../workspace/errno';
import { killGroup, killOnAbort } from './kill';
import { createCapture } from './output';

/** A program to run: never through a shell, so nothing in it is expanded. */
export interface ProcessPlan {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
  /** Bytes. */
  outputLimit: number;
  /** Aborting it kills the whole process group. */
  signal: AbortSignal;
  /** Told of output as it comes. */
  onOutput(text: string): void;
}

/** How a program ended. */
export interface ProcessEnd {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Both streams, in the order they came. */
  output: string;
  /** Something it left behind still held its output; nobody waits for that. */
  leftBehind: boolean;
}

/** How long output is waited for once the program itself has ended: a process it left behind may hold the pipe. */
const DRAIN_MS = 500;

/**
 * Runs a program to its end. What it left in its process group is killed then; what made a group of its own is not
 * waited for.
 *
 * @throws ToolError where it cannot be started.
 */
export async function runProcess(plan: ProcessPlan): Promise<ProcessEnd> {
  plan.signal.throwIfAborted();
  const [file = ''] = plan.argv;
  const child = start(plan, file);
  const ending = ended(child, file);
  const capture = createCapture(plan.outputLimit);
  for (const stream of [child.stdout, child.stderr]) {
    const decoder = new StringDecoder('utf8');
    stream?.on('data', (chunk: Buffer) => {
      capture.add(chunk);
      plan.onOutput(decoder.write(chunk));
    });
  }
  const stop = killOnAbort(child, plan.signal);
  try {
    const end = await ending;
    return { ...end, output: capture.text() };
  } finally {
    stop();
  }
}

function start({ argv, cwd, env }: ProcessPlan, file: string): ChildProcess {
  try {
    return spawn(file, argv.slice(1), {
      cwd,
      env: { ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, so that everything it starts can be killed with it.
      detached: true,
    });
  } catch (error) {
    throw startError(error, file);
  }
}

function ended(child: ChildProcess, file: string): Promise<Omit<ProcessEnd, 'output'>> {
  return new Promise((resolve, reject) => {
    child.once('error', (error) => reject(startError(error, file)));
    child.once('exit', (code, signal) => {
      killGroup(child, 'SIGKILL');
      let leftBehind = false;
      // One more turn of the loop: what is already in the pipe is read first.
      const timer = setTimeout(() => setImmediate(giveUp), DRAIN_MS);
      const giveUp = (): void => {
        leftBehind = true;
        child.stdout?.destroy();
        child.stderr?.destroy();
      };
      child.once('close', () => {
        clearTimeout(timer);
        resolve({ code, signal, leftBehind });
      });
    });
  });
}

function startError(error: unknown, file: string): ToolError {
  const code = codeOf(error);
  const say = (why: string): ToolError => new ToolError(`${why} Nothing ran.`, { cause: error });
  if (code === 'ENOENT') return say(`There is no program "${file}" here. There is no shell: no built-ins.`);
  if (code === 'EACCES') return say(`"${file}" may not be executed.`);
  if (code === 'E2BIG') return say('The command line is too long for this system.');
  return say(`"${file}" could not be started: ${code ?? 'unknown error'}.`);
}
