import { z } from 'zod';
import { defined } from '../../contract/defined';
import type { ArgumentsOf, CallContext, Tool } from '../types';
import { createListTools, createReadTools } from './read-tools';
import { createMoveTools } from './move-tools';
import { createRoot, type Pack, type Root } from './root';
import { createSearchTool } from './search-tool';
import { isObject } from '../../contract/json';
import type { FilePlan } from '../../contract/plan';
import { defineTool, inPlace } from '../define-tool';
import { ToolError } from '../errors';
import { type Change, describeWritten, executePlan, planFile, previewOf } from './plan';
import { normalPath } from './path';
import { type Encoding, fromModel, splitLines } from './text';

/** The options of `createWorkspaceTools`. */
export interface WorkspaceOptions {
  /** The only folder that the tools may touch, relative to the worker's folder. It has to exist when a tool is used. */
  root: string;
  limits?: {
    /** The most bytes of a file that is read or changed. @default 10 MiB */
    fileBytes?: number;
  };
  /** The queue of the worker that has the files. @default the turn's own */
  taskQueue?: string;
}

/**
 * Makes tools for the files of one folder. Tools that read are safe. Tools that write are dangerous and ask first. The
 * tools reach nothing outside the folder, and follow no links at all. The tools touch regular files only, and writes
 * are atomic.
 *
 * @throws CountersignError `config_invalid` for a `root` that does not name a folder.
 */
export function createWorkspaceTools({ root: directory, limits = {}, taskQueue }: WorkspaceOptions): Tool[] {
  const root = createRoot(directory, limits);
  const pack: Pack = { categories: ['workspace'], ...defined({ taskQueue }) };
  const tools = [
    ...createReadTools(root, pack),
    ...createListTools(root, pack),
    createSearchTool(root, pack),
    ...createContentTools(root, pack),
    ...createMoveTools(root, pack),
  ];
  return tools.map((tool) => inPlace(tool, { root: root.directory }));
}

const path = z.string().min(1).describe('File, relative to the workspace root.');
const content = z.string().describe('The whole new content.');
const edits = z
  .array(
    z.strictObject({
      old_text: z.string().min(1).describe('Text that stands in the file exactly once, as it stands there.'),
      new_text: z.string().describe('What takes its place.'),
    }),
  )
  .min(1)
  .max(200)
  .describe('Replacements, made in order, each on what the ones before left.');
const replace_all = z
  .boolean()
  .default(false)
  .describe('Replace every occurrence; old_text may then stand more than once.');

/**
 * The tools that write the content of one file. Each change is planned, shown as a diff, and executed only on the bytes
 * for which it was planned.
 */
export function createContentTools(root: Root, pack: Pack): Tool[] {
  const tool = contentTool(root, pack);
  return [
    tool({
      name: 'write_file',
      description:
        'Replaces the whole content of a file, or makes the file and the folders it is in. Needs approval.',
      parameters: z.strictObject({ path, content }),
      change: (args) => (_, encoding) => fromModel(args.content, encoding),
    }),
    tool({
      name: 'create_file',
      description: 'Makes a new file, with the folders it is in; refuses where one exists. Needs approval.',
      parameters: z.strictObject({ path, content }),
      change: (args) => (base, encoding) => {
        if (base !== null)
          throw new ToolError(`"${args.path}" exists. Use edit_file or write_file to change it.`);
        return fromModel(args.content, encoding);
      },
    }),
    tool({
      name: 'edit_file',
      description: 'Replaces exact pieces of text in a file, in order. Needs approval, hunk by hunk.',
      parameters: z.strictObject({
        path,
        edits,
        replace_all,
      }),
      change: (args) => (base, encoding) => editText({ ...args, base, encoding }),
    }),
    tool({
      name: 'insert_at_line',
      description:
        'Puts text before a line of a file (1 is the first; one past the last appends). Needs approval.',
      parameters: z.strictObject({
        path,
        line: z.int().min(1).describe('The line that the text is put before.'),
        text: z.string().min(1).describe('Whole lines.'),
      }),
      change: (args) => (base, encoding) => insertLine({ ...args, base, encoding }),
    }),
    tool({
      name: 'propose_file_edit',
      description: 'Proposes new content for a file; a person accepts or rejects each hunk of the diff.',
      parameters: z.strictObject({ path, new_content: content }),
      change: (args) => (_, encoding) => fromModel(args.new_content, encoding),
    }),
  ];
}

/** The definition of a tool that writes content. */
interface ContentTool<P extends z.ZodObject> {
  name: string;
  description: string;
  parameters: P;
  change(args: ArgumentsOf<P>): Change;
}

function contentTool(root: Root, pack: Pack) {
  return <P extends z.ZodObject<{ path: z.ZodString }>>({ change, ...about }: ContentTool<P>): Tool =>
    defineTool({
      ...pack,
      ...about,
      safety: 'dangerous',
      effect: 'idempotent',
      preview: async (args: ArgumentsOf<P>) => previewOf(await planFile(root, pathOf(args), change(args))),
      handler: async (args: ArgumentsOf<P>, context: CallContext) => {
        const plan = approved(pathOf(args), context) ?? (await planFile(root, pathOf(args), change(args)));
        return execute(root, plan, context);
      },
    });
}

/** The path in the arguments. Every schema above has a path, but the compiler cannot see this through the generic. */
function pathOf(args: unknown): string {
  return isObject(args) ? String(args['path']) : '';
}

/** The approved plan. Refuses a plan for another file, because people never saw it with these arguments. */
function approved(path: string, { plan }: CallContext): FilePlan | undefined {
  if (plan === undefined || plan.path === normalPath(path)) return plan;
  throw new ToolError(`The approved plan is for "${plan.path}". Nothing was written.`, { code: 'conflict' });
}

async function execute(root: Root, plan: FilePlan, { hunks, attempt, signal }: CallContext): Promise<string> {
  signal.throwIfAborted();
  return describeWritten(await executePlan(root, plan, { hunks, attempt }));
}

/** The text of a file in the file's encoding; `base` is null if there is no file. */
interface Based {
  path: string;
  base: string | null;
  encoding: Encoding;
}

/** A piece of text and its replacement. */
interface Replacement {
  old_text: string;
  new_text: string;
}

/**
 * Replaces pieces of text in order, each in the result of the edits before it.
 *
 * @throws ToolError if a piece does not occur, or occurs more than once without `replace_all`.
 */
export function editText(args: Based & { edits: readonly Replacement[]; replace_all: boolean }): string {
  let text = existing(args);
  for (const [index, edit] of args.edits.entries()) {
    const { wanted, made } = spell(text, edit, args.encoding);
    const times = args.replace_all ? Math.min(1, countOf(text, wanted)) : countOf(text, wanted);
    if (times !== 1) throw notOnce(`Edit ${index + 1}: its old_text`, args.path, times);
    text = replaceAll(text, wanted, made);
  }
  return text;
}

/** The most characters of a text after replacements: as many as the default limit for a file's bytes. */
const MOST_CHARACTERS = 10 * 1024 * 1024;

/** Replaces all occurrences. Unlike in String.replaceAll, `$` in `made` has no special meaning. */
function replaceAll(text: string, wanted: string, made: string): string {
  const pieces = text.split(wanted);
  const length = text.length + (pieces.length - 1) * (made.length - wanted.length);
  if (length <= Math.max(MOST_CHARACTERS, text.length)) return pieces.join(made);
  throw new ToolError(`The file would grow to ${length} characters; nothing was changed. Replace less.`);
}

function existing({ path, base }: Based): string {
  if (base === null) throw new ToolError(`There is no file "${path}". Use create_file to make it.`);
  return base;
}

function notOnce(what: string, path: string, times: number): ToolError {
  if (times === 0) {
    return new ToolError(`${what} does not stand in "${path}"; nothing was changed. Read the file again.`);
  }
  const how = 'Give more of the lines around it, or set replace_all';
  return new ToolError(`${what} stands in "${path}" more than once; nothing was changed. ${how}.`);
}

/**
 * 0, 1, or 2 for more occurrences. Overlapping occurrences count too, because it is not known which one the model
 * means.
 */
function countOf(text: string, wanted: string): number {
  const first = text.indexOf(wanted);
  if (first === -1) return 0;
  return text.includes(wanted, first + 1) ? 2 : 1;
}

/**
 * A replacement in the file's spelling. Its line ends become the file's line ends. In a file that is not UTF-8, we
 * first look for the text as UTF-8 and then as Latin-1, in which the file is shown.
 */
function spell(base: string, { old_text, new_text }: Replacement, encoding: Encoding) {
  const wanted = lineEndsOf(base, fromModel(old_text, encoding));
  const made = lineEndsOf(base, fromModel(new_text, encoding));
  const latin = isLatin(old_text) && isLatin(new_text);
  if (encoding === 'utf8' || !latin || base.includes(wanted)) return { wanted, made };
  return { wanted: lineEndsOf(base, old_text), made: lineEndsOf(base, new_text) };
}

function isLatin(text: string): boolean {
  return Buffer.from(text, 'latin1').toString('latin1') === text;
}

/** If all lines of a file end in CRLF, the text gets CRLF too: models write `\n`. Otherwise it stays unchanged. */
function lineEndsOf(base: string, text: string): string {
  const crlf = base.includes('\r\n') && !/(?<!\r)\n/.test(base);
  return crlf && !text.includes('\r') ? text.replaceAll('\n', '\r\n') : text;
}

/**
 * Inserts text before a line. Adds a line end if the text has no line end. @throws ToolError for a line past the end.
 */
export function insertLine(args: Based & { line: number; text: string }): string {
  const base = existing(args);
  const lines = splitLines(base);
  if (args.line > lines.length + 1) {
    throw new ToolError(
      `"${args.path}" has ${lines.length} lines, so line ${args.line} is past its end; ${lines.length + 1} appends.`,
    );
  }
  const text = fromModel(args.text, args.encoding);
  const piece = lineEndsOf(base, text.endsWith('\n') ? text : `${text}\n`);
  const before = args.line === 1 ? markOf(base) : lines.slice(0, args.line - 1).join('');
  const gap = args.line === 1 || before.endsWith('\n') ? '' : lineEndsOf(base, '\n');
  return before + gap + piece + base.slice(before.length);
}

/** The byte order mark of a text, which has to stay first. */
function markOf(base: string): string {
  return base.startsWith('\ufeff') ? '\ufeff' : '';
}
