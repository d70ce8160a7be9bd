import {
  emojiOrHidden,
  escapeHidden,
  HIDDEN_CHARACTER,
  type TextUse,
  segments,
  type Layout,
} from './unsafe-text';

/** Makes a mark stand out on a terminal. The text itself must stay readable without it. */
export type Paint = (text: string) => string;

const plain: Paint = (text) => text;

/**
 * Text of models, tools and users in one line that is safe on a terminal: the terminal obeys nothing in it, nothing is
 * invisible, long runs of blanks are counted, and the text is read from left to right. `\x1b` stands for a control
 * character. `⟦U+202E⟧` stands for a character that is invisible or reverses the text around it. `⟦а Cyrillic⟧` stands
 * for a letter that looks like another.
 */
export function escapeText(text: string, mark: Paint = plain): string {
  return painted(text, 'line', 'exact', mark);
}

/** Text of people and models in one line, in the letters of its language. Nothing may follow it on its line. */
export function escapeProse(text: string, mark: Paint = plain): string {
  return painted(text, 'line', 'prose', mark);
}

/**
 * Like `escapeText` or, by `kind`, `escapeProse`, for text of several lines. Tabs become spaces. More than 5 empty
 * lines in a row are counted.
 */
export function escapeLines(text: string, mark: Paint = plain, kind: TextUse = 'exact'): string[] {
  const expanded = text.split('\n').map(expandTabs).join('\n');
  return painted(expanded, 'block', kind, mark).split('\n');
}

/** One line of a hunk, with tabs expanded. Blanks at the end of a changed line become marks. */
export function escapeDiffLine(line: string, mark: Paint = plain): string {
  return painted(expandTabs(line), 'diff', 'exact', mark);
}

/** The sequences that `createStyle` writes. A line may bring only these sequences to a terminal. */
const STYLES = /(\x1b\[(?:1|2|22|3[1-69])m)/;

/**
 * Marks the characters of a finished line that a terminal would obey or hide. This is the last check: texts should be
 * escaped before. A line feed is marked too, so that no value begins a new line.
 */
export function safeLine(line: string, color: boolean): string {
  const mark = (text: string) => text.replace(emojiOrHidden(), (found) => escapeText(found));
  if (!HIDDEN_CHARACTER.test(line)) return line;
  if (!color) return mark(line);
  return line
    .split(STYLES)
    .map((part, at) => (at % 2 === 1 ? part : mark(part)))
    .join('');
}

/** A value as JSON that is safe on a terminal and still has the same meaning. */
export function escapeJson(value: unknown): string {
  return escapeHidden(JSON.stringify(value, null, 2) ?? 'null');
}

/** A value as one line of JSON, for streams of JSON. */
export function escapeJsonLine(value: unknown): string {
  return escapeHidden(JSON.stringify(value) ?? 'null');
}

function painted(text: string, layout: Layout, kind: TextUse, mark: Paint) {
  return segments(text, layout, kind)
    .map((segment) => (segment.kind === 'text' ? segment.text : mark(segment.shown)))
    .join('');
}

function expandTabs(line: string) {
  if (!line.includes('\t')) return line;
  const [first = '', ...rest] = line.split('\t');
  return rest.reduce((text, part) => text.padEnd(Math.floor(text.length / 8) * 8 + 8) + part, first);
}
