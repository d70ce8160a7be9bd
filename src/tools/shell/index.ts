import { realpath } from 'node:fs/promises';
import { z } from 'zod';
import { LIMITS } from '../../contract/limits';
import { defineTool } from '../define-tool';
import { ToolError } from '../errors';
import type { CallContext, Duration, Tool } from '../types';
import { HOLDING, type Folder } from '../workspace/folder';
import { isTorn, normalPath, onOneLine } from '../workspace/path';
import { createRoot } from '../workspace/root';
import { assertVisible, environmentOf, VISIBLE } from './environment';
import { quoteCommand } from './quote';
import { runProcess, type ProcessEnd } from './run-process';

/** What a shell pack is made for. */
export interface ShellOptions {
  /** Commands start here, or in a folder below. */
  root: string;
  /** Names of variables that commands may see. @default HOME, LANG, LOGNAME, PATH, SHELL, TERM, USER */
  env?: readonly string[];
  /** A command is killed then, with everything it started. @default 30 s */
  timeout?: Duration;
  /** Bytes of output kept: head and tail. @default 64 KiB */
  outputLimit?: number;
  /** The queue of the worker that has the files. @default the turn's own */
  taskQueue?: string;
}

const parameters = z.strictObject({
  argv: z
    .array(z.string())
    .min(1)
    .max(500)
    .describe(
      'Program and arguments, one word each. There is no shell: no pipes, globs, variables or redirections.',
    ),
  cwd: z.string().default('.').describe('Folder to run in, relative to the workspace root.'),
});
type Command = z.output<typeof parameters>;

/**
 * `run_command`: one program, without a shell. Dangerous and unsafe: each run is decided by a person and never repeated
 * by us. The folder is where it starts, not a fence: a program can reach whatever its user can.
 */
export function createShellTools(options: ShellOptions): Tool[] {
  const { timeout, taskQueue, outputLimit = LIMITS.outputBytes } = options;
  const env = assertVisible(options.env ?? VISIBLE);
  const { inFolder, startIn } = createRoot(options.root);
  const tool = defineTool({
    name: 'run_command',
    description:
      'Runs a program and answers its output. Anything but exit code 0 is an error. Needs approval.',
    parameters,
    safety: 'dangerous',
    effect: 'unsafe',
    categories: ['shell'],
    outputLimit,
    ...(timeout === undefined ? {} : { timeout }),
    ...(taskQueue === undefined ? {} : { taskQueue }),
    preview: ({ argv, cwd }) => inFolder(cwd, async () => describeCommand(argv, cwd)),
    handler: ({ argv, cwd }, context) =>
      startIn(cwd, async (folder) => {
        const plan = { argv: assertArgv(argv), cwd: await pathOf(folder), env: environmentOf(env) };
        return run({ ...plan, outputLimit }, context);
      }),
  });
  return [tool];
}

function describeCommand(argv: Command['argv'], cwd: string): string {
  return `${quoteCommand(assertArgv(argv))}\nin ${onOneLine(normalPath(cwd))}`;
}

function assertArgv(argv: readonly string[]): readonly string[] {
  if (argv.some((word) => word.includes('\0')))
    throw new ToolError('A word of a command cannot hold a NUL byte.');
  if (argv.some(isTorn))
    throw new ToolError('A word of a command cannot hold half a character (a lone surrogate).');
  if (argv[0]?.trim() === '') throw new ToolError('The first word names the program; it is empty.');
  return argv;
}

/** Held by a descriptor, the folder itself is entered, whatever stands at its path by then. */
async function pathOf(folder: Folder): Promise<string> {
  return HOLDING === 'descriptors' ? folder.at('.') : realpath(folder.at('.'));
}

type Plan = Omit<Parameters<typeof runProcess>[0], 'signal' | 'onOutput'>;

async function run(plan: Plan, { signal, partial }: CallContext): Promise<string> {
  const end = await runProcess({ ...plan, signal, onOutput: partial });
  if (signal.aborted) return lastWords(plan.argv, end, signal);
  return describeEnd(plan.argv, end);
}

/** Its output is told as partial output; that it came to an end of its own all the same is told too. */
function lastWords([file = '']: readonly string[], { code }: ProcessEnd, { reason }: AbortSignal): string {
  if (code === null) throw reason;
  return `"${file}" ended with exit code ${code}.`;
}

function describeEnd(argv: readonly string[], { code, signal, output, leftBehind }: ProcessEnd): string {
  const note = leftBehind
    ? '\n[it left a process behind that still runs; its output was not waited for]'
    : '';
  if (code === 0) return (output === '' ? '(no output; exit code 0)' : output) + note;
  const how = signal === null ? `ended with exit code ${code ?? 'unknown'}` : `was ended by ${signal}`;
  throw new ToolError(`"${argv[0] ?? ''}" ${how}.${output === '' ? ' It wrote nothing.' : ''}${note}`, {
    details: { exit_code: code, signal },
  });
}
