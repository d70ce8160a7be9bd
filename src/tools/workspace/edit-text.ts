import { ToolError } from '../errors';
import { countLines, type Encoding, findText, fromModel, MARK, skipLines } from './text';

/** The text of a file in the file's encoding; `base` is null if there is no file. */
interface Based {
  path: string;
  base: string | null;
  encoding: Encoding;
}

/** A piece of text and its replacement. */
interface Replacement {
  old_text: string;
  new_text: string;
}

/**
 * The most characters that the edits of one call go through, and the most pieces that they replace. Nothing else runs
 * on the worker meanwhile. A single edit may go through any file that can be read.
 */
const MOST_SEARCHED = 64 * 1024 * 1024;
const MOST_PIECES = 200_000;

/**
 * Replaces pieces of text in order, each in the result of the edits before it.
 *
 * @throws ToolError if a piece does not occur, or occurs more than once without `replace_all`, or if the edits are too
 * much work for one call.
 */
export function editText(args: Based & { edits: readonly Replacement[]; replace_all: boolean }): string {
  const { encoding, replace_all } = args;
  let text = existing(args);
  const done = { searched: 0, pieces: 0 };
  for (const [index, edit] of args.edits.entries()) {
    done.searched += text.length;
    if (index > 0 && done.searched > MOST_SEARCHED)
      throw tooMuch(`go through more than ${MOST_SEARCHED} characters`);
    const found = find(text, edit, { encoding, isEach: replace_all });
    const { spans, wanted } = found;
    if (spans.length === 0 || (spans.length > 1 && !replace_all))
      throw notOnce(`Edit ${index + 1}: its old_text`, args.path, {
        times: spans.length,
        near: nearest(text, wanted),
      });
    done.pieces += spans.length;
    if (done.pieces > MOST_PIECES) throw tooMuch(`replace more than ${MOST_PIECES} pieces of text`);
    text = replaceAt(text, found);
  }
  return text;
}

function tooMuch(what: string): ToolError {
  const how = 'Make fewer edits in one call, or give longer pieces of text';
  return new ToolError(`The edits of this call would ${what}; nothing was changed. ${how}.`);
}

/** The first places of a text. With a step of 1, places that overlap count, because the model may mean either. */
function placesOf(text: string, wanted: string, { step, most }: { step: number; most: number }) {
  const places: number[] = [];
  for (let at = findText(text, wanted); at !== -1; at = findText(text, wanted, at + step)) {
    places.push(at);
    if (places.length === most) break;
  }
  return places;
}

/** The most characters of a text after replacements: as many as the default limit for a file's bytes. */
const MOST_CHARACTERS = 10 * 1024 * 1024;

/** A piece of a text: its first character, and the one after its last. */
interface Span {
  from: number;
  to: number;
}

/** Replaces these pieces. Unlike in String.replaceAll, `$` in a replacement has no special meaning. */
function replaceAt(text: string, { spans, made, size }: Pick<Found, 'spans' | 'made' | 'size'>) {
  const length = spans.reduce((sum, { from, to }) => sum + size - (to - from), text.length);
  if (length > Math.max(MOST_CHARACTERS, text.length))
    throw new ToolError(`The file would grow to ${length} characters; nothing was changed. Replace less.`);
  let next = 0;
  const parts = spans.flatMap(({ from, to }) => {
    const kept = text.slice(next, from);
    next = to;
    return [kept, made(text.slice(from, to))];
  });
  return [...parts, text.slice(next)].join('');
}

function existing({ path, base }: Based) {
  if (base === null) throw new ToolError(`There is no file "${path}". Use create_file to make it.`);
  return base;
}

function notOnce(
  what: string,
  path: string,
  { times, near }: { times: number; near: string | undefined },
): ToolError {
  if (times === 0) {
    const about = near === undefined ? '' : `\n${near}`;
    return new ToolError(
      `${what} does not stand in "${path}"; nothing was changed. Read the file again.${about}`,
    );
  }
  const how = 'Give more of the lines around it, or set replace_all';
  return new ToolError(`${what} stands in "${path}" more than once; nothing was changed. ${how}.`);
}

/** Where a piece of text stands, and what takes the place of each such piece. */
interface Found {
  spans: Span[];
  made(piece: string): string;
  /** The characters of what takes its place. */
  size: number;
  /** The piece as it was looked for last, with each line end as `\n`. */
  wanted: string;
}

/**
 * Finds the old text of an edit. Its line ends match those of the file in any spelling, and the file keeps its own. In
 * a file that is not UTF-8, we first look for the text as UTF-8 and then as Latin-1, in which the file is shown.
 */
function find(
  text: string,
  edit: Replacement,
  { encoding, isEach }: { encoding: Encoding; isEach: boolean },
): Found {
  const old_text = withoutMark(edit.old_text);
  const new_text = withoutMark(edit.new_text);
  const found = findAs(
    text,
    { old: fromModel(old_text, encoding), made: fromModel(new_text, encoding) },
    isEach,
  );
  const isOther = encoding === 'latin1' && isLatin(old_text) && isLatin(new_text);
  if (found.spans.length > 0 || !isOther) return found;
  return findAs(text, { old: old_text, made: new_text }, isEach);
}

/** A text without the byte order mark that an editor put before it. A file keeps its own. */
function withoutMark(text: string) {
  return text.startsWith(MARK) ? text.slice(1) : text;
}

function findAs(text: string, { old, made }: { old: string; made: string }, isEach: boolean): Found {
  const wanted = unified(old);
  const size = made.length;
  const end = firstEnd(text);
  if (wanted === '') return { spans: [], made: () => made, size, wanted };
  const limits = isEach ? { step: wanted.length, most: MOST_PIECES + 1 } : { step: 1, most: 2 };
  // An edit that only spells line ends otherwise is meant as it is written.
  const isRespelled = wanted === unified(made) && old !== made;
  const exact =
    isRespelled || !isEach ? placesOf(text, old, isEach ? { ...limits, step: old.length } : limits) : [];
  if (isRespelled || exact.length === 1) {
    const spans = exact.map((from) => ({ from, to: from + old.length }));
    return { spans, made: isRespelled ? () => made : (piece) => endedAs(end, piece, made), size, wanted };
  }
  const places = placesOf(unified(text), wanted, limits);
  const ends = originals(
    text,
    places.flatMap((at) => [at, at + wanted.length]),
  );
  const spans = places.map((_, at) => ({ from: ends[2 * at] ?? 0, to: ends[2 * at + 1] ?? 0 }));
  return { spans, made: (piece) => endedAs(end, piece, made), size, wanted };
}

const LINE_END = /\r\n|\r|\n/g;

/** A text with each line end as `\n`. */
function unified(text: string) {
  return text.includes('\r') ? text.replace(LINE_END, '\n') : text;
}

/** The places in a text of places in its unified form. These are sorted by pairs that may overlap. */
function originals(text: string, places: readonly number[]) {
  const first = text.indexOf('\r\n');
  let [at, unifiedAt, next] = [0, 0, first];
  return places.map((place) => {
    if (place < unifiedAt) [at, unifiedAt, next] = [0, 0, first];
    while (next !== -1 && unifiedAt + next - at < place) {
      unifiedAt += next - at + 1;
      at = next + 2;
      next = text.indexOf('\r\n', at);
    }
    return at + place - unifiedAt;
  });
}

/**
 * New text with the line ends of the piece that it replaces: lines that stay keep their own, and others get that of the
 * line before, or `end`.
 */
function endedAs(end: string, piece: string, made: string) {
  if (!/[\r\n]/.test(made)) return made;
  const ends = piece.match(LINE_END) ?? [];
  const old = unified(piece).split('\n');
  const lines = unified(made).split('\n');
  const last = lines.length - 1;
  let head = 0;
  while (head < Math.min(old.length, lines.length) && old[head] === lines[head]) head++;
  let tail = 0;
  while (tail < Math.min(old.length, lines.length) - head && old.at(-1 - tail) === lines.at(-1 - tail))
    tail++;
  let before = ends[0] ?? end;
  return lines
    .map((line, at) => {
      if (at === last) return line;
      const own = at < head ? ends[at] : last - at <= tail ? ends[ends.length - (last - at)] : undefined;
      before = own ?? before;
      return line + before;
    })
    .join('');
}

/** The line end that a text has first. */
function firstEnd(text: string) {
  return /\r\n|\r|\n/.exec(text)?.[0] ?? '\n';
}

/** The most lines of a file, and of a text, that are compared to find the nearest. */
const MOST_COMPARED = 20_000;
const MOST_LINES = 200;
/** The most lines and characters that a message shows. */
const MOST_SHOWN = 8;
const LINE_CHARACTERS = 200;

/** The lines of a text that are nearest to a piece that does not stand there, and how they differ. Undefined: none. */
function nearest(text: string, wanted: string): string | undefined {
  const lines = unified(text).split('\n').slice(0, MOST_COMPARED);
  const sought = wanted.split('\n').slice(0, MOST_LINES);
  const start = bestStart(lines, sought);
  if (start === undefined) return undefined;
  const at = sought.findIndex((line, index) => (lines[start + index] ?? '') !== line);
  const shown = lines
    .slice(start, start + Math.min(sought.length, MOST_SHOWN))
    .map((line, index) => `${start + index + 1}: ${line.slice(0, LINE_CHARACTERS)}`);
  const differs =
    at === -1
      ? 'They differ only in what stands around them.'
      : `Line ${start + at + 1} differs ${howDifferent(sought[at] ?? '', lines[start + at] ?? '')}.`;
  return [`The nearest lines are:`, ...shown, differs].join('\n');
}

/** Where the most lines of a piece stand, if white space, case and signs that look alike do not count. */
function bestStart(lines: readonly string[], sought: readonly string[]): number | undefined {
  const places = new Map<string, number[]>();
  for (const [index, line] of sought.entries()) {
    const key = folded(line);
    if (key !== '') places.set(key, [...(places.get(key) ?? []), index]);
  }
  const votes = new Map<number, number>();
  for (const [index, line] of lines.entries()) {
    for (const place of places.get(folded(line))?.slice(0, 10) ?? [])
      if (index >= place) votes.set(index - place, (votes.get(index - place) ?? 0) + 1);
  }
  const [best] = [...votes].sort(([at, one], [other, two]) => two - one || at - other);
  return best?.[0] ?? mostAlike(lines, sought);
}

/** Where the line stands that has the most words of the longest sought line, and half of them at least. */
function mostAlike(lines: readonly string[], sought: readonly string[]): number | undefined {
  const longest = sought.reduce((one, other) => (other.length > one.length ? other : one), '');
  const words = new Set(wordsOf(longest));
  let best = { share: 0.5, at: -1 };
  for (const [at, line] of lines.entries()) {
    const own = wordsOf(line);
    const share = (2 * own.filter((word) => words.has(word)).length) / (own.length + words.size);
    if (share > best.share || (share === best.share && best.at === -1)) best = { share, at };
  }
  return best.at === -1 ? undefined : Math.max(0, best.at - sought.indexOf(longest));
}

function wordsOf(line: string): string[] {
  return (
    line
      .slice(0, LINE_CHARACTERS)
      .toLowerCase()
      .match(/[\p{L}\p{N}_]+/gu) ?? []
  );
}

function folded(line: string) {
  return FOLDS.reduce((text, { fold }) => fold(text), line);
}

/** Ways in which lines differ that look the same, and what makes such lines equal. */
const FOLDS: readonly { how: string; fold(text: string): string }[] = [
  { how: 'in the Unicode form of its letters', fold: (text) => text.normalize('NFC') },
  {
    how: 'in quotation marks or dashes',
    fold: (text) =>
      text
        .replace(/[\u2018\u2019\u201a\u201b\u2032]/g, "'")
        .replace(/[\u201c-\u201f\u2033\u00ab\u00bb]/g, '"')
        .replace(/[\u2010-\u2015\u2212]/g, '-'),
  },
  { how: 'in white space', fold: (text) => text.replace(/[\s\u200b\ufeff]+/g, '') },
  { how: 'in upper and lower case', fold: (text) => text.toLowerCase() },
];

function howDifferent(sought: string, line: string) {
  const one = FOLDS.find(({ fold }) => fold(sought) === fold(line));
  if (one !== undefined) return one.how;
  return folded(sought) === folded(line)
    ? 'in signs that look alike'
    : `from ${JSON.stringify(sought.slice(0, LINE_CHARACTERS))}`;
}

function isLatin(text: string) {
  return Buffer.from(text, 'latin1').toString('latin1') === text;
}

/**
 * Inserts text before a line. Adds a line end if the text has no line end. @throws ToolError for a line past the end.
 */
export function insertLine(args: Based & { line: number; text: string }): string {
  const base = existing(args);
  const start = skipLines(base, 0, args.line - 1);
  if (start === undefined) {
    const lines = countLines(base);
    throw new ToolError(
      `"${args.path}" has ${lines} lines, so line ${args.line} is past its end; ${lines + 1} appends.`,
    );
  }
  const text = unified(fromModel(withoutMark(args.text), args.encoding));
  const before = args.line === 1 ? markOf(base) : base.slice(0, start);
  const end = /(?:\r\n|\r|\n)$/.exec(before.slice(-2))?.[0] ?? firstEnd(base);
  const piece = (text.endsWith('\n') ? text : `${text}\n`).replaceAll('\n', end);
  const gap = args.line === 1 || before.endsWith('\n') ? '' : end;
  return before + gap + piece + base.slice(before.length);
}

/** The byte order mark of a text, which has to stay first. */
function markOf(base: string): string {
  return base.startsWith(MARK) ? MARK : '';
}
