import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { CountersignError } from '../../contract/errors';
import { isObject, parseJson } from '../../contract/json';
import { nothingDone, stopped, ToolError } from '../errors';
import { queueAfter, unlessAborted } from '../within';

/** The settings of a TypeScript process. */
export interface CodeSettings {
  /** Path of the TypeScript to load. */
  typescript: string;
  /** The folder of the sources. */
  root: string;
  /** Configs, relative to `root`. */
  projects: readonly string[];
  /** Memory for JavaScript objects, in MiB. */
  heapMb: number;
}

/** A question of a tool, with the arguments as the tool's schema parsed them. */
export type CodeQuestion =
  | { name: SymbolQuestion; args: { symbol: string } }
  | { name: 'search_code_symbols'; args: { pattern: string; kind?: string; path?: string } }
  | { name: 'code_diagnostics'; args: { file?: string } };

/** Questions about one symbol. */
export type SymbolQuestion =
  | 'describe_code_symbol'
  | 'function_signature'
  | 'find_callers'
  | 'find_references'
  | 'list_members'
  | 'type_hierarchy';

/** `refused`: the text that the model reads. `broken`: TypeScript itself failed, so its process is not asked again. */
export type CodeAnswer = { text: string } | { refused: string } | { broken: string };

/** Asks TypeScript, which runs in a process of its own: a type check can neither hold up the worker nor outlive its call. */
export interface CodeService {
  /** Questions are answered one after the other. */
  ask(question: CodeQuestion, signal: AbortSignal): Promise<string>;
}

/** A process without questions ends after this time, because a large project takes a gigabyte of memory. */
const IDLE_MS = 10 * 60_000;

/** The path of the built program. It is used even if this file runs from its source. */
const PROGRAM = join(__dirname, '..', '..', '..', 'lib', 'tools', 'code', 'process.js');

const services = new Map<string, CodeService>();

/** The service for some settings. Packs of this worker with equal settings share one service. Starts nothing yet. */
export function findCodeService(settings: CodeSettings): CodeService {
  const key = JSON.stringify(settings);
  const service = services.get(key) ?? createCodeService(settings);
  services.set(key, service);
  return service;
}

function createCodeService(settings: CodeSettings): CodeService {
  let child: ChildProcess | undefined;
  let idle: NodeJS.Timeout | undefined;
  let last: Promise<unknown> = Promise.resolve();
  const end = async (): Promise<void> => {
    const ending = child;
    child = undefined;
    if (ending === undefined || hasEnded(ending)) return;
    const ended = once(ending, 'exit');
    ending.kill('SIGKILL');
    await ended;
  };
  const answer = async (question: CodeQuestion, signal: AbortSignal): Promise<string> => {
    clearTimeout(idle);
    if (child === undefined || hasEnded(child)) child = start(settings);
    try {
      const got = await unlessAborted(exchange(child, question, settings), signal, () =>
        stopped('TypeScript was still at work and was ended; the next call starts it anew'),
      );
      if ('text' in got) return got.text;
      if ('broken' in got) await end();
      throw new ToolError('broken' in got ? `TypeScript failed: ${got.broken}` : got.refused);
    } catch (error) {
      if (signal.aborted) await end();
      throw error;
    } finally {
      if (child !== undefined) release(child);
      idle = setTimeout(() => void end(), IDLE_MS).unref();
    }
  };
  return {
    ask: async (question, signal) => {
      const toError = () => nothingDone('it waited for another question');
      const { own, all } = queueAfter(last, () => answer(question, signal), { signal, toError });
      last = all;
      return own;
    },
  };
}

const hasEnded = ({ exitCode, signalCode, connected }: ChildProcess): boolean =>
  exitCode !== null || signalCode !== null || !connected;

/** Starts the process without any environment variables, so that the process holds no secrets. */
function start({ heapMb, ...setup }: CodeSettings): ChildProcess {
  const child = fork(PROGRAM, {
    env: {},
    execArgv: [`--max-old-space-size=${heapMb}`],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  // A failure to start or to send ends the process, and `exchange` sees that end.
  child.on('error', () => child.kill('SIGKILL'));
  child.send(setup);
  return child;
}

/** A process that waits for a question does not keep the worker's process running. */
function release(child: ChildProcess): void {
  child.unref();
  child.channel?.unref();
}

async function exchange(
  child: ChildProcess,
  question: CodeQuestion,
  { heapMb }: CodeSettings,
): Promise<CodeAnswer> {
  child.ref();
  child.channel?.ref();
  const ended = new AbortController();
  const { signal } = ended;
  const answered = once(child, 'message', { signal }).then(([answer]: CodeAnswer[]) => answer);
  const died = once(child, 'exit', { signal }).then(() => undefined);
  for (const waiting of [answered, died]) waiting.catch(() => undefined);
  child.send(question);
  try {
    const answer = await Promise.race([answered, died]);
    return answer ?? { refused: describeEnd(child, heapMb) };
  } finally {
    ended.abort();
  }
}

/** Says in words why a process ended. V8 aborts a process whose memory is used up. */
function describeEnd({ signalCode, exitCode }: ChildProcess, heapMb: number): string {
  const how = signalCode ?? `exit code ${exitCode}`;
  return signalCode === 'SIGABRT' || exitCode === 134
    ? `TypeScript took more memory than it may (${heapMb} MiB) and was ended. The next call starts it anew. The person who runs this agent can set heapMb, or name a smaller project.`
    : `TypeScript's process ended by itself (${how}). The next call starts it anew.`;
}

/**
 * The file of the TypeScript to use. It looks in the worker's folder first, because the author of the worker chose the
 * TypeScript there.
 *
 * @throws CountersignError `not_installed` if there is none, or only a version without the language service that we use.
 */
export function findTypeScript(name = 'typescript'): string {
  for (const folder of [process.cwd(), __dirname]) {
    const file = resolveFrom(folder, name);
    if (file !== undefined) return assertVersion(file, name);
  }
  throw missing(`the package "${name}" is not installed`, name);
}

function resolveFrom(folder: string, name: string): string | undefined {
  try {
    return createRequire(join(folder, 'here.js')).resolve(name);
  } catch {
    // Whatever the reason, the package cannot be loaded.
    return undefined;
  }
}

/** Only versions 5 and 6 have the language service that we use. */
function assertVersion(file: string, name: string): string {
  const about = resolveFrom(dirname(file), '../package.json');
  const manifest = about === undefined ? undefined : parseJson(readFileSync(about, 'utf8'));
  const version = isObject(manifest) ? String(manifest['version']) : 'unknown';
  if (/^[56]\./.test(version)) return file;
  throw missing(`"${name}" is version ${version}, which has no language service for it`, name);
}

function missing(why: string, name: string): CountersignError {
  return new CountersignError('not_installed', `createCodeTools needs TypeScript 5 or 6: ${why}`, {
    hint: 'Run npm install typescript@6, or name another one by the option typescript.',
    data: { name },
  });
}
