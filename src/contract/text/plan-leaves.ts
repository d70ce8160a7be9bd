import type { FilePlan, Hunk } from '../plan';
import type { Leaf } from './json-diff';

/** The names that file tools use for a text that is in the file before or after the change. */
const FILE_TEXTS: readonly string[] = ['old_text', 'new_text', 'content'];

/**
 * Divides the arguments by whether the diff shows them. The diff shows a text of several lines that occurs in it before
 * or after the change, a single line under a name that file tools use for such a text, and the whole file after the
 * change. Any other short text may occur in the diff by chance, so it is still shown as an argument.
 */
export function leavesBeside(
  plan: FilePlan | undefined,
  leaves: readonly Leaf[],
): { own: Leaf[]; shown: Leaf[] } {
  if (plan === undefined || plan.targetHash === '') return { own: [...leaves], shown: [] };
  const sides = plan.hunks.flatMap((hunk) => [sideOf(hunk, '+'), sideOf(hunk, '-')]);
  const isShown = ({ path, value }: Leaf) => {
    if (typeof value !== 'string') return false;
    const text = value.replace(/\n$/, '');
    if (path === 'content' && isAfter(value, plan)) return true;
    const mayBe = text.includes('\n') || FILE_TEXTS.includes(path.split('.').at(-1) ?? '');
    return mayBe && text.trim() !== '' && sides.some((side) => side.includes(text));
  };
  return { own: leaves.filter((leaf) => !isShown(leaf)), shown: leaves.filter(isShown) };
}

/** Whether a text is the file after the change. Such a text contains each hunk in order. */
function isAfter(text: string, { hunks }: FilePlan) {
  let at = 0;
  for (const hunk of hunks) {
    const side = sideOf(hunk, '+');
    const found = text.indexOf(side, at);
    if (found === -1) return false;
    at = found + side.length;
  }
  return hunks.length > 0;
}

/** The text of a hunk after (`+`) or before (`-`) its change. */
function sideOf({ lines }: Hunk, mark: '+' | '-') {
  return lines
    .filter((line) => line.startsWith(mark) || line.startsWith(' '))
    .map((line) => line.slice(1))
    .join('\n');
}
