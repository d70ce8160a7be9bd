import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { AuditRecord } from '../../src/audit/format';
import { keyId, makeKeys } from '../../src/audit/file-key';
import { createRecorder } from '../../src/audit/records';
import {
  continueChain,
  createVerifier,
  type Expected,
  firstLine,
  type VerifiedFile,
} from '../../src/audit/chain';
import { turnEventsOfJson } from '../../src/history/exported';

export const AT = '2026-11-21T12:00:00.000Z';

/** A new private key. */
export const newKey = (): KeyObject => createPrivateKey(makeKeys().privatePem);

/** A record of something, with values of every kind of text. */
export const record = (event: number, more: Partial<AuditRecord> = {}): AuditRecord => ({
  type: 'decision',
  at: AT,
  turn: 'turn-1',
  run: 'run-1',
  event,
  part: 0,
  facts: { call: '1.1', decision: 'approved', success: true, ms: 12 },
  sealed: { approver: 'ann "the boss"', reason: 'naïve \\ \ud83d\ude00 \n ],"hash":"' },
  ...more,
});

/** A file of these records, one more signed head after each number in `heads`, and one at its end. */
export function fileOf(
  records: readonly AuditRecord[],
  { key = newKey(), heads = [], end = true }: { key?: KeyObject; heads?: number[]; end?: boolean } = {},
): string[] {
  const first = firstLine({ namespace: 'default', key: keyId(key), at: AT });
  const chain = continueChain(first.end);
  const lines = records.flatMap((one, index) => [
    chain.append(one),
    ...(heads.includes(index + 1) ? [chain.sign(key, AT)] : []),
  ]);
  return [first.text, ...lines, ...(end ? [chain.sign(key, AT)] : [])];
}

/** Checks lines as a file is checked. */
export function verifyLines(lines: readonly string[], expected: Expected = {}): VerifiedFile {
  const verifier = createVerifier(expected);
  for (const line of lines) verifier.push(Buffer.from(line, 'latin1'));
  return verifier.finish();
}

/** The records of a history that a real server recorded. */
export async function recordsOfFile(path: string): Promise<AuditRecord[]> {
  const recorder = createRecorder('turn-1');
  const events = await turnEventsOfJson(readFileSync(path, 'utf8'));
  return events.flatMap((event) => recorder.push(event));
}

const recorded = join(__dirname, '..', 'histories');

/** Histories of a real server and worker, one behaviour each. */
export const recordedFiles: readonly [string, string][] = readdirSync(recorded).map((name) => [
  name.replace('.json', ''),
  join(recorded, name),
]);
