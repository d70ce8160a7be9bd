import { open, rename, rm } from 'node:fs/promises';
import { asciiJson, type SealedField } from '../../history/audit/format';
import { splitLines } from '../../history/audit/lines';
import { redactLine } from '../../history/audit/redact';
import { createVerifier, type Verified } from '../../history/audit/verify';
import { chunksOf, withFile } from '../files';

/** What to take out, and from which records. */
export interface Redaction {
  fields: readonly SealedField[];
  /** Only of this turn. */
  turn?: string;
  /** Where the copy goes; the file itself by default. */
  out: string;
}

/** What came of it. */
export interface Redacted {
  file: string;
  /** Values that were taken out now. */
  taken: number;
  /** Values that are out in all. */
  redacted: number;
}

/**
 * Takes values out of an audit file; every hash and signature stays right. The file is checked on the way and replaced
 * only at the end, so nothing is lost where something fails. Errors: `file_failed`, `audit_*`.
 */
export async function redactFile(file: string, redaction: Redaction): Promise<Redacted> {
  const { out } = redaction;
  const draft = `${out}.redacting`;
  return withFile(`writing ${out}`, async () => {
    try {
      const { taken, verified } = await copy(file, draft, redaction);
      await rename(draft, out);
      return { file: out, taken, redacted: verified.redacted + taken };
    } finally {
      await rm(draft, { force: true });
    }
  });
}

async function copy(file: string, draft: string, { fields, turn }: Redaction) {
  const verifier = createVerifier();
  const target = await open(draft, 'w', 0o600);
  let taken = 0;
  try {
    for await (const { lines, cut } of splitLines(chunksOf(file))) {
      const texts = lines.map((bytes) => {
        const line = verifier.push(bytes);
        const text = bytes.toString('latin1');
        if (turn !== undefined && !line.body.includes(`,"turn":${asciiJson(turn)},`)) return `${text}\n`;
        taken += fields.filter((name) => line.open.has(name)).length;
        return `${redactLine(text, line, fields)}\n`;
      });
      await target.appendFile(texts.join(''), 'latin1');
      if (cut !== undefined) verifier.cut();
    }
    await target.sync();
  } finally {
    await target.close();
  }
  const verified: Verified = verifier.finish();
  return { taken, verified };
}
