import type { FileHandle } from 'node:fs/promises';
import { notAudit } from '../../history/audit/errors';
import { splitLines } from '../../history/audit/lines';
import type { Known } from '../../history/audit/resume';
import { createVerifier, type Verified, type Verifier } from '../../history/audit/verify';

/** What a file holds up to its last signed head, and what comes after it. */
export interface ReadThrough {
  /** As it was at the head; undefined where there is none. */
  signed?: Verified;
  /** Bytes up to the head. */
  bytes: number;
  /** Whole records after it. */
  unsigned: number;
  namespace?: string;
}

/**
 * Checks every line of a file and notes which records its heads vouch for. What comes after the last head anybody may
 * have written: it takes no key to go on with a chain.
 *
 * @throws CountersignError `audit_broken`, `audit_invalid`, `audit_key`.
 */
export async function readThrough(handle: FileHandle, known: Known, key: string): Promise<ReadThrough> {
  if (!(await handle.stat()).isFile()) throw notAudit('it is no file');
  const verifier = createVerifier({ key });
  const found: ReadThrough = { bytes: 0, unsigned: 0 };
  let whole = 0;
  const chunks = handle.createReadStream({ start: 0, autoClose: false, highWaterMark: 1024 * 1024 });
  for await (const { lines, cut } of splitLines(chunks)) {
    for (const bytes of lines) {
      const line = verifier.push(bytes);
      whole += bytes.length + 1;
      known.note(line);
      if (line.sig === undefined) continue;
      known.settle();
      Object.assign(found, { signed: verifier.finish(), bytes: whole });
    }
    if (cut !== undefined && whole === 0) assertOurs(cut);
  }
  return whole === 0 ? found : { ...found, ...tailOf(verifier, found) };
}

function tailOf(verifier: Verifier, { signed }: ReadThrough): Pick<ReadThrough, 'unsigned' | 'namespace'> {
  const { records, namespace } = verifier.finish();
  return { unsigned: records - (signed?.records ?? 0), namespace };
}

/** Without any whole line a file may be somebody's own, unless it begins as a first line of ours does. */
function assertOurs(cut: Buffer): void {
  const start = '{"n":0,"prev":"';
  if (!cut.toString('latin1').startsWith(start.slice(0, cut.length)))
    throw notAudit('it does not start with the first record of one');
}
