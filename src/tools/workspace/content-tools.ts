import { z } from 'zod';
import { isObject } from '../../contract/json';
import type { FilePlan } from '../../contract/plan';
import { defineTool } from '../define-tool';
import { ToolError } from '../errors';
import type { ArgumentsOf, CallContext, Tool } from '../types';
import { editText, insertLine } from './edit-text';
import { describeWritten, executePlan } from './execute-plan';
import type { Pack } from './pack';
import { normalPath } from './path';
import { planFile, previewOf, type Change } from './plan';
import type { Root } from './root';
import { fromModel } from './text';

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

/** The tools that write the content of one file. Each is planned, shown as a diff, and executed on the bytes it was planned on. */
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

/** What one of these tools is made of. */
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

/** Every schema above has a path; the compiler cannot see it through the generic. */
function pathOf(args: unknown): string {
  return isObject(args) ? String(args['path']) : '';
}

/** The approved plan. Another file than the arguments name was never shown beside them. */
function approved(path: string, { plan }: CallContext): FilePlan | undefined {
  if (plan === undefined || plan.path === normalPath(path)) return plan;
  throw new ToolError(`The approved plan is for "${plan.path}". Nothing was written.`, { code: 'conflict' });
}

async function execute(root: Root, plan: FilePlan, { hunks, signal }: CallContext): Promise<string> {
  signal.throwIfAborted();
  return describeWritten(await executePlan(root, plan, hunks));
}
