/** How a mark stands out on a terminal; the text itself must stay readable without it. */
export type Paint = (text: string) => string;

const plain: Paint = (text) => text;

/**
 * What a terminal would obey, hide or turn around instead of showing it: controls, format characters (bidi marks,
 * zero-width and tag characters), lone surrogates, private and unassigned code points, blanks that are no space,
 * fillers, and variation selectors. U+3000 stays: it is wide and it shows.
 */
const HIDDEN =
  '[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Cn}\\p{Zl}\\p{Zp}\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f' +
  '\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\uffa0\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]';

/** Blanks beyond this push what follows off the screen. */
const BLANKS = 24;
/** Indentation beyond this is no indentation. */
const INDENT = 40;
/** Empty lines in a row beyond this are told, not shown. */
const EMPTY_LINES = 5;
/** Combining marks beyond this run over the lines around them. */
const MARKS = 8;

const stacked = `\\p{M}{${MARKS + 1},}`;
const IN_ONE_LINE = new RegExp(`\\s{${BLANKS + 1},}|${stacked}|${HIDDEN}`, 'gu');
const IN_A_BLOCK = new RegExp(`\\p{Zs}{${INDENT + 1},}|${stacked}|${HIDDEN}`, 'gu');
const COUNTED = new RegExp(`(?![\\n\\t])${HIDDEN}|${stacked}`, 'gu');
const IN_JSON = new RegExp(`(?!\\n)${HIDDEN}`, 'gu');

/**
 * Text of models, tools and users in one line that is safe on a terminal: nothing is obeyed, nothing is invisible,
 * long runs of blanks are counted. `\x1b` stands for a control, `⟦U+202E⟧` for what has no shape of its own.
 */
export function visible(text: string, mark: Paint = plain): string {
  return text.replace(IN_ONE_LINE, (found) => mark(nameOf(found)));
}

/** The same for text of several lines. Tabs become spaces; more than 5 empty lines in a row are counted. */
export function visibleLines(text: string, mark: Paint = plain): string[] {
  const lines = text.split('\n').map((line) => visibleLine(line, mark));
  return countEmptyLines(lines, mark);
}

/** One line of a block, its tabs expanded. */
export function visibleLine(line: string, mark: Paint = plain): string {
  return expandTabs(line).replace(IN_A_BLOCK, (found) => mark(nameOf(found)));
}

/** How many characters of a text are shown as a mark because they would not show, or would be obeyed. */
export function countHidden(text: string): number {
  return [...text.matchAll(COUNTED)].length;
}

/** A value as JSON that is safe on a terminal and still means the same. */
export function visibleJson(value: unknown): string {
  const text = JSON.stringify(value, null, 2) ?? 'null';
  return text.replace(IN_JSON, escapeUnits);
}

/** One line of JSON, for streams of it. */
export function visibleJsonLine(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replace(IN_JSON, escapeUnits);
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function nameOf(found: string): string {
  const count = [...found].length;
  if (count > 1) return /^\s/u.test(found) ? `⟦${count} blanks⟧` : `⟦${count} combining marks⟧`;
  const code = found.codePointAt(0) ?? 0;
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return NAMED[found] ?? `\\x${hex(code, 2)}`;
  return `⟦U+${hex(code, 4).toUpperCase()}⟧`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}

function escapeUnits(found: string): string {
  return found
    .split('')
    .map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`)
    .join('');
}

function expandTabs(line: string): string {
  if (!line.includes('\t')) return line;
  const [first = '', ...rest] = line.split('\t');
  return rest.reduce((text, part) => text.padEnd(Math.floor(text.length / 8) * 8 + 8) + part, first);
}

function countEmptyLines(lines: readonly string[], mark: Paint): string[] {
  const kept: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    const run = emptyRun(lines, i);
    if (run > EMPTY_LINES) {
      kept.push(mark(`⟦${run} empty lines⟧`));
      i += run - 1;
    } else kept.push(lines[i] ?? '');
  }
  return kept;
}

function emptyRun(lines: readonly string[], from: number): number {
  let end = from;
  while (end < lines.length && (lines[end] ?? '').trim() === '') end++;
  return end - from;
}
