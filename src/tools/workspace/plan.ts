import type { FilePlan, Preview } from '../../contract/plan';
import { ToolError } from '../errors';
import { makeHunks, renderDiff } from './make-hunks';
import { assertWritable, normalPath, splitPath } from './path';
import { readIfThere, type Root } from './root';
import { decodeText, encodeText, encodingOf, hashBytes, isBinary, type Encoding } from './text';

/** What a file should become. `base` is null where there is none; texts are in the file's encoding. Throws what the model should read. */
export type Change = (base: string | null, encoding: Encoding) => string;

/** Plans a change of one file; nothing is written. @throws ToolError where it cannot be made, or would change nothing. */
export async function planFile(root: Root, path: string, change: Change): Promise<FilePlan> {
  assertWritable(splitPath(path));
  const current = await readIfThere(root, path);
  return makePlan(normalPath(path), current?.bytes ?? null, change);
}

function makePlan(path: string, bytes: Buffer | null, change: Change): FilePlan {
  if (bytes !== null && isBinary(bytes))
    throw new ToolError(`"${path}" is a binary file; it has no text to change.`);
  const encoding = bytes === null ? 'utf8' : encodingOf(bytes);
  const base = bytes === null ? null : decodeText(bytes, encoding);
  const target = change(base, encoding);
  if (target === base) throw new ToolError(`Nothing would change in "${path}"; it already is as asked.`);
  return {
    path,
    baseHash: bytes === null ? null : hashBytes(bytes),
    targetHash: hashBytes(encodeText(target, encoding)),
    encoding,
    hunks: makeHunks(base ?? '', target),
  };
}

/** What an approver is shown: the unified diff. */
export function previewOf(plan: FilePlan): Preview {
  const note = plan.encoding === 'latin1' ? '(not UTF-8: shown as Latin-1, every byte is kept)\n' : '';
  const empty = plan.hunks.length === 0 ? '\n(an empty file)' : '';
  return { text: note + renderDiff(plan) + empty, plan };
}
