import { isUtf8 } from 'node:buffer';

/**
 * Cuts text to a limit of UTF-8 bytes. Head and tail are kept; a mark with the number of bytes left out replaces the
 * middle. No character is split. The mark counts towards the limit; if it does not fit, only the mark is left.
 *
 * @param alreadyLeftOut Bytes that were dropped from the middle before, and are counted by the mark.
 */
export function cutOutput(text: string, limitBytes: number, alreadyLeftOut = 0): string {
  // A character is at least one byte and at most three for each unit of the string.
  if (alreadyLeftOut === 0 && text.length * 3 <= limitBytes) return text;
  const bytes = Buffer.from(text, 'utf8');
  if (alreadyLeftOut === 0 && bytes.length <= limitBytes) return text;
  const room = limitBytes - Buffer.byteLength(mark(bytes.length + alreadyLeftOut));
  const head = startOfCharacter(bytes, Math.max(0, Math.ceil(room / 2)));
  const tail = endOfCharacter(
    bytes,
    Math.min(bytes.length, bytes.length - Math.max(0, Math.floor(room / 2))),
  );
  const leftOut = Math.max(0, tail - head) + alreadyLeftOut;
  return bytes.toString('utf8', 0, Math.min(head, tail)) + mark(leftOut) + bytes.toString('utf8', tail);
}

function mark(leftOut: number) {
  return `\n[... ${leftOut} bytes left out ...]\n`;
}

/**
 * The pieces of a text between the marks of its cuts, and these marks: the second, the fourth and so on. In JSON a mark
 * has its line feeds escaped.
 */
export function splitAtCuts(text: string): string[] {
  return text.split(/((?:\n|\\n)\[\.\.\. \d+ bytes left out \.\.\.\](?:\n|\\n))/);
}

function startOfCharacter(bytes: Buffer, from: number) {
  let index = Math.min(from, bytes.length);
  while (index > 0 && isContinuation(bytes[index])) index--;
  return index;
}

function endOfCharacter(bytes: Buffer, from: number) {
  let index = from;
  while (index < bytes.length && isContinuation(bytes[index])) index++;
  return index;
}

function isContinuation(byte: number | undefined) {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}

/** Keeps as much partial output as a text of `limitBytes` needs. */
export function createPartialOutput(limitBytes: number) {
  let head = '';
  let tail = '';
  let leftOut = 0;
  return {
    add(text: string) {
      const room = Math.max(0, limitBytes - head.length);
      head += text.slice(0, room);
      tail += text.slice(room);
      if (tail.length <= 2 * limitBytes) return;
      leftOut += Buffer.byteLength(tail.slice(0, -limitBytes));
      tail = tail.slice(-limitBytes);
    },
    /** The output within the limit, with a mark at the cut. */
    text: () => cutOutput(head + tail, limitBytes, leftOut),
  };
}

/** The bytes that are left free for the marks, so that the text stays within the limit. */
const MARK_BYTES = 128;

const NOT_UTF8 = '[the output is not UTF-8: bytes that are not text are shown as \ufffd]\n';

/** A capture of at most `limit` bytes, half of them from the start. It never holds much more than `limit` bytes. */
export function createCapture(limit: number) {
  const half = Math.max(0, Math.floor((limit - MARK_BYTES) / 2));
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let dropped = 0;
  return {
    add(chunk: Buffer) {
      const room = half - head.length;
      if (room > 0) head = Buffer.concat([head, chunk.subarray(0, room)]);
      const rest = Buffer.concat([tail, chunk.subarray(Math.max(0, room))]);
      const over = Math.max(0, rest.length - half);
      dropped += over;
      tail = rest.subarray(over);
    },
    text: () => toText(head, tail, dropped),
  };
}

function toText(head: Buffer, tail: Buffer, dropped: number) {
  if (dropped === 0) return readable(Buffer.concat([head, tail]));
  const first = wholeStart(head);
  const last = tail.subarray(endOfCharacter(tail, 0));
  const left = dropped + (head.length - first.length) + (tail.length - last.length);
  return `${readable(first)}${mark(left)}${last.toString('utf8')}`;
}

function readable(bytes: Buffer) {
  return (isUtf8(bytes) ? '' : NOT_UTF8) + bytes.toString('utf8');
}

/** The whole characters at the start of a text that was cut; bytes that are not UTF-8 stay as they are. */
function wholeStart(bytes: Buffer): Buffer {
  const cut = [0, 1, 2, 3].find((length) => isUtf8(bytes.subarray(0, bytes.length - length))) ?? 0;
  return bytes.subarray(0, bytes.length - cut);
}
