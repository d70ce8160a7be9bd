import { escapeHidden, segments, type Layout } from '../../contract/visible';

/** How a mark stands out on a terminal; the text itself must stay readable without it. */
export type Paint = (text: string) => string;

const plain: Paint = (text) => text;

/**
 * Text of models, tools and users in one line that is safe on a terminal: nothing is obeyed, nothing is invisible,
 * long runs of blanks are counted. `\x1b` stands for a control, `⟦U+202E⟧` for what has no shape of its own, and
 * `⟦а Cyrillic⟧` for letters that pass for others.
 */
export function visible(text: string, mark: Paint = plain): string {
  return painted(text, 'line', mark);
}

/** The same for text of several lines. Tabs become spaces; more than 5 empty lines in a row are counted. */
export function visibleLines(text: string, mark: Paint = plain): string[] {
  const expanded = text.split('\n').map(expandTabs).join('\n');
  return painted(expanded, 'block', mark).split('\n');
}

/** One line of a hunk, its tabs expanded; blanks at the end of a changed line are marks. */
export function visibleLine(line: string, mark: Paint = plain): string {
  return painted(expandTabs(line), 'diff', mark);
}

/** A value as JSON that is safe on a terminal and still means the same. */
export function visibleJson(value: unknown): string {
  return escapeHidden(JSON.stringify(value, null, 2) ?? 'null');
}

/** One line of JSON, for streams of it. */
export function visibleJsonLine(value: unknown): string {
  return escapeHidden(JSON.stringify(value) ?? 'null');
}

function painted(text: string, layout: Layout, mark: Paint): string {
  return segments(text, layout)
    .map((segment) => (segment.kind === 'text' ? segment.text : mark(segment.shown)))
    .join('');
}

function expandTabs(line: string): string {
  if (!line.includes('\t')) return line;
  const [first = '', ...rest] = line.split('\t');
  return rest.reduce((text, part) => text.padEnd(Math.floor(text.length / 8) * 8 + 8) + part, first);
}
