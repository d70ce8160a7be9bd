import { ToolError } from '../errors';
import { countLines, type Encoding, findText, fromModel, skipLines } from './text';

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
  const base = existing(args);
  const { encoding, replace_all } = args;
  const isCrlf = hasCrlf(base);
  let text = base;
  const done = { searched: 0, pieces: 0 };
  for (const [index, edit] of args.edits.entries()) {
    done.searched += text.length;
    if (index > 0 && done.searched > MOST_SEARCHED)
      throw tooMuch(`go through more than ${MOST_SEARCHED} characters`);
    const { wanted, made } = spell(text, edit, { encoding, isCrlf });
    const places = placesOf(
      text,
      wanted,
      replace_all ? { step: wanted.length, most: MOST_PIECES + 1 } : { step: 1, most: 2 },
    );
    if (places.length === 0 || (places.length > 1 && !replace_all))
      throw notOnce(`Edit ${index + 1}: its old_text`, args.path, places.length);
    done.pieces += places.length;
    if (done.pieces > MOST_PIECES) throw tooMuch(`replace more than ${MOST_PIECES} pieces of text`);
    text = replaceAt(text, places, { wanted, made });
  }
  return text;
}

function tooMuch(what: string): ToolError {
  const how = 'Make fewer edits in one call, or give longer pieces of text';
  return new ToolError(`The edits of this call would ${what}; nothing was changed. ${how}.`);
}

/** The first places of a text. With a step of 1, places that overlap count, because the model may mean either. */
function placesOf(text: string, wanted: string, { step, most }: { step: number; most: number }): number[] {
  const places: number[] = [];
  for (let at = findText(text, wanted); at !== -1; at = findText(text, wanted, at + step)) {
    places.push(at);
    if (places.length === most) break;
  }
  return places;
}

/** The most characters of a text after replacements: as many as the default limit for a file's bytes. */
const MOST_CHARACTERS = 10 * 1024 * 1024;

/** Replaces the pieces at these places. Unlike in String.replaceAll, `$` in `made` has no special meaning. */
function replaceAt(text: string, places: readonly number[], { wanted, made }: Spelled): string {
  const length = text.length + places.length * (made.length - wanted.length);
  if (length > Math.max(MOST_CHARACTERS, text.length))
    throw new ToolError(`The file would grow to ${length} characters; nothing was changed. Replace less.`);
  let next = 0;
  const kept = places.map((at) => {
    const piece = text.slice(next, at);
    next = at + wanted.length;
    return piece;
  });
  return [...kept, text.slice(next)].join(made);
}

function existing({ path, base }: Based): string {
  if (base === null) throw new ToolError(`There is no file "${path}". Use create_file to make it.`);
  return base;
}

function notOnce(what: string, path: string, times: number): ToolError {
  if (times === 0) {
    return new ToolError(`${what} does not stand in "${path}"; nothing was changed. Read the file again.`);
  }
  const how = 'Give more of the lines around it, or set replace_all';
  return new ToolError(`${what} stands in "${path}" more than once; nothing was changed. ${how}.`);
}

/** The piece to find and the piece to put there, in the spelling of the file. */
interface Spelled {
  wanted: string;
  made: string;
}

/**
 * A replacement in the file's spelling. Its line ends become the file's line ends. In a file that is not UTF-8, we
 * first look for the text as UTF-8 and then as Latin-1, in which the file is shown.
 */
function spell(
  base: string,
  { old_text, new_text }: Replacement,
  { encoding, isCrlf }: { encoding: Encoding; isCrlf: boolean },
): Spelled {
  const ended = (text: string): string => lineEndsOf(isCrlf, text);
  const wanted = ended(fromModel(old_text, encoding));
  const made = ended(fromModel(new_text, encoding));
  const latin = isLatin(old_text) && isLatin(new_text);
  if (encoding === 'utf8' || !latin || findText(base, wanted) !== -1) return { wanted, made };
  return { wanted: ended(old_text), made: ended(new_text) };
}

function isLatin(text: string): boolean {
  return Buffer.from(text, 'latin1').toString('latin1') === text;
}

/** Whether all lines of a text end in CRLF. */
function hasCrlf(text: string): boolean {
  return text.includes('\r\n') && !/(?<!\r)\n/.test(text);
}

/** If all lines of a file end in CRLF, the text gets CRLF too: models write `\n`. Otherwise it stays unchanged. */
function lineEndsOf(isCrlf: boolean, text: string): string {
  return isCrlf && !text.includes('\r') ? text.replaceAll('\n', '\r\n') : text;
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
  const isCrlf = hasCrlf(base);
  const text = fromModel(args.text, args.encoding);
  const piece = lineEndsOf(isCrlf, text.endsWith('\n') ? text : `${text}\n`);
  const before = args.line === 1 ? markOf(base) : base.slice(0, start);
  const gap = args.line === 1 || before.endsWith('\n') ? '' : lineEndsOf(isCrlf, '\n');
  return before + gap + piece + base.slice(before.length);
}

/** The byte order mark of a text, which has to stay first. */
function markOf(base: string): string {
  return base.startsWith('\ufeff') ? '\ufeff' : '';
}
