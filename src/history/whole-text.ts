import type { RequestOpened } from './events';
import { type DiffStyle, previewLines } from './preview-lines';
import { escapeLines } from '../contract/text/escape';

const same = (text: string) => text;
const PLAIN: DiffStyle = { strong: same, quiet: same, good: same, bad: same, link: same, mark: same };

/** The room for a request where it is decided without a look at it on its own: in a message, or with others. */
export interface Room {
  characters: number;
  lines: number;
  /** The indentation of the arguments as JSON, in spaces. 0: they are shown in one line. */
  indent: number;
}

/** The beginning of the preview and the arguments that fits into the room. */
export function wholeText(
  { arguments: args, preview }: Pick<RequestOpened, 'arguments' | 'preview'>,
  { characters, lines: mostLines, indent }: Room,
): { lines: string[]; isWhole: boolean } {
  const text = preview === undefined ? [] : [...previewLines(preview, PLAIN), '', 'arguments:'];
  const all = [...text, ...escapeLines(JSON.stringify(args, null, indent))];
  let left = characters;
  const lines: string[] = [];
  for (const line of all.slice(0, mostLines)) {
    if (line.length > left) break;
    lines.push(line);
    left -= line.length + 1;
  }
  if (lines.length === all.length) return { lines, isWhole: true };
  const rest = lines.length === 0 ? [(all[0] ?? '').slice(0, characters)] : lines;
  return { lines: [...rest, '… (cut)'], isWhole: false };
}
