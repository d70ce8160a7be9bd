import { scryptSync } from 'node:crypto';
import { realpath, stat } from 'node:fs/promises';
import { delimiter, relative, resolve } from 'node:path';
import { z } from 'zod';
import { LIMITS } from '../contract/limits';
import { canonicalJson } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import { shellWord } from '../contract/text/shell-word';
import type { Preview } from '../contract/plan';
import { sha256 } from '../system/sha256';
import { defineTool, inPlace } from './define-tool';
import { stopped, ToolError, TransportError } from './errors';
import type { CallContext, Duration, Tool } from './types';
import { FOLDER_ACCESS } from './workspace/held-folder';
import { isWellFormed } from '../contract/text/bytes';
import { normalPath, onOneLine } from './workspace/path';
import { pathSpelling } from './workspace/spelling';
import { describeFileToApprove } from './workspace/move-tools';
import { createRoot, type Root } from './workspace/root';
import { type ProcessEnd, runProcess } from './run-process';
import { CountersignError } from '../contract/errors';
import type { Sandbox } from './sandbox';
import { findProgram } from './sandbox/bubblewrap';
import { isWithin } from './sandbox/folders';

/** The options of `createShellTools`. */
export interface ShellOptions {
  /** Commands start in this folder, or in a folder below it. */
  root: string;
  /** Names of variables that commands may see. @default HOME, LANG, LOGNAME, PATH, SHELL, TERM, USER */
  env?: readonly string[];
  /** A command that takes longer is killed, with all its processes that can be found. @default 30 s */
  timeout?: Duration;
  /** Bytes of output kept: head and tail. @default 64 KiB */
  outputLimit?: number;
  /** The queue of the worker that has the files. @default the turn's own */
  taskQueue?: string;
  /**
   * The sandbox in which commands run. The sandbox has to list `root`. In a sandbox, commands see variables of the
   * worker only if `env` is set.
   *
   * @default none: they reach whatever this worker can
   */
  sandbox?: Sandbox;
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
 * Makes the tool `run_command`, which runs one program without a shell. It is dangerous and unsafe: a person decides
 * each run, and we never repeat a run. The folder is only the working directory: without a sandbox, a program can reach
 * whatever its user can.
 *
 * @throws CountersignError `config_invalid` for a `root` that does not name a folder, or that the sandbox does not show.
 */
export function createShellTools(options: ShellOptions): Tool[] {
  const { timeout, taskQueue, outputLimit = LIMITS.outputBytes, sandbox } = options;
  const env = assertVisible(options.env ?? (sandbox === undefined ? VISIBLE : []));
  const root = createRoot(options.root);
  const { directory } = root;
  sandbox?.assertShown(directory);
  const place: Place = { root, path: () => environmentOf(env)['PATH'] };
  const tool = defineTool({
    name: 'run_command',
    description:
      'Runs a program and answers its output. Anything but exit code 0 is an error. Needs approval.',
    parameters,
    safety: 'dangerous',
    effect: 'unsafe',
    categories: ['shell'],
    outputLimit,
    timeout,
    taskQueue,
    preview: (command) => root.inFolder(command.cwd, () => previewOf(place, command, sandbox)),
    handler: ({ argv, cwd }, context) =>
      root.startIn(cwd, async (folder) => {
        await assertAsShown(place, { argv, cwd }, context);
        // With descriptors, the program starts in the held folder itself, not at its path.
        const here = folder.at('.');
        const plan = {
          argv: assertArgv(argv),
          cwd: FOLDER_ACCESS === 'descriptors' ? here : await realpath(here),
          env: environmentOf(env),
        };
        return run({ ...plan, outputLimit }, context, sandbox);
      }),
  });
  const where = { root: directory, sandbox: sandbox?.place ?? null, ...variablesIn(env) };
  return [inPlace(tool, where, pathSpelling(directory))];
}

/** Where commands run, and the folders in which their programs are looked up. */
interface Place {
  root: Root;
  path(): string | undefined;
}

async function previewOf(place: Place, command: Command, sandbox: Sandbox | undefined): Promise<Preview> {
  const { argv, cwd } = command;
  const head = `${assertArgv(argv).map(shellWord).join(' ')}\nin ${onOneLine(normalPath(cwd))}`;
  const files = await filesIn(place, command);
  const reach = (await sandbox?.describe()) ?? 'WITHOUT a sandbox: it reaches whatever this worker can';
  const text = [head, ...files.map((line) => `with ${line}`), reach].join('\n');
  const baseHash = digestOf(files);
  if (baseHash === undefined) return { text };
  return { text, plan: { path: normalPath(cwd), baseHash, targetHash: '', encoding: 'utf8', hunks: [] } };
}

function digestOf(files: readonly string[]) {
  return files.length === 0 ? undefined : sha256(files.join('\n'));
}

/**
 * Refuses a command if a file that it names has changed since the approval. Without a plan, no file was there when the
 * call was prepared, or nobody was asked.
 */
async function assertAsShown(place: Place, command: Command, { plan, approval }: CallContext) {
  if (plan === undefined && approval === undefined) return;
  const files = await filesIn(place, command);
  if (digestOf(files) === (plan?.baseHash ?? undefined)) return;
  const which = files.length === 0 ? 'a file that the command names is gone' : 'a file changed';
  const list = files.length === 0 ? '' : ` The files are now: ${files.join(', ')}.`;
  throw new ToolError(
    `Conflict: ${which} since this was prepared. This attempt ran nothing.${list} Ask for it anew.`,
    { code: 'conflict' },
  );
}

/**
 * Programs that run none of the files that they are given, whatever their options. Such a file, for example a log, may
 * change all the time. `jq` and `rg` are not among them: `jq -f` and `rg --pre` run a file. `file -z` and `egrep` run
 * programs that they look up themselves.
 */
const READERS = 'cat cmp cut diff du grep head ls nl sha256sum stat tac tail wc'.split(' ');

/**
 * The files of the workspace that a command probably runs, each with its size and hash: the program, and what the words
 * name up to the first file that does not follow an option. Other files, and files that these files use, are not found.
 */
async function filesIn({ root, path }: Place, { argv, cwd }: Command) {
  const found = new Set<string>();
  const base = await realpath(root.directory);
  const folder = resolve(root.directory, normalPath(cwd));
  const find = async (word: string) => {
    const file = await fileAt(base, resolve(folder, word));
    if (file !== undefined) found.add((await root.inParent(file, describeFileToApprove)).line);
    return file !== undefined;
  };
  const [program = '', ...words] = argv;
  // PATH may name a folder of the workspace.
  const paths = path()
    ?.split(delimiter)
    .map((one) => resolve(folder, one));
  const started = program.includes('/') ? program : findProgram(program, paths?.join(delimiter) ?? '');
  const isOurs = started !== undefined && (await find(started));
  if (!isOurs && READERS.includes(program)) return [];
  for (const [index, word] of words.entries()) {
    for (const part of partsOf(word)) await find(part);
    if ((await find(word)) && !argv[index]?.startsWith('-')) break;
  }
  return [...found];
}

/** The parts of a word that may name a file: the value of `--option=value`, `-Ovalue` or `option=name=!value`. */
function partsOf(word: string) {
  const values = [word.indexOf('='), word.lastIndexOf('=')].map((at) => word.slice(at + 1));
  return [...values, word.replace(/^-[^-]/, '')].map((part) => part.replace(/^[!@]/, ''));
}

/** The path of a regular file below `base`, relative to it and without links. Undefined for anything else. */
async function fileAt(base: string, path: string) {
  try {
    const real = await realpath(path);
    return isWithin(real, base) && (await stat(real)).isFile() ? relative(base, real) : undefined;
  } catch {
    // The word does not name a file.
    return undefined;
  }
}

function assertArgv(argv: readonly string[]): readonly string[] {
  if (argv.some((word) => word.includes('\0')))
    throw new ToolError('A word of a command cannot hold a NUL byte.');
  if (!argv.every(isWellFormed))
    throw new ToolError('A word of a command cannot hold half a character (a lone surrogate).');
  if (argv[0]?.trim() === '') throw new ToolError('The first word names the program; it is empty.');
  return argv;
}

type Plan = Omit<Parameters<typeof runProcess>[0], 'signal' | 'onOutput'>;

async function run(plan: Plan, { signal, partial }: CallContext, sandbox: Pick<Sandbox, 'run'> | undefined) {
  const job = { ...plan, signal, onOutput: partial };
  const end = await (sandbox?.run(job) ?? runProcess(job));
  const [file = ''] = plan.argv;
  assertAllGone(file, end);
  if (signal.aborted) throw stopped(`"${file}" ${howOf(end)}.${noteOf(end)}`);
  return describeEnd(file, end);
}

/** Throws if processes of a command may still run, because its outcome is not known then. */
function assertAllGone(file: string, { survivors, isHeld, ...end }: ProcessEnd) {
  if (survivors === 0 && !isHeld) return;
  const left =
    survivors === 0
      ? 'something it started still holds its output'
      : `${countOf(survivors)} it left behind could not be killed`;
  throw new TransportError(`"${file}" ${howOf(end)}, but ${left}`);
}

function describeEnd(file: string, end: Omit<ProcessEnd, 'survivors' | 'isHeld'>) {
  const { code, signal, output } = end;
  if (code === 0) return (output === '' ? '(no output; exit code 0)' : output) + noteOf(end);
  throw new ToolError(`"${file}" ${howOf(end)}.${output === '' ? ' It wrote nothing.' : ''}${noteOf(end)}`, {
    details: { exit_code: code, signal },
  });
}

function howOf({ code, signal }: Pick<ProcessEnd, 'code' | 'signal'>) {
  return signal === null ? `ended with exit code ${code ?? 'unknown'}` : `was ended by ${signal}`;
}

function noteOf({ killed }: Pick<ProcessEnd, 'killed'>) {
  return killed === 0 ? '' : `\n[${countOf(killed)} it left behind ${killed === 1 ? 'was' : 'were'} killed]`;
}

function countOf(processes: number) {
  return processes === 1 ? '1 process that' : `${processes} processes that`;
}

/** The default variables of a command: variables that programs need, and no keys. */
export const VISIBLE: readonly string[] = ['HOME', 'LANG', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER'];

/** Variables that can run code in every program, or that give access to Temporal. */
const NEVER = /^(NODE_OPTIONS|BASH_ENV|ENV|LD_.*|DYLD_.*|TEMPORAL_.*|COUNTERSIGN_.*)$/i;

/** @throws CountersignError `config_invalid` for a name that no command may ever see. */
function assertVisible(names: readonly string[]): readonly string[] {
  const bad = names.find((name) => NEVER.test(name));
  if (bad === undefined) return [...names];
  throw new CountersignError(
    'config_invalid',
    `run_command: commands may not see the variable ${bad}`,
    `Take ${bad} out of \`env\`; it would put code into commands or give them the way into Temporal.`,
  );
}

/**
 * The variables of commands, as they count in the digest of the tool. The values of `VISIBLE` are left out, because a
 * login sets them and they differ between two terminals.
 */
function variablesIn(env: readonly string[]): JsonObject {
  const names = [...env].sort();
  const values = environmentOf(names.filter((name) => !VISIBLE.includes(name)));
  if (Object.keys(values).length === 0) return { env: names };
  // Slow on purpose: history has the digest, and a short secret could be guessed from a quick one.
  const hidden = scryptSync(canonicalJson(values), 'countersign.run_command', 32);
  return { env: names, values: hidden.toString('hex') };
}

/** The values of the variables that are set. Called when a command starts. */
export function environmentOf(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
