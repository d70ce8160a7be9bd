import { CountersignError } from '../../contract/errors';

/** No record of ours is longer: arguments have their limit, and results are kept as digests. */
const MOST_BYTES = 16 * 1024 * 1024;
const NEWLINE = 0x0a;

/** Lines of a file without their newlines. `cut`: the bytes after the last newline, which a crash leaves. */
export type Lines = { lines: Buffer[]; cut?: Buffer };

/**
 * Splits a stream into lines, some at a time.
 *
 * @throws CountersignError `audit_invalid` for a line over 16 MiB.
 */
export async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Lines> {
  let rest: Buffer[] = [];
  for await (const chunk of chunks) {
    const last = chunk.lastIndexOf(NEWLINE);
    if (last === -1) rest.push(chunk);
    else {
      yield { lines: linesOf(Buffer.concat([...rest, chunk.subarray(0, last + 1)])) };
      rest = [chunk.subarray(last + 1)];
    }
    if (rest.reduce((sum, { length }) => sum + length, 0) > MOST_BYTES) throw tooLong();
  }
  const cut = Buffer.concat(rest);
  if (cut.length > 0) yield { lines: [], cut };
}

/** `bytes` ends with a newline. */
function linesOf(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, from);
    lines.push(bytes.subarray(from, end));
    from = end + 1;
  }
  return lines;
}

function tooLong(): CountersignError {
  return new CountersignError('audit_invalid', 'this is no audit file: it has a line over 16 MiB');
}
