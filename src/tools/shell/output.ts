import { isUtf8 } from 'node:buffer';

/** Output of a command within a bound: the head and the tail are kept, what is between is counted. */
export interface Capture {
  add(chunk: Buffer): void;
  text(): string;
}

/** Room for the marks, so that the text stays within the limit. */
const MARK_BYTES = 128;

const NOT_UTF8 = '[the output is not UTF-8: bytes that are no text are shown as \ufffd]\n';

/** A capture of at most `limit` bytes, half of them from the start. Never holds much more than that. */
export function createCapture(limit: number): Capture {
  const half = Math.max(0, Math.floor((limit - MARK_BYTES) / 2));
  let head = Buffer.alloc(0);
  let tail = Buffer.alloc(0);
  let dropped = 0;
  return {
    add(chunk) {
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

function toText(head: Buffer, tail: Buffer, dropped: number): string {
  if (dropped === 0) return readable(Buffer.concat([head, tail]));
  const first = head.subarray(0, endOfCharacters(head));
  const last = tail.subarray(startOfCharacters(tail));
  const left = dropped + (head.length - first.length) + (tail.length - last.length);
  return `${readable(first)}\n[... ${left} bytes left out ...]\n${last.toString('utf8')}`;
}

function readable(bytes: Buffer): string {
  return (isUtf8(bytes) ? '' : NOT_UTF8) + bytes.toString('utf8');
}

/** Where the last whole character ends; a character has at most three bytes that continue it. */
function endOfCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(4, bytes.length); back++) {
    const lead = bytes[bytes.length - back] ?? 0;
    if (isContinuation(lead)) continue;
    return lengthOf(lead) > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function startOfCharacters(bytes: Buffer): number {
  const start = bytes.subarray(0, 4).findIndex((byte) => !isContinuation(byte));
  return start === -1 ? 0 : start;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

function lengthOf(lead: number): number {
  if (lead < 0xc0) return 1;
  if (lead < 0xe0) return 2;
  return lead < 0xf0 ? 3 : 4;
}
