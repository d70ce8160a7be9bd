import { isUtf8 } from 'node:buffer';
import type { FilePlan } from '../../contract/plan';
import { ToolError } from '../errors';
import { isWellFormed } from '../../contract/text/bytes';

/** The encoding in which bytes are held as text. */
export type Encoding = FilePlan['encoding'];

/** The byte order mark, as a character. */
export const MARK = '\ufeff';

/**
 * UTF-16 if the bytes begin with its mark; UTF-8 if they are valid UTF-8; otherwise Latin-1, one character per byte, so
 * that no byte is lost.
 */
export function encodingOf(bytes: Uint8Array): Encoding {
  return wideEncodingOf(bytes) ?? (isUtf8(bytes) ? 'utf8' : 'latin1');
}

/** UTF-16 by its mark. The same mark with two more zeros begins UTF-32, which is not read. */
function wideEncodingOf(bytes: Uint8Array): Encoding | undefined {
  const [first, second, third, fourth] = bytes;
  if (bytes.length % 2 !== 0) return undefined;
  if (first === 0xfe && second === 0xff) return 'utf16be';
  const isLonger = bytes.length >= 4 && third === 0 && fourth === 0;
  return first === 0xff && second === 0xfe && !isLonger ? 'utf16le' : undefined;
}

/** Whether a text begins with the mark of its encoding, which has to stay. */
export function isMarked(encoding: Encoding): boolean {
  return encoding === 'utf16le' || encoding === 'utf16be';
}

/** A text with the mark that its encoding needs: without it, nothing would say that the bytes are UTF-16. */
export function marked(text: string, encoding: Encoding): string {
  return isMarked(encoding) && !text.startsWith(MARK) ? MARK + text : text;
}

/** Bytes as text; `encodeText` with the same encoding gives the same bytes back. */
export function decodeText(bytes: Buffer, encoding: Encoding): string {
  if (encoding !== 'utf16be') return bytes.toString(encoding);
  return Buffer.from(bytes).swap16().toString('utf16le');
}

/** The bytes of a text that `decodeText` made. */
export function encodeText(text: string, encoding: Encoding): Buffer {
  return encoding === 'utf16be' ? Buffer.from(text, 'utf16le').swap16() : Buffer.from(text, encoding);
}

/**
 * Converts text of a model into the form in which a file of this encoding is held.
 *
 * @throws ToolError for half a character: the file would get another character than people saw.
 */
export function fromModel(text: string, encoding: Encoding): string {
  if (!isWellFormed(text))
    throw new ToolError('The text holds half a character (a lone surrogate). Nothing was written.');
  return encoding === 'latin1' ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

/** Whether bytes are binary: a NUL in the first 8,000 bytes, by git's rule. In UTF-16, a character NUL. */
export function isBinary(bytes: Uint8Array): boolean {
  const start = bytes.subarray(0, 8000);
  const encoding = wideEncodingOf(bytes);
  return encoding === undefined ? start.includes(0) : decodeText(Buffer.from(start), encoding).includes('\0');
}

/** Lines with their line ends. The last line may have no line end. */
export function splitLines(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

/** The number of lines. The last line may have no line end. */
export function countLines(text: string): number {
  let count = 0;
  let at = 0;
  for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', at)) {
    count += 1;
    at = end + 1;
  }
  return at < text.length ? count + 1 : count;
}

/** The index after so many lines that begin at `from`. Undefined if the text has fewer lines. */
export function skipLines(text: string, from: number, count: number): number | undefined {
  let at = from;
  for (let left = count; left > 0; left--) {
    if (at >= text.length) return undefined;
    const end = text.indexOf('\n', at);
    at = end === -1 ? text.length : end + 1;
  }
  return at;
}

/** The most characters that the engine's own search finds in linear time. For more, some texts take hours. */
const MOST_SOUGHT = 250;

/** The first place of a text that is not empty, as `indexOf`, but in linear time for any two texts. */
export function findText(text: string, wanted: string, from = 0): number {
  if (wanted.length <= MOST_SOUGHT) return text.indexOf(wanted, from);
  const start = text.indexOf(wanted.slice(0, MOST_SOUGHT), from);
  return start === -1 ? -1 : findLong(text, wanted, start);
}

/** The search of Knuth, Morris and Pratt. */
function findLong(text: string, wanted: string, from: number) {
  const borders = bordersOf(wanted);
  let fits = 0;
  for (let index = from; index < text.length; index++) {
    fits = extend(wanted, borders, { fits, next: text.charCodeAt(index) });
    if (fits === wanted.length) return index + 1 - fits;
  }
  return -1;
}

/** For each beginning of a text, by its length: the length of its longest end that is a shorter beginning, too. */
function bordersOf(wanted: string): Uint32Array {
  const borders = new Uint32Array(wanted.length + 1);
  let fits = 0;
  for (let index = 1; index < wanted.length; index++) {
    fits = extend(wanted, borders, { fits, next: wanted.charCodeAt(index) });
    borders[index + 1] = fits;
  }
  return borders;
}

/** How many characters of the beginning fit after one more character. */
function extend(wanted: string, borders: Uint32Array, { fits, next }: { fits: number; next: number }) {
  let left = fits;
  while (left > 0 && wanted.charCodeAt(left) !== next) left = borders[left] ?? 0;
  return wanted.charCodeAt(left) === next ? left + 1 : left;
}
