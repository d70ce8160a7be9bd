import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { readPrivateFile, userStateDir } from '../../system/files';
import { defineTool, inPlace } from '../define-tool';
import { nothingDone, ToolError } from '../errors';
import { duration, checkedOptions, wrongOptions } from '../option-values';
import type { CallContext, Tool } from '../types';
import { createWorkspaceTools } from '../workspace';
import { compileSearch, restsOf } from '../workspace/search-tool';
import { createFormHistory, type FormHistory } from './history';
import { attachImage, findOrStartImage, type LiveImage } from './image';
import { createSession } from './session';
import { createFormTools, createLookupTools } from './tools';
import { sha256 } from '../../system/sha256';

const filled = z.string().min(1);

const SWANK = /^(\[[0-9a-fA-F:]+\]|[^\s:[\]]+):(\d{1,5})$/;

const optionsSchema = z.strictObject({
  /**
   * Folder of the sources: for the tools for files and buffers, and the working directory of the image.
   *
   * @default no such tools; the image starts in the current folder
   */
  root: filled.optional(),
  /** `host:port` of a Swank server that runs already, instead of an image of our own. */
  swank: z.string().regex(SWANK, 'must be host:port').optional(),
  /** The file with the secret of the Swank server. @default `~/.slime-secret`, if it exists */
  secretFile: filled.optional(),
  /** The SBCL to start. @default 'sbcl' */
  program: filled.default('sbcl'),
  /** Lisp files that a new image loads first, such as the one that loads your system. */
  load: z.array(filled).readonly().default([]),
  /** Memory of the image for Lisp objects, in MiB. @default 1024 */
  heapMb: z
    .int()
    .min(64)
    .max(1024 * 1024)
    .default(1024),
  /** Name of the image; packs with the same name and state folder share one image. @default made from `root` */
  name: z
    .string()
    .regex(/^[\w-]{1,64}$/, 'must be of letters, digits, _ and -')
    .optional(),
  /** Folder for the records of images. @default the user's own state directory */
  stateDir: filled.optional(),
  /** Package for names and forms if a call names no package. @default 'COMMON-LISP-USER' */
  package: filled.default('COMMON-LISP-USER'),
  /**
   * `ask`: each form waits for a person. `cautious`: forms are logged and run, although they can write any file.
   *
   * @default 'ask'
   */
  evaluate: z.enum(['ask', 'cautious']).default('ask'),
  /** A form or a question that takes longer is interrupted. @default 30 s */
  timeout: duration().optional(),
  /** Bytes of output kept. @default 64 KiB */
  outputLimit: z.int().optional(),
  /** The queue of the worker that has the image. @default the turn's own */
  taskQueue: filled.optional(),
});
/** The options of `createLispTools`. */
export interface LispOptions extends z.input<typeof optionsSchema> {}
type Options = z.output<typeof optionsSchema>;

/**
 * Makes tools for a running Lisp image (SBCL), through Swank. Questions are safe; running a form asks first. The image
 * is a separate process that starts at the first use. Later workers find the same image again.
 *
 * @throws CountersignError `config_invalid` for a wrong option, or a `root` that does not name a folder.
 * @example
 * defineAgent({ name: 'lisper', instructions: '…', model, tools: createLispTools({ root: './src' }) });
 */
export function createLispTools(given: LispOptions = {}): Tool[] {
  const options = checkedOptions(optionsSchema, given, wrongOptions('createLispTools'));
  const { root, taskQueue, timeout, outputLimit } = options;
  const dir = folderOf(options);
  const history = createFormHistory(dir);
  const image = imageOf(options, dir);
  const session = createSession({
    history,
    open: () => (typeof image === 'string' ? attach(image, options) : findOrStartImage(image)),
  });
  const pack = {
    session,
    history,
    package: options.package,
    evaluation: options.evaluate === 'cautious' ? ('cautious' as const) : ('dangerous' as const),
    place: placeOf(options, dir),
    taskQueue,
    timeout,
    outputLimit,
  };
  const tools = [
    ...createLookupTools(pack),
    ...createFormTools(pack),
    ...(root === undefined ? [] : createBufferTools({ root, history, taskQueue })),
  ];
  return tools.map((tool) => inPlace(tool, { image, root: root === undefined ? null : resolve(root) }));
}

/** The folder of an image. Each image has its own folder. */
function folderOf({ stateDir = userStateDir(), root = '.', swank, name }: Options) {
  const known = swank ?? resolve(root);
  const made = sha256(known).slice(0, 16);
  return resolve(stateDir, 'lisp', name ?? made);
}

function placeOf({ swank, root = '.' }: Options, dir: string) {
  return swank === undefined ? `the Lisp image of ${resolve(root)} (${dir})` : `the Lisp image at ${swank}`;
}

/** The address of an image that runs already, or how to start one. */
function imageOf({ swank, root = '.', program, heapMb, load }: Options, dir: string) {
  if (swank !== undefined) return swank;
  return { dir, program, heapMb, cwd: resolve(root), load: load.map((file) => resolve(file)) };
}

async function attach(swank: string, options: Options): Promise<LiveImage> {
  const [, host = '', port = ''] = SWANK.exec(swank) ?? [];
  const secret = secretOf(options);
  if (secret === undefined)
    process.emitWarning(
      `Swank at ${swank} asks for no secret: whoever reaches that port can run anything there`,
    );
  return attachImage({ host: host.replace(/^\[|\]$/g, ''), port: Number(port), secret });
}

/** The secret: the first line of its file, as SLIME reads it. */
function secretOf({ secretFile }: Options): string | undefined {
  const path = secretFile ?? join(homedir(), '.slime-secret');
  const file = readPrivateFile(path);
  if ('text' in file) return file.text.split('\n')[0] ?? '';
  if (file.fault === 'missing' && secretFile === undefined) return undefined;
  throw nothingDone(`The secret of Swank cannot be read from ${path} (${file.fault}). Nothing was sent.`);
}

/** The options of the tools for files and buffers. */
interface BufferPack {
  /** The folder of the sources. */
  root: string;
  history: FormHistory;
  taskQueue?: string;
}

/** The one buffer that is not a file: the forms that ran, and how they ended. */
const REPL = '*repl*';
const REPL_FORMS = 50;

/** The tools of the workspace pack that the Lisp pack has too. */
const FILE_TOOLS: readonly string[] = ['read_file', 'write_file', 'propose_file_edit'];

/** The tools for files and buffers. There is no editor here, so a buffer is a file below the root, or the REPL. */
function createBufferTools({ root, history, taskQueue }: BufferPack): Tool[] {
  const files = createWorkspaceTools({ root, taskQueue });
  const readFile = files.find(({ name }) => name === 'read_file');
  const textOf = async (buffer: string, context: CallContext) =>
    buffer === REPL
      ? history.describe(REPL_FORMS)
      : String(await readFile?.handle({ path: buffer }, context));
  const common = { categories: ['lisp', 'buffer'], taskQueue };
  return [
    ...files.filter(({ name }) => FILE_TOOLS.includes(name)),
    defineTool({ ...common, ...readBuffer(textOf) }),
    defineTool({ ...common, ...searchInBuffer(textOf) }),
  ];
}

type TextOf = (buffer: string, context: CallContext) => Promise<string>;

const buffer = z
  .string()
  .min(1)
  .default(REPL)
  .describe(`A file, relative to the workspace root, or ${REPL}: the forms that ran and their results.`);

const bufferParameters = z.strictObject({
  buffer,
  start: z.int().min(1).optional().describe('Start position in the buffer; 1 is the first character.'),
  end: z.int().min(1).optional().describe('End position in the buffer; the character there is left out.'),
});

function readBuffer(textOf: TextOf) {
  return {
    name: 'read_buffer',
    description: 'Read the contents of a buffer. Can read the entire buffer or a specific region.',
    parameters: bufferParameters,
    handler: async (args: z.output<typeof bufferParameters>, context: CallContext) => {
      const text = await textOf(args.buffer, context);
      if (args.start === undefined && args.end === undefined) return text;
      const characters = Array.from(text);
      const { start = 1, end = characters.length + 1 } = args;
      if (start > characters.length + 1 || end < start)
        throw new ToolError(
          `The buffer has the positions 1 to ${characters.length + 1}; ${start} to ${end} is not in it.`,
        );
      return characters.slice(start - 1, end - 1).join('');
    },
  };
}

const searchParameters = z.strictObject({
  pattern: filled.max(1000).describe('Search pattern (text, or a regular expression of RE2).'),
  buffer,
  regex: z.boolean().default(false).describe('If true, the pattern is a regular expression.'),
  all_matches: z.boolean().default(true).describe('If true, return all matches; otherwise just the first.'),
});

const MOST_MATCHES = 500;

function searchInBuffer(textOf: TextOf) {
  return {
    name: 'search_in_buffer',
    description:
      'Search for text in a buffer by a regular expression (within each line) or a literal text. Returns matches with line numbers and positions.',
    parameters: searchParameters,
    handler: async (args: z.output<typeof searchParameters>, context: CallContext) => {
      const text = await textOf(args.buffer, context);
      const { found, long } = await matchesIn(text, args, context.signal);
      const passed = long === 0 ? [] : [`(lines too long for such a pattern were passed over: ${long})`];
      if (found.length === 0) return [`No matches found for '${args.pattern}'`, ...passed].join('\n');
      const more = found.length > MOST_MATCHES ? [`(more than ${MOST_MATCHES}; narrow the pattern)`] : [];
      const shown = found.slice(0, MOST_MATCHES);
      const head = `Found ${shown.length} match${shown.length === 1 ? '' : 'es'} for '${args.pattern}':`;
      return [head, '', ...shown, ...more, ...passed].join('\n');
    },
  };
}

/** One line for each match; positions and lines count from 1. `long` counts the lines that were too long. */
async function matchesIn(text: string, search: z.output<typeof searchParameters>, signal: AbortSignal) {
  const most = search.all_matches ? MOST_MATCHES + 1 : 1;
  const rest = restsOf(signal);
  const found: string[] = [];
  let [line, position, seen, long] = [1, 1, 0, 0];
  for (const span of search.regex ? patternSpans(text, search.pattern) : textSpans(text, search.pattern)) {
    await rest();
    if (span === 'line') continue;
    if (span === 'long') {
      long += 1;
      continue;
    }
    const before = Array.from(text.slice(seen, span.start));
    line += before.filter((character) => character === '\n').length;
    position += before.length;
    seen = span.start;
    const match = JSON.stringify(text.slice(span.start, span.end).slice(0, 300));
    found.push(`Line ${line}, Position ${position}: ${match}`);
    if (found.length === most) break;
  }
  return { found, long };
}

/** A match, the end of a line, or a line that is too long for the pattern. */
type Span = { start: number; end: number } | 'line' | 'long';

function* textSpans(text: string, wanted: string): Generator<Span> {
  for (let start = text.indexOf(wanted); start !== -1; start = text.indexOf(wanted, start + wanted.length))
    yield { start, end: start + wanted.length };
}

function* patternSpans(text: string, query: string): Generator<Span> {
  const { pattern, most } = compileSearch({ query, regex: true, case_sensitive: true });
  let from = 0;
  for (const ended of text.split('\n')) {
    const line = ended.replace(/\r$/, '');
    if (line.length > most) yield 'long';
    else
      for (const matcher = pattern.matcher(line); matcher.find();)
        yield { start: from + matcher.start(), end: from + matcher.end() };
    yield 'line';
    from += ended.length + 1;
  }
}
