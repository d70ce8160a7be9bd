import { type ChildProcess, fork } from 'node:child_process';
import { join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import {
  type AnyNode,
  type ImportDeclaration,
  type Options,
  parse,
  type Program,
  type VariableDeclaration,
} from 'acorn';
import { z } from 'zod';
import { errorMessage } from '../../contract/errors';
import { isObject } from '../../contract/json';
import { LIMITS } from '../../contract/limits';
import { defineTool, inPlace } from '../define-tool';
import { nothingDone, ToolError } from '../errors';
import { duration, checkedOptions, wrongOptions } from '../option-values';
import { sandbox as makeSandbox, type Sandbox } from '../sandbox';
import type { Tool } from '../types';
import { isWellFormed } from '../../contract/text/bytes';
import { createEvalSessions } from './session';

const optionsSchema = z.strictObject({
  /** The sandbox in which code runs. @default one without folders to write and without network */
  sandbox: z
    .custom<Sandbox>((value) => typeof value === 'object' && value !== null, 'must be made with sandbox')
    .optional(),
  /** Folder where code starts and from which it imports; the sandbox has to list it. @default its own /tmp */
  root: z.string().min(1).optional(),
  /**
   * `ask`: each call waits for a person. `cautious`: calls are logged and run. @default 'cautious' in a sandbox that
   * lists no folder, has no network and is never left out; 'ask' in any other
   */
  evaluate: z.enum(['ask', 'cautious']).optional(),
  /** The calls that share a process: the calls of a turn, or of all turns of a session. @default 'turn' */
  state: z.enum(['turn', 'session']).default('turn'),
  /** A call that takes longer ends its process, with all that earlier calls had defined. @default 30 s */
  timeout: duration().optional(),
  /** A process without a call ends after this time. @default 10 minutes */
  idle: duration(1000).default(600_000),
  /** The most processes that run at the same time. If all are busy, a call is refused. @default 8 */
  most: z.int().min(1).default(8),
  /** Bytes of output kept. @default 64 KiB */
  outputLimit: z.int().optional(),
  /** The queue of the worker that has the processes. @default the turn's own */
  taskQueue: z.string().min(1).optional(),
});

/** The options of `createEvalTools`. */
export interface EvalOptions extends z.input<typeof optionsSchema> {}

const parameters = z.strictObject({
  code: z
    .string()
    .min(1)
    .describe('JavaScript or TypeScript. Top-level await and import work. The last expression is the value.'),
});

/**
 * `eval_code`: runs JavaScript or TypeScript in a process of Node.js that stays for the turn, or the session, so that a
 * call sees what earlier ones defined.
 *
 * @throws CountersignError `config_invalid` for a wrong option.
 * @example
 * defineAgent({ name: 'analyst', instructions: '…', model, tools: createEvalTools({ root: './data', sandbox: sandbox({ read: ['./data'] }) }) });
 */
export function createEvalTools(given: EvalOptions = {}): Tool[] {
  const options = checkedOptions(optionsSchema, given, wrongOptions('createEvalTools'));
  const { sandbox = makeSandbox(), root, idle, most, state, timeout, taskQueue, ...rest } = options;
  const { outputLimit = LIMITS.outputBytes, evaluate = sandbox.isClosed ? 'cautious' : 'ask' } = rest;
  const cwd = root === undefined ? undefined : resolve(root);
  if (cwd !== undefined) sandbox.assertShown(cwd);
  const sessions = createEvalSessions({ sandbox, cwd, idleMs: idle, most, outputLimit });
  const tool = defineTool({
    name: 'eval_code',
    description:
      'Evaluates JavaScript or TypeScript in Node.js and answers what it wrote and the value of its last expression. Variables, functions and imports stay for later calls.',
    parameters,
    safety: evaluate === 'ask' ? 'dangerous' : 'cautious',
    // In a closed sandbox a call changes nothing outside, so a call whose worker died may run again.
    effect: sandbox.isClosed ? 'idempotent' : 'unsafe',
    categories: ['code', 'execution'],
    state,
    outputLimit,
    timeout,
    taskQueue,
    preview: async ({ code }) => `Runs in Node.js ${await sandbox.describe()}\n\n${code}`,
    handler: async ({ code }, context) => {
      if (!isWellFormed(code))
        throw new ToolError('The code holds half a character (a lone surrogate). Nothing ran.');
      return sessions.evaluate(
        {
          script: await toScript(code, context.signal),
          key: context.state?.key ?? context.turn ?? context.callId,
        },
        context,
      );
    },
  });
  return [inPlace(tool, { root: cwd ?? null, sandbox: sandbox.place })];
}

/**
 * Turns JavaScript or TypeScript into one script for the inspector's REPL: without types, and with each import as a
 * call whose names stay for later calls. V8 handles the rest, such as `await`.
 *
 * @throws ToolError for code that is neither language or is nested too deeply; nothing ran.
 */
export async function toScript(
  code: string,
  signal: AbortSignal = new AbortController().signal,
): Promise<string> {
  try {
    const object = asObject(code);
    if (object !== undefined) return object;
    const plain = parseAny(code);
    if (plain !== undefined) return rewrite(code, plain);
    const stripped = await withoutTypes(code, signal);
    const program = parseAny(stripped);
    if (program === undefined) throw new ToolError(`${whyNot(stripped)} Nothing ran.`);
    return rewrite(stripped, program);
  } catch (error) {
    // Parsing and rewriting are recursive.
    throw error instanceof RangeError ? tooDeep() : error;
  }
}

const COMMON: Options = { ecmaVersion: 'latest', allowAwaitOutsideFunction: true, allowHashBang: true };

/** As in other REPLs, code that starts with a brace is read as an object if it can be an object. */
function asObject(code: string): string | undefined {
  if (!/^\s*\{/.test(code)) return undefined;
  const wrapped = `(${code.replace(/;\s*$/, '')}\n)`;
  const program = parseAny(wrapped);
  return program === undefined ? undefined : rewrite(wrapped, program);
}

/**
 * Parses code as a module, or as a script, which allows more. Undefined for code that is neither a module nor a script.
 */
function parseAny(code: string): Program | undefined {
  for (const sourceType of ['module', 'script'] as const)
    try {
      return parse(code, { ...COMMON, sourceType });
    } catch (error) {
      if (error instanceof RangeError) throw error;
      // The next kind may fit. `whyNot` describes the error if no kind fits.
    }
  return undefined;
}

function whyNot(code: string) {
  try {
    parse(code, { ...COMMON, sourceType: 'module' });
    return 'It is not JavaScript.';
  } catch (error) {
    return `SyntaxError: ${errorMessage(error)}.`;
  }
}

/** A part of the code, and the text that replaces it. */
interface Edit {
  start: number;
  end: number;
  text: string;
}

const IMPORT = '__countersign_import';

function rewrite(code: string, program: Program) {
  const edits = [...program.body.flatMap((node) => editsOf(code, node)), ...importCalls(program)];
  return edits
    .sort((a, b) => b.start - a.start)
    .reduce((text, { start, end, text: made }) => text.slice(0, start) + made + text.slice(end), code);
}

function editsOf(code: string, node: Program['body'][number]): Edit[] {
  const { start, end } = node;
  if (node.type === 'ImportDeclaration') return [{ start, end, text: importOf(code, node) }];
  if (node.type === 'ExportAllDeclaration')
    return [{ start, end, text: `await ${IMPORT}(${node.source.raw});` }];
  if (node.type === 'ExportDefaultDeclaration') return [{ start, end: node.declaration.start, text: '' }];
  if (node.type === 'VariableDeclaration') return asLet(node);
  if (node.type !== 'ExportNamedDeclaration') return [];
  const { declaration } = node;
  const inner = declaration?.type === 'VariableDeclaration' ? asLet(declaration) : [];
  return [{ start, end: declaration?.start ?? end, text: '' }, ...inner];
}

/** Turns `const` into `let`. Models declare names again, and V8's REPL allows that for `let` but not for `const`. */
function asLet({ kind, start }: VariableDeclaration): Edit[] {
  return kind === 'const' ? [{ start, end: start + 'const'.length, text: 'let' }] : [];
}

/** `import a, { b as c } from 'x'` as `let { default: a, b: c } = await …('x')`. */
function importOf(code: string, { specifiers, source, attributes }: ImportDeclaration) {
  const list = attributes.map(({ start, end }) => code.slice(start, end)).join(', ');
  const call = `await ${IMPORT}(${source.raw}${list === '' ? '' : `, { with: { ${list} } }`})`;
  const all = specifiers.find(({ type }) => type === 'ImportNamespaceSpecifier');
  const names = specifiers.flatMap((one) => {
    if (one.type === 'ImportNamespaceSpecifier') return [];
    if (one.type === 'ImportDefaultSpecifier') return [`default: ${one.local.name}`];
    const { start, end } = one.imported;
    return [`${code.slice(start, end)}: ${one.local.name}`];
  });
  if (specifiers.length === 0) return `${call};`;
  const whole = all === undefined ? '' : `let ${all.local.name} = ${call};`;
  return whole + (names.length === 0 ? '' : `let { ${names.join(', ')} } = ${all?.local.name ?? call};`);
}

/** The word `import` of each `import(…)`. */
function importCalls(node: unknown): Edit[] {
  if (Array.isArray(node)) return node.flatMap(importCalls);
  if (!isNode(node)) return [];
  const own =
    node.type === 'ImportExpression'
      ? [{ start: node.start, end: node.start + 'import'.length, text: IMPORT }]
      : [];
  return [...own, ...Object.values(node).flatMap(importCalls)];
}

const isNode = (value: unknown): value is AnyNode => isObject(value) && typeof value['type'] === 'string';

const STRIP = join(__dirname, 'strip.cjs');
const STRIP_MS = 20_000;
const MOST_WORDS = 1500;

const answerSchema = z.union([z.object({ stripped: z.string() }), z.object({ refused: z.string() })]);

/**
 * Takes the types out of TypeScript, in a process of its own: the parser is native, and code that is nested too deeply
 * ends its process.
 *
 * @throws ToolError for code that is not TypeScript or is nested too deeply; nothing ran.
 */
async function withoutTypes(code: string, signal: AbortSignal): Promise<string> {
  const late = AbortSignal.timeout(STRIP_MS);
  // It gets no environment variables, so it holds no secrets.
  const child = fork(STRIP, { env: {}, execArgv: [], stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  try {
    const answer = await answerOf(child, { code, signal: AbortSignal.any([signal, late]) });
    if (answer === undefined) throw signal.aborted ? nothingDone('the call was stopped') : tooDeep();
    if ('stripped' in answer) return answer.stripped;
    const words = stripVTControlCharacters(answer.refused).trim().slice(0, MOST_WORDS);
    throw new ToolError(`SyntaxError: ${words}\nNothing ran.`);
  } finally {
    child.kill('SIGKILL');
  }
}

/** The error for code that overflows the stack of a parser. */
function tooDeep() {
  return new ToolError('The code is nested too deeply, or is too long to read. Nothing ran.');
}

/** Undefined if the process ended without an answer, or the signal aborted. */
function answerOf(
  child: ChildProcess,
  { code, signal }: { code: string; signal: AbortSignal },
): Promise<z.infer<typeof answerSchema> | undefined> {
  return new Promise((resolve) => {
    const none = () => resolve(undefined);
    child.once('message', (message) => resolve(answerSchema.safeParse(message).data));
    child.once('error', none);
    child.once('exit', none);
    if (signal.aborted) none();
    else signal.addEventListener('abort', none, { once: true });
    child.send(code, (error) => error !== null && none());
  });
}
