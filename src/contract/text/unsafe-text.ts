import type { JsonObject } from '../json';
import { leavesOf } from './json-diff';
import { codePointOf, EAST, lookAlikesIn, once } from './look-alikes';
import type { Preview } from '../plan';
import { unitEscapes } from './bytes';

/**
 * Why a piece of text cannot be shown as it is.
 * `control`: a terminal would obey it. `bidi`: it changes the direction of the text around it. `invisible`: it has no
 * shape.
 * `look-alike`: letters that pass for others. `blanks`: a blank other than a space, or so many blanks that the text
 * after them is pushed off the screen.
 * `combining`: so many marks on one letter that they cover the lines around, and marks that strike a letter out or
 * stand on no letter. `line end`: a line end that hides or moves text. `right-to-left`: letters that a screen puts in
 * another order than they are stored in. `bracket`: a sign that our marks are written with.
 */
type Why =
  | 'control'
  | 'bidi'
  | 'invisible'
  | 'look-alike'
  | 'blanks'
  | 'combining'
  | 'line end'
  | 'right-to-left'
  | 'bracket';

/** A piece of text, or a mark in place of a piece that would deceive. `shown` is safe to print in one line. */
export type Segment =
  { kind: 'text'; text: string } | { kind: 'mark'; why: Why; shown: string; original: string };

/**
 * The layout of a text. `line`: all in one line, so line ends and tabs are marked. `block`: several lines, so line
 * feeds and tabs are text. `diff`: one line of a hunk with its `+`, `-` or blank; blanks at the end of a changed line
 * are marked.
 */
export type Layout = 'line' | 'block' | 'diff';

/**
 * Whether a text is run, or is only read. `exact`: arguments, names, paths, output; each letter and its place count.
 * `prose`: texts that people and models write to each other, which are read in the order of their language.
 */
export type TextUse = 'exact' | 'prose';

/**
 * Characters that a screen would obey, hide or turn around instead of showing them: controls, format characters (bidi
 * marks, zero-width and tag characters), lone surrogates, private and unassigned code points, blanks other than a
 * space, fillers, and variation selectors. U+3000 is a blank of East Asian text. `rare` finds it beside other letters.
 */
const HIDDEN =
  '[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}\\p{Cn}\\p{Zl}\\p{Zp}\\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f' +
  '\\u034f\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u2800\\u3164\\uffa0\\ufe00-\\ufe0f\\ufffc\\u{13441}\\u{13442}\\u{16fe4}\\u{1d159}\\u{e0100}-\\u{e01ef}]';

/** A character that does not show by itself. Line ends and tabs are such characters, too. See `segments`. */
export const HIDDEN_CHARACTER = new RegExp(HIDDEN, 'u');

const EMOJI = '\\p{RGI_Emoji}';
/** An emoji of one or more characters, or a character that does not show by itself outside of an emoji. */
export const emojiOrHidden = once(() => new RegExp(`${EMOJI}|${HIDDEN}`, 'gv'));
const emojis = once(() => new RegExp(EMOJI, 'gv'));
/** What an emoji has that does not show. The pattern of all emoji is too slow for texts without one. */
const JOINS = /[\ufe0f\u200d\u{e007f}]/u;

/** More blanks than this push the text after them off the screen. */
const BLANKS = 24;
/** More blanks than this are not taken for indentation. */
const INDENT = 40;
/** More empty lines in a row than this are counted and not shown. */
const EMPTY_LINES = 5;
/**
 * More combining marks on one letter than this run over the lines around it. Hebrew, Arabic and Vietnamese need three.
 */
const MARKS = 3;

/** The blocks of all letters and numbers that change the direction of text: Unicode's bidi classes R, AL and AN. */
const TURNING = '\\u0590-\\u08ff\\ufb1d-\\ufdff\\ufe70-\\ufefe\\u{10800}-\\u{10fff}\\u{1e800}-\\u{1efff}';
const TURNING_RUN = `(?:(?!\\p{M})(?!${HIDDEN})[${TURNING}]\\p{M}{0,${MARKS}}(?!\\p{M}))+|[${TURNING}]`;
/** A letter or number that changes the direction of the text around it. */
export const TURNING_CHARACTER = new RegExp(`[${TURNING}]`, 'u');
const BRACKETS = '[⟦⟧〚〛]';

const stacked = `\\p{M}{${MARKS + 1},}`;
/** Marks that strike out, underline or frame a letter, and marks with no letter below them. */
const drawn =
  `(?!${HIDDEN})[\\u0305\\u0332\\u0333\\u0334-\\u0338\\u033f\\u0488\\u0489\\u20d0-\\u20ff]|` +
  `(?<=^|[\\s!-@[-\`{-~])(?:(?!${HIDDEN}|[${TURNING}])\\p{M}){1,${MARKS}}`;
const BESIDE = `(?:${EAST}|[\\u3001-\\u303f\\uff01-\\uff60])`;
/** Marks that no language puts on a letter, an i with a second dot, and the wide blank beside other letters. */
const rare =
  '(?![\\u0311\\u0313\\u0314\\u031b\\u0342\\u0345])[\\u030d\\u030e\\u0310-\\u0322\\u032a-\\u032c\\u032f\\u0339-\\u036f' +
  '\\u1ab0-\\u1aff\\u1dc0-\\u1dff\\u302a-\\u302f\\ufe20-\\ufe2f]|(?<=[ij])\\u0307|(?<=[!-~])[\\u3099\\u309a]|' +
  `(?<!${BESIDE})\\u3000(?!${BESIDE})`;
const pushed = `\\p{Zs}{${INDENT + 1},}`;
const emptied = `(?<=^|\\n)(?:[ \\t\\u3000]*\\n){${EMPTY_LINES},}[ \\t\\u3000]*(?=\\n|$)`;
const END: Readonly<Record<Layout, string>> = {
  line: HIDDEN,
  block: `(?![\\n\\t])${HIDDEN}`,
  diff: `(?!\\t)${HIDDEN}`,
};
const START: Readonly<Record<Layout, string>> = {
  line: `\\s{${BLANKS + 1},}`,
  block: `${emptied}|${pushed}`,
  diff: pushed,
};
const patternOf = (layout: Layout, kind: TextUse) => {
  const turning = kind === 'exact' ? `|${rare}|${TURNING_RUN}` : '';
  return new RegExp(`${START[layout]}|${stacked}|${drawn}|${END[layout]}|${BRACKETS}${turning}`, 'gu');
};
const patternsOf = (kind: TextUse): Readonly<Record<Layout, () => RegExp>> => ({
  line: once(() => patternOf('line', kind)),
  block: once(() => patternOf('block', kind)),
  diff: once(() => patternOf('diff', kind)),
});
const PATTERNS: Readonly<Record<TextUse, ReturnType<typeof patternsOf>>> = {
  exact: patternsOf('exact'),
  prose: patternsOf('prose'),
};
const inJson = once(() => new RegExp(`(?!\\n)(?:${HIDDEN}|[${TURNING}])`, 'gu'));
/**
 * Splits a text of models, tools or users into pieces that are safe to show one after the other: nothing in them is
 * obeyed, invisible or lost. The originals and texts of all pieces, in order, are the text again.
 */
export function segments(text: string, layout: Layout = 'line', kind: TextUse = 'exact'): Segment[] {
  const end = layout === 'diff' ? endOf(text) : text.length;
  const shown = text.slice(0, end);
  // Unicode's own emoji join characters by signs that do not show.
  const plain = JOINS.test(shown) ? shown.replace(emojis(), (emoji) => 'x'.repeat(emoji.length)) : shown;
  const marks = hiddenIn(plain, PATTERNS[kind][layout](), layout);
  const found = kind === 'exact' ? lookAlikesIn(clearOf(shown, marks)) : [];
  const alike = found.map(({ start, end: until, name }): Placed => {
    const original = text.slice(start, until);
    return { at: start, mark: { kind: 'mark', why: 'look-alike', shown: `⟦${original} ${name}⟧`, original } };
  });
  return joined(
    text,
    [...marks, ...alike, ...endMark(text, end)].sort((a, b) => a.at - b.at),
  );
}

/**
 * Counts the parts of a text that would deceive: the parts that `segments` marks, apart from line feeds, tabs and runs
 * of blanks.
 */
function countDeceiving(text: string): Deceiving {
  const marks = segments(text, 'block').filter((segment) => segment.kind === 'mark');
  const counted = marks.filter(({ why, original }) => why !== 'blanks' || [...original].length === 1);
  const alike = counted.filter(({ why }) => why === 'look-alike' || why === 'bracket').length;
  const turned = counted.filter(({ why }) => why === 'right-to-left').length;
  return { hidden: counted.length - alike - turned, alike, turned };
}

/** JSON with escapes for all characters that do not show, or change the direction of text. Its value stays the same. */
export function escapeHidden(json: string): string {
  return json.replace(inJson(), unitEscapes);
}

interface Placed {
  at: number;
  mark: Extract<Segment, { kind: 'mark' }>;
}

function hiddenIn(text: string, pattern: RegExp, layout: Layout): Placed[] {
  return [...text.matchAll(pattern)].map(({ 0: original, index }) => ({
    at: index,
    mark: { kind: 'mark', why: whyOf(original), shown: shownOf(original, layout), original },
  }));
}

/**
 * The text with a blank for each unit that is marked already, so that the places of the other characters stay the same.
 */
function clearOf(text: string, marks: readonly Placed[]) {
  let clear = '';
  for (const { at, mark } of marks) {
    clear += text.slice(clear.length, at) + ' '.repeat(mark.original.length);
  }
  return clear + text.slice(clear.length);
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

/** The index where the blanks at the end of a changed line begin. Such blanks are often what the change is about. */
function endOf(line: string) {
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
  if (IS_TURNING.test(found) && !HIDDEN_CHARACTER.test(found)) return 'right-to-left';
  const isRun = [...found].length > 1;
  if (isRun) return BLANK.test(found) ? 'blanks' : 'combining';
  if (/[\n\r\u2028\u2029]/.test(found)) return 'line end';
  if (found !== '\t' && CONTROL.test(found)) return 'control';
  if (BIDI.test(found)) return 'bidi';
  if (/[⟦⟧〚〛]/.test(found)) return 'bracket';
  if (!HIDDEN_CHARACTER.test(found)) return found === '\u3000' ? 'blanks' : 'combining';
  return BLANK.test(found) && found !== '\ufeff' ? 'blanks' : 'invisible';
}

const IS_TURNING = new RegExp(`^(?!\\p{M}{${MARKS + 1}})[${TURNING}]`, 'u');

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function shownOf(found: string, layout: Layout) {
  if (IS_TURNING.test(found) && !HIDDEN_CHARACTER.test(found)) return codesOf(found);
  if ([...found].length > 1) return runOf(found, layout);
  const code = found.codePointAt(0) ?? 0;
  if (code < 0x20 || (code >= 0x7f && code <= 0x9f))
    return NAMED[found] ?? `\\x${code.toString(16).padStart(2, '0')}`;
  return codesOf(found);
}

/** A text as its code points. */
function codesOf(text: string) {
  return `⟦${[...text].map(codePointOf).join(' ')}⟧`;
}

function runOf(found: string, layout: Layout) {
  if (!BLANK.test(found)) return countOf(found, 'combining marks');
  const isLines = layout === 'block' && found.includes('\n');
  return isLines ? `⟦${found.split('\n').length} empty lines⟧` : countOf(found, 'blanks');
}

function countOf(found: string, what: string) {
  return `⟦${[...found].length} ${what}⟧`;
}

/**
 * The number of deceptive parts of a text. `hidden`: characters that do not show, or that a screen would obey. `alike`:
 * pieces with letters or signs that pass for others. `turned`: words that are written from right to left.
 */
export interface Deceiving {
  hidden: number;
  alike: number;
  turned: number;
}

/** Counts the deceptive parts of a call for its approver: in its arguments, their names, and its preview. */
export function deceivingIn(shown: { arguments: JsonObject; preview?: Preview }): Deceiving {
  const counts = textsOf(shown).map(countDeceiving);
  const sum = (of: keyof Deceiving) => counts.reduce((total, count) => total + count[of], 0);
  return { hidden: sum('hidden'), alike: sum('alike'), turned: sum('turned') };
}

/** The number of all marks. */
export function countMarks({ hidden, alike, turned }: Deceiving): number {
  return hidden + alike + turned;
}

function textsOf({ arguments: args, preview }: Parameters<typeof deceivingIn>[0]) {
  const leaves = leavesOf(args).flatMap(({ path, value }) => [path, typeof value === 'string' ? value : '']);
  return [...leaves, ...previewTexts(preview)];
}

/** The texts of a preview that a person sees. If a plan is shown hunk by hunk, the preview's text is not shown. */
function previewTexts(preview: Preview | undefined) {
  if (preview?.plan === undefined || preview.plan.targetHash === '') return [preview?.text ?? ''];
  return [preview.plan.path, preview.plan.hunks.flatMap(({ lines }) => lines).join('\n')];
}
