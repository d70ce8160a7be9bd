import { ToolError } from '../errors';
import { splitLines } from './hunks';
import { fromModel, type Encoding } from './text';

/** A file's text, held in its encoding. */
interface Based {
  path: string;
  base: string | null;
  encoding: Encoding;
}

/** A piece of text and what takes its place. */
interface Replacement {
  old_text: string;
  new_text: string;
}

/** Replaces pieces of text, in order, each on what the ones before left. @throws ToolError where one is not there exactly once. */
export function editText(args: Based & { edits: readonly Replacement[]; replace_all: boolean }): string {
  let text = existing(args);
  for (const [index, edit] of args.edits.entries()) {
    const { wanted, made } = spell(text, edit, args.encoding);
    const times = args.replace_all ? Math.min(1, countOf(text, wanted)) : countOf(text, wanted);
    if (times !== 1) throw notOnce(`Edit ${index + 1}: its old_text`, args.path, times);
    text = replaceAll(text, wanted, made);
  }
  return text;
}

/** Characters of a text that replacing everywhere may make: as large as a file that is read. */
const MOST_CHARACTERS = 10 * 1024 * 1024;

/** Nothing in `made` has a meaning, as it would have in String.replaceAll. */
function replaceAll(text: string, wanted: string, made: string): string {
  const pieces = text.split(wanted);
  const length = text.length + (pieces.length - 1) * (made.length - wanted.length);
  if (length <= Math.max(MOST_CHARACTERS, text.length)) return pieces.join(made);
  throw new ToolError(`The file would grow to ${length} characters; nothing was changed. Replace less.`);
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

/** 0, 1, or 2 for more; places that overlap count too, since it is not known which of them is meant. */
function countOf(text: string, wanted: string): number {
  const first = text.indexOf(wanted);
  if (first === -1) return 0;
  return text.includes(wanted, first + 1) ? 2 : 1;
}

/**
 * A replacement as the file spells it. Line ends become those of the file. In a file that is not UTF-8, text that does
 * not stand there as UTF-8 is looked for as Latin-1, which is how the file is shown.
 */
function spell(base: string, { old_text, new_text }: Replacement, encoding: Encoding) {
  const wanted = lineEndsOf(base, fromModel(old_text, encoding));
  const made = lineEndsOf(base, fromModel(new_text, encoding));
  const latin = isLatin(old_text) && isLatin(new_text);
  if (encoding === 'utf8' || !latin || base.includes(wanted)) return { wanted, made };
  return { wanted: lineEndsOf(base, old_text), made: lineEndsOf(base, new_text) };
}

function isLatin(text: string): boolean {
  return Buffer.from(text, 'latin1').toString('latin1') === text;
}

/** A file whose every line ends in CRLF keeps that: models write `\n`. Mixed line ends are left as they are given. */
function lineEndsOf(base: string, text: string): string {
  const crlf = base.includes('\r\n') && !/(?<!\r)\n/.test(base);
  return crlf && !text.includes('\r') ? text.replaceAll('\n', '\r\n') : text;
}

/** Puts text before a line; a line end is added where the text has none. @throws ToolError where there is no such line. */
export function insertLine(args: Based & { line: number; text: string }): string {
  const base = existing(args);
  const lines = splitLines(base);
  if (args.line > lines.length + 1) {
    throw new ToolError(
      `"${args.path}" has ${lines.length} lines, so line ${args.line} is past its end; ${lines.length + 1} appends.`,
    );
  }
  const text = fromModel(args.text, args.encoding);
  const piece = lineEndsOf(base, text.endsWith('\n') ? text : `${text}\n`);
  const before = args.line === 1 ? markOf(base) : lines.slice(0, args.line - 1).join('');
  const gap = args.line === 1 || before.endsWith('\n') ? '' : lineEndsOf(base, '\n');
  return before + gap + piece + base.slice(before.length);
}

/** A byte order mark stays first. */
function markOf(base: string): string {
  return base.startsWith('\ufeff') ? '\ufeff' : '';
}
