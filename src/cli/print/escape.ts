import {
  escapeHidden,
  HIDDEN_CHARACTER,
  type Kind,
  segments,
  type Layout,
} from '../../contract/text/unsafe-text';

/** How a mark stands out on a terminal; the text itself must stay readable without it. */
export type Paint = (text: string) => string;

const plain: Paint = (text) => text;

/**
 * Text of models, tools and users in one line that is safe on a terminal: nothing is obeyed, nothing is invisible,
 * long runs of blanks are counted, and it is read from left to right. `\x1b` stands for a control, `⟦U+202E⟧` for what
 * has no shape of its own or turns the text around it, and `⟦а Cyrillic⟧` for letters that pass for others.
 */
export function escapeText(text: string, mark: Paint = plain): string {
  return painted(text, 'line', 'exact', mark);
}

/** What people and models say, in one line, in the letters of its language. It has to be the last of its line. */
export function escapeProse(text: string, mark: Paint = plain): string {
  return painted(text, 'line', 'prose', mark);
}

/** The same for text of several lines. Tabs become spaces; more than 5 empty lines in a row are counted. */
export function escapeLines(text: string, mark: Paint = plain, kind: Kind = 'exact'): string[] {
  const expanded = text.split('\n').map(expandTabs).join('\n');
  return painted(expanded, 'block', kind, mark).split('\n');
}

/** One line of a hunk, its tabs expanded; blanks at the end of a changed line are marks. */
export function escapeDiffLine(line: string, mark: Paint = plain): string {
  return painted(expandTabs(line), 'diff', 'exact', mark);
}

/** What `createStyle` writes: the only sequences that may reach a terminal inside a line. */
const STYLES = /(\x1b\[(?:1|2|22|3[1-69])m)/;
const HIDDEN = new RegExp(HIDDEN_CHARACTER, 'gu');

/**
 * Marks what a terminal would obey or hide in a finished line. It is the last check: texts should be escaped before they
 * get here. A line feed is marked too, so that no value starts a line of its own.
 */
export function safeLine(line: string, color: boolean): string {
  const mark = (text: string): string => text.replace(HIDDEN, (found) => escapeText(found));
  if (!HIDDEN_CHARACTER.test(line)) return line;
  if (!color) return mark(line);
  return line
    .split(STYLES)
    .map((part, at) => (at % 2 === 1 ? part : mark(part)))
    .join('');
}

/** A value as JSON that is safe on a terminal and still means the same. */
export function escapeJson(value: unknown): string {
  return escapeHidden(JSON.stringify(value, null, 2) ?? 'null');
}

/** One line of JSON, for streams of it. */
export function escapeJsonLine(value: unknown): string {
  return escapeHidden(JSON.stringify(value) ?? 'null');
}

function painted(text: string, layout: Layout, kind: Kind, mark: Paint): string {
  return segments(text, layout, kind)
    .map((segment) => (segment.kind === 'text' ? segment.text : mark(segment.shown)))
    .join('');
}

function expandTabs(line: string): string {
  if (!line.includes('\t')) return line;
  const [first = '', ...rest] = line.split('\t');
  return rest.reduce((text, part) => text.padEnd(Math.floor(text.length / 8) * 8 + 8) + part, first);
}
