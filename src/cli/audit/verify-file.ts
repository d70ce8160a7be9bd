import { CountersignError } from '../../contract/errors';
import { splitLines } from '../../history/audit/lines';
import { readLine, type ReadLine } from '../../history/audit/read';
import { createVerifier, type Expected, type Verified } from '../../history/audit/verify';
import { chunksOf, readTextFile, withFile } from '../files';

/** Checks every byte of an audit file, in memory that does not grow with it. Errors: `file_failed`, `audit_*`. */
export function verifyFile(file: string, expected: Expected): Promise<Verified> {
  return withFile(`reading ${file}`, async () => {
    const verifier = createVerifier(expected);
    for await (const { lines, cut } of splitLines(chunksOf(file))) {
      for (const line of lines) verifier.push(line);
      if (cut !== undefined) verifier.cut();
    }
    return verifier.finish();
  });
}

/** The last signed head that a file holds: one that was kept elsewhere, alone or at the end of an older copy. */
export async function readHead(file: string): Promise<ReadLine> {
  const lines = (await readTextFile(file)).trimEnd().split('\n');
  const head = lines
    .toReversed()
    .map((line) => readLine(line))
    .find((line) => typeof line !== 'string' && line.sig !== undefined);
  if (head !== undefined && typeof head !== 'string') return head;
  throw new CountersignError('audit_invalid', `${file} holds no signed head`, {
    hint: 'Keep the last line of an audit file: tail -n 1 audit.jsonl > head.json',
  });
}
