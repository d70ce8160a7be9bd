import { lookAlikesIn } from './homoglyphs';
import type { JsonObject } from '../json';
import { leavesOf } from './json-diff';
import type { Preview } from '../plan';

/**
 * Why a piece of text cannot be shown as it is.
 * `control`: a terminal would obey it. `bidi`: it turns the text around it. `invisible`: it has no shape of its own.
 * `look-alike`: letters that pass for others. `blanks`: a blank other than a space, or so many that the rest is pushed off the screen.
 * `combining`: so many marks on one letter that they run over the lines around. `line end`: one that hides or moves text.
 */
export type Why = 'control' | 'bidi' | 'invisible' | 'look-alike' | 'blanks' | 'combining' | 'line end';

/** A piece of text as it is, or what stands for a piece that would deceive: `shown` is safe to print, in one line. */
export type Segment =
  { kind: 'text'; text: string } | { kind: 'mark'; why: Why; shown: string; original: string };

/**
 * How text is laid out. `line`: all in one line, so line ends and tabs are marks. `block`: several lines; line feeds and
 * tabs are text. `diff`: one line of a hunk with its `+`, `-` or blank; blanks at the end of a changed line are marks.
 */
export type Layout = 'line' | 'block' | 'diff';

/**
 * What a screen would obey, hide or turn around instead of showing it: controls, format characters (bidi marks,
 * zero-width and tag characters), lone surrogates, private and unassigned code points, blanks other than a space,
 * fillers, and variation selectors. U+3000 stays: it is wide and it shows.
 */
const HIDDEN =
  '[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Cn}\\p{Zl}\\p{Zp}\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f' +
  '\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\uffa0\\ufe00-\\ufe0f\\u{e0100}-\\u{e01ef}]';

/** A character that does not show by itself, line ends and tabs included; see `segments`. */
export const HIDDEN_CHARACTER = new RegExp(HIDDEN, 'u');

/** Blanks beyond this push what follows off the screen. */
const BLANKS = 24;
/** More blanks than this are not taken for indentation. */
const INDENT = 40;
/** More empty lines in a row than this are counted, not shown. */
const EMPTY_LINES = 5;
/** Combining marks beyond this run over the lines around them. */
const MARKS = 8;

const stacked = `\\p{M}{${MARKS + 1},}`;
const pushed = `\\p{Zs}{${INDENT + 1},}`;
const emptied = `(?<=^|\\n)(?:[ \\t\\u3000]*\\n){${EMPTY_LINES},}[ \\t\\u3000]*(?=\\n|$)`;
const PATTERNS: Readonly<Record<Layout, RegExp>> = {
  line: new RegExp(`\\s{${BLANKS + 1},}|${stacked}|${HIDDEN}`, 'gu'),
  block: new RegExp(`${emptied}|${pushed}|${stacked}|(?![\\n\\t])${HIDDEN}`, 'gu'),
  diff: new RegExp(`${pushed}|${stacked}|(?!\\t)${HIDDEN}`, 'gu'),
};
const IN_JSON = new RegExp(`(?!\\n)${HIDDEN}`, 'gu');

/**
 * Text of models, tools and users in pieces that are safe to show one after the other: nothing is obeyed, nothing is
 * invisible, nothing is lost. The originals and texts of all pieces in order are the text again.
 */
export function segments(text: string, layout: Layout = 'line'): Segment[] {
  const end = layout === 'diff' ? endOf(text) : text.length;
  const marks = hiddenIn(text.slice(0, end), layout);
  const clear = clearOf(text, end, marks);
  const alike = lookAlikesIn(clear).map(({ start, end: until, name }): Placed => {
    const original = text.slice(start, until);
    return { at: start, mark: { kind: 'mark', why: 'look-alike', shown: `⟦${original} ${name}⟧`, original } };
  });
  return joined(
    text,
    [...marks, ...alike, ...endMark(text, end)].sort((a, b) => a.at - b.at),
  );
}

/** How many characters of a text would deceive: what `segments` marks, but for line feeds, tabs and runs of blanks. */
export function countDeceiving(text: string): { hidden: number; alike: number } {
  const marks = segments(text, 'block').filter((segment) => segment.kind === 'mark');
  const counted = marks.filter(({ why, original }) => why !== 'blanks' || [...original].length === 1);
  const alike = counted.filter(({ why }) => why === 'look-alike').length;
  return { hidden: counted.length - alike, alike };
}

/** The text of JSON with escapes for all that would deceive by not showing; it still means the same. */
export function escapeHidden(json: string): string {
  return json.replace(IN_JSON, (found) =>
    found
      .split('')
      .map((unit) => `\\u${hex(unit.charCodeAt(0), 4)}`)
      .join(''),
  );
}

type Mark = Extract<Segment, { kind: 'mark' }>;

interface Placed {
  at: number;
  mark: Mark;
}

function hiddenIn(text: string, layout: Layout): Placed[] {
  return [...text.matchAll(PATTERNS[layout])].map(({ 0: original, index }) => ({
    at: index,
    mark: { kind: 'mark', why: whyOf(original), shown: shownOf(original, layout), original },
  }));
}

/** The text with a blank for each unit that is marked already, so that places stay what they are. */
function clearOf(text: string, end: number, marks: readonly Placed[]): string {
  let clear = '';
  for (const { at, mark } of marks) {
    clear += text.slice(clear.length, at) + ' '.repeat(mark.original.length);
  }
  return clear + text.slice(clear.length, end);
}

function joined(text: string, marks: readonly Placed[]): Segment[] {
  const parts: Segment[] = [];
  let at = 0;
  for (const { at: start, mark } of marks) {
    if (start > at) parts.push({ kind: 'text', text: text.slice(at, start) });
    parts.push(mark);
    at = start + mark.original.length;
  }
  return at < text.length ? [...parts, { kind: 'text', text: text.slice(at) }] : parts;
}

/** Where the blanks at the end of a changed line begin: they are the change, often. */
function endOf(line: string): number {
  if (!/^[+-]/.test(line)) return line.length;
  let end = line.length;
  while (end > 1 && (line[end - 1] === ' ' || line[end - 1] === '\t')) end--;
  return end;
}

function endMark(text: string, end: number): Placed[] {
  const original = text.slice(end);
  if (original === '') return [];
  const shown =
    original.length > INDENT ? countOf(original, 'blanks') : original.replace(/ /g, '·').replace(/\t/g, '→');
  return [{ at: end, mark: { kind: 'mark', why: 'line end', shown, original } }];
}

const BIDI = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const CONTROL = /\p{Cc}/u;
const BLANK = /^\s/u;

function whyOf(found: string): Why {
  const isRun = [...found].length > 1;
  if (isRun) return BLANK.test(found) ? 'blanks' : 'combining';
  if (/[\n\r\u2028\u2029]/.test(found)) return 'line end';
  if (found !== '\t' && CONTROL.test(found)) return 'control';
  if (BIDI.test(found)) return 'bidi';
  return BLANK.test(found) && found !== '\ufeff' ? 'blanks' : 'invisible';
}

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function shownOf(found: string, layout: Layout): string {
  if ([...found].length > 1) return runOf(found, layout);
  const code = found.codePointAt(0) ?? 0;
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f)) return NAMED[found] ?? `\\x${hex(code, 2)}`;
  return `⟦U+${hex(code, 4).toUpperCase()}⟧`;
}

function runOf(found: string, layout: Layout): string {
  if (!BLANK.test(found)) return countOf(found, 'combining marks');
  const isLines = layout === 'block' && found.includes('\n');
  return isLines ? `⟦${found.split('\n').length} empty lines⟧` : countOf(found, 'blanks');
}

function countOf(found: string, what: string): string {
  return `⟦${[...found].length} ${what}⟧`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}

/** Characters that do not show, or would be obeyed, and words with letters that pass for others. */
export interface Deceiving {
  hidden: number;
  alike: number;
}

/** How much of what an approver is shown of a call would deceive: in its arguments, their names, and its preview. */
export function deceivingIn(shown: { arguments: JsonObject; preview?: Preview }): Deceiving {
  const counts = textsOf(shown).map(countDeceiving);
  return {
    hidden: counts.reduce((sum, { hidden }) => sum + hidden, 0),
    alike: counts.reduce((sum, { alike }) => sum + alike, 0),
  };
}

function textsOf({ arguments: args, preview }: Parameters<typeof deceivingIn>[0]): string[] {
  const leaves = leavesOf(args).flatMap(({ path, value }) => [path, typeof value === 'string' ? value : '']);
  return [...leaves, ...previewTexts(preview)];
}

/** Where a plan is shown hunk by hunk, its text is not. */
function previewTexts(preview: Preview | undefined): string[] {
  if (preview?.plan === undefined || preview.plan.targetHash === '') return [preview?.text ?? ''];
  return [preview.plan.path, preview.plan.hunks.flatMap(({ lines }) => lines).join('\n')];
}
