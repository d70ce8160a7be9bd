import { z } from 'zod';
import type { ArgumentsOf, CallContext, Tool } from '../types';
import { createListTools, createReadTools } from './read-tools';
import { createMoveTools } from './move-tools';
import { createRoot, otherForm, type Pack, type Root } from './root';
import { createSearchTool } from './search-tool';
import { isObject } from '../../contract/json';
import type { FilePlan } from '../../contract/plan';
import { defineTool, inPlace } from '../define-tool';
import { ToolError } from '../errors';
import {
  type Change,
  changeFile,
  changeFileAgain,
  describeWritten,
  executePlan,
  mayBeChanged,
  planFile,
  previewOf,
  type WrittenFile,
} from './plan';
import { normalPath } from './path';
import { pathSpelling } from './spelling';
import { editText, insertLine } from './edit-text';
import { fromModel } from './text';

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
  const pack: Pack = { categories: ['workspace'], taskQueue };
  const tools = [
    ...createReadTools(root, pack),
    ...createListTools(root, pack),
    createSearchTool(root, pack),
    ...createContentTools(root, pack),
    ...createMoveTools(root, pack),
  ];
  return tools.map((tool) => inPlace(tool, { root: root.directory }, pathSpelling(root.directory)));
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
      parameters: z.strictObject({ path, edits, replace_all }),
      needsBase: true,
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
      needsBase: true,
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
  /** Whether the new text depends on the text before. Without a plan, a second attempt could then change it twice. */
  needsBase?: boolean;
  change(args: ArgumentsOf<P>): Change;
}

function contentTool(root: Root, pack: Pack) {
  return <P extends z.ZodObject<{ path: z.ZodString }>>({
    change,
    needsBase = false,
    ...about
  }: ContentTool<P>): Tool =>
    defineTool({
      ...pack,
      ...about,
      safety: 'dangerous',
      effect: 'idempotent',
      preview: async (args: ArgumentsOf<P>) => previewOf(await planFile(root, pathOf(args), change(args))),
      handler: async (args: ArgumentsOf<P>, context: CallContext) => {
        const path = pathOf(args);
        const plan = approved(path, context);
        context.signal.throwIfAborted();
        const { hunks, ranBefore } = context;
        const say = (written: WrittenFile) =>
          [describeWritten(written), otherForm(path, written.path)].filter(Boolean).join(' ');
        if (plan !== undefined) return say(await executePlan(root, plan, { hunks, ranBefore }));
        if (needsBase && ranBefore) throw mayBeChanged(normalPath(path));
        const write = ranBefore ? changeFileAgain : changeFile;
        return say(await write(root, path, change(args)));
      },
    });
}

/** The path in the arguments. Every schema above has a path, but the compiler cannot see this through the generic. */
function pathOf(args: unknown): string {
  return isObject(args) ? String(args['path']) : '';
}

/** The approved plan. Refuses a plan for another file, because people never saw it with these arguments. */
function approved(path: string, { plan }: CallContext): FilePlan | undefined {
  if (plan === undefined || plan.path.normalize() === normalPath(path).normalize()) return plan;
  throw new ToolError(`The approved plan is for "${plan.path}". Nothing was written.`, { code: 'conflict' });
}
