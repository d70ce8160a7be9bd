/**
 * Text within a limit of UTF-8 bytes: head and tail are kept, the middle gives way to a mark with the number of bytes
 * left out. No character is split. The mark counts towards the limit; where it does not fit, only the mark is left.
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

function mark(leftOut: number): string {
  return `\n[... ${leftOut} bytes left out ...]\n`;
}

function startOfCharacter(bytes: Buffer, from: number): number {
  let index = Math.min(from, bytes.length);
  while (index > 0 && isContinuation(bytes[index])) index--;
  return index;
}

function endOfCharacter(bytes: Buffer, from: number): number {
  let index = from;
  while (index < bytes.length && isContinuation(bytes[index])) index++;
  return index;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
