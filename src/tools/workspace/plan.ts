import { z } from 'zod';
import { isObject } from '../../contract/json';
import type { FilePlan, Hunk, Preview } from '../../contract/plan';
import { defineTool } from '../define-tool';
import { isToolError, ToolError } from '../errors';
import type { ArgumentsOf, CallContext, Tool } from '../types';
import { editText, insertLine } from './edit-text';
import { applyHunks, HunkMismatch, makeHunks, renderDiff, reverseHunks } from './hunks';
import { assertWritable, normalPath, splitPath, orIfMissing } from './path';
import { type FileLocation, otherForm, type Pack, readBytes, readBytesIfThere, type Root } from './root';
import { decodeText, encodeText, type Encoding, encodingOf, fromModel, isBinary, marked } from './text';
import { requireOneName, writeAtomic } from './write-atomic';
import { sha256 } from '../../system/sha256';

/**
 * Makes the new text of a file. `base` is null if there is no file. Texts are in the file's encoding. Throws an
 * error for the model.
 */
type Change = (base: string | null, encoding: Encoding) => string;

/**
 * Plans a change of one file. Writes nothing.
 * @throws ToolError if the change cannot be made, or would change nothing.
 */
export async function planFile(root: Root, path: string, change: Change): Promise<FilePlan> {
  assertWritable(splitPath(path));
  const current = await readBytesIfThere(root, path);
  requireOneName(normalPath(path), current?.facts);
  return makePlan(current?.path ?? normalPath(path), current?.bytes ?? null, change);
}

/**
 * Changes one file without a plan, if nobody is asked. So no diff is made.
 * @throws ToolError if the change cannot be made, or would change nothing.
 */
async function changeFile(root: Root, path: string, change: Change): Promise<WrittenFile> {
  assertWritable(splitPath(path));
  const current = await readBytesIfThere(root, path);
  const found = current?.path ?? normalPath(path);
  const { target, encoding } = changed(found, current?.bytes ?? null, change);
  const bytes = encodeText(target, encoding);
  const write = (place: FileLocation) => writeAtomic(place, bytes, current?.facts);
  await root.inParent(path, write, { make: current === null });
  return { path: found, bytes: bytes.length, done: 'written', rejected: [] };
}

/**
 * Changes one file without a plan, if an earlier attempt may have done it. `change` must not depend on the text before.
 * @throws ToolError `conflict` if the change cannot be made now. It says that the earlier attempt may have made it.
 */
async function changeFileAgain(root: Root, path: string, change: Change): Promise<WrittenFile> {
  assertWritable(splitPath(path));
  try {
    const current = await readBytesIfThere(root, path);
    if (current === null) return await changeFile(root, path, change);
    const encoding = encodingOf(current.bytes);
    const made = change(null, encoding);
    const asked = encodeText(marked(made, encoding), encoding);
    if (!current.bytes.equals(asked)) return await changeFile(root, path, change);
    return { path: normalPath(path), bytes: asked.length, done: 'asked', rejected: [] };
  } catch (error) {
    throw isToolError(error) ? mayBeChanged(normalPath(path), error) : error;
  }
}

/** The error of a later attempt that wrote nothing. `why`: the reason, unless nothing was tried. */
function mayBeChanged(path: string, why?: ToolError): ToolError {
  const reason = why === undefined ? '.' : `: ${why.message}`;
  const message = `An earlier attempt may have changed "${path}". This attempt wrote nothing${reason} Read the file and propose anew.`;
  return new ToolError(message, { code: 'conflict', cause: why });
}

function makePlan(path: string, bytes: Buffer | null, change: Change): FilePlan {
  const { base, target, encoding } = changed(path, bytes, change);
  return {
    path,
    baseHash: bytes === null ? null : sha256(bytes),
    targetHash: sha256(encodeText(target, encoding)),
    encoding,
    hunks: makeHunks(base ?? '', target),
  };
}

function changed(path: string, bytes: Buffer | null, change: Change) {
  if (bytes !== null && isBinary(bytes))
    throw new ToolError(`"${path}" is a binary file; it has no text to change.`);
  const encoding = bytes === null ? 'utf8' : encodingOf(bytes);
  const base = bytes === null ? null : decodeText(bytes, encoding);
  const made = change(base, encoding);
  const target = marked(made, encoding);
  if (target === base) throw new ToolError(`Nothing would change in "${path}"; it already is as asked.`);
  return { base, target, encoding };
}

const NOTES: Readonly<Record<Encoding, string>> = {
  utf8: '',
  latin1: '(not UTF-8: shown as Latin-1, every byte is kept)\n',
  utf16le: '(UTF-16, little-endian)\n',
  utf16be: '(UTF-16, big-endian)\n',
};

/** The preview for an approver: the unified diff. */
function previewOf(plan: FilePlan): Preview {
  const note = NOTES[plan.encoding];
  const empty = plan.hunks.length === 0 ? '\n(an empty file)' : '';
  const names = { before: plan.baseHash === null ? null : plan.path, after: plan.path };
  return { text: note + renderDiff(names, plan.hunks) + empty, plan };
}

/** The result of executing a plan. */
interface WrittenFile {
  path: string;
  /** Size of the file now; 0 if nothing was written. */
  bytes: number;
  /**
   * `already`: the file was as approved, because an earlier attempt had written it. `asked`: the same without a plan.
   */
  done: 'written' | 'already' | 'asked' | 'rejected';
  rejected: Hunk[];
}

/** The attempt that executes a plan, and the hunks to apply. */
interface PlanRun {
  /** Ids of the hunks to apply. @default all */
  hunks?: readonly string[];
  /** Whether an earlier attempt may have run. @default false */
  ranBefore?: boolean;
}

/**
 * Applies the approved hunks to the same bytes for which they were planned. If the file already is the target, there
 * is nothing to do. Any other file is a conflict, and this attempt writes nothing.
 *
 * @throws ToolError `conflict`.
 */
export async function executePlan(root: Root, plan: FilePlan, run: PlanRun = {}): Promise<WrittenFile> {
  try {
    return await writePlanned(root, plan, run.hunks);
  } catch (error) {
    throw error instanceof Conflict ? conflictError(plan.path, error.message, run) : error;
  }
}

class Conflict extends Error {}

function conflictError(path: string, why: string, { ranBefore = false }: PlanRun): ToolError {
  const wrote = ranBefore ? 'This attempt wrote nothing; an earlier one may have.' : 'Nothing was written.';
  const message = `Conflict at "${path}": ${why}. ${wrote} Read the file and propose anew.`;
  return new ToolError(message, { code: 'conflict' });
}

async function writePlanned(root: Root, plan: FilePlan, chosen?: readonly string[]): Promise<WrittenFile> {
  const { path } = plan;
  assertWritable(splitPath(path));
  const { kept, rejected } = choose(plan, chosen);
  if (kept.length === 0 && rejected.length > 0) return { path, bytes: 0, done: 'rejected', rejected };
  const write = async (place: FileLocation): Promise<WrittenFile> => {
    const current = await orIfMissing(readBytes(place), null);
    const bytes = current?.bytes ?? null;
    if (bytes !== null && isDone(plan, kept, bytes)) {
      return { path, bytes: bytes.length, done: 'already', rejected };
    }
    const target = targetOf(plan, kept, bytes);
    await writeAtomic(place, target, current?.facts);
    return { path, bytes: target.length, done: 'written', rejected };
  };
  return root.inParent(path, write, { make: plan.baseHash === null });
}

function choose(plan: FilePlan, chosen: readonly string[] | undefined) {
  const unknown = chosen?.find((id) => !plan.hunks.some((hunk) => hunk.id === id));
  if (unknown !== undefined) throw new Conflict(`its plan has no hunk "${unknown}"`);
  const kept = plan.hunks.filter(({ id }) => chosen?.includes(id) ?? true);
  return { kept, rejected: plan.hunks.filter((hunk) => !kept.includes(hunk)) };
}

/**
 * Whether an earlier attempt has already written these hunks. If only some hunks were kept, reversing them has to
 * give the bytes for which they were planned.
 */
function isDone(plan: FilePlan, kept: readonly Hunk[], bytes: Buffer) {
  const hash = sha256(bytes);
  if (hash === plan.baseHash) return false;
  if (kept.length === plan.hunks.length) return hash === plan.targetHash;
  // Bytes that are not UTF-8 would be decoded as U+FFFD and would then match a real U+FFFD.
  if (plan.encoding !== 'latin1' && encodingOf(bytes) !== plan.encoding) return false;
  try {
    const before = encodeText(reverseHunks(decodeText(bytes, plan.encoding), kept), plan.encoding);
    return plan.baseHash !== null && sha256(before) === plan.baseHash;
  } catch (error) {
    if (error instanceof HunkMismatch) return false;
    throw error;
  }
}

function targetOf(plan: FilePlan, kept: readonly Hunk[], bytes: Buffer | null): Buffer {
  const hash = bytes === null ? null : sha256(bytes);
  if (hash !== plan.baseHash) throw new Conflict('the file changed since this was proposed');
  const base = bytes === null ? '' : decodeText(bytes, plan.encoding);
  const target = encodeText(applyPlanned(plan, kept, base), plan.encoding);
  const whole = kept.length === plan.hunks.length;
  if (whole && sha256(target) !== plan.targetHash) throw new Conflict('the plan does not lead to its target');
  return target;
}

function applyPlanned(plan: FilePlan, kept: readonly Hunk[], base: string) {
  try {
    return applyHunks(base, kept);
  } catch (error) {
    if (error instanceof HunkMismatch) throw new Conflict(error.message);
    throw error;
  }
}

/** The result of a write for the model. */
function describeWritten({ path, bytes, done, rejected }: WrittenFile) {
  if (done === 'rejected') {
    return `Nothing was written to ${path}: a person rejected every hunk. Stop, and do not propose this change again.`;
  }
  const what =
    done === 'written'
      ? `Wrote ${path} (${bytes} bytes).`
      : `${path} already is as ${done === 'asked' ? 'asked' : 'approved'} (${bytes} bytes); nothing had to be written.`;
  if (rejected.length === 0) return what;
  const names = rejected.map(({ id, oldStart }) => `${id} (at line ${oldStart} of the old file)`);
  const left = rejected.length === 1 ? 'this hunk, which was' : 'these hunks, which were';
  return `${what} A person rejected ${left} left out: ${names.join(', ')}. Do not propose that part again.`;
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
  }: ContentTool<P>) =>
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
function pathOf(args: unknown) {
  return isObject(args) ? String(args['path']) : '';
}

/** The approved plan. Refuses a plan for another file, because people never saw it with these arguments. */
function approved(path: string, { plan }: CallContext): FilePlan | undefined {
  if (plan === undefined || plan.path.normalize() === normalPath(path).normalize()) return plan;
  throw new ToolError(`The approved plan is for "${plan.path}". Nothing was written.`, { code: 'conflict' });
}
