import { verify, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { broken, notAudit, otherKey } from './errors';
import { FORMAT, NO_HASH, sha256, SIGNED } from './format';
import { publicKeyOf } from './keys';
import { frameOf, readLine, wrongValue, type ReadLine } from './read';

/** What a file has to be besides whole. */
export interface Expected {
  /** The public key that it has to be signed with, in hex. Without, the one that the file itself names is taken. */
  key?: string;
  /** A head that was kept elsewhere: the file has to contain it. */
  head?: ReadLine;
}

/** What is known of a file whose every record is as it was written. */
export interface Verified {
  namespace: string;
  /** The public key of its heads, in hex. */
  key: string;
  /** Everything but the first line and the heads. */
  records: number;
  /** How many of them the last signed head vouches for. */
  signed: number;
  /** Values that were taken out. */
  redacted: number;
  /** The last signed head. */
  head?: { n: number; at: string; hash: string };
  /** Of the last line. */
  end: { next: number; hash: string };
}

/** Checks a file line by line; remembers nothing but where it is. */
export interface Verifier {
  /** Checks one more line and returns it. Errors: `audit_broken`, `audit_invalid`, `audit_key`. */
  push(line: Buffer): ReadLine;
  /** Bytes after the last newline. Errors: `audit_broken`. */
  cut(): never;
  /** What was found. Errors: `audit_invalid` for an empty file, `audit_broken` where an expected head is missing. */
  finish(): Verified;
}

type Found = Omit<Verified, 'namespace' | 'key'> & {
  of?: { namespace: string; key: string; signer: KeyObject };
};

/** Starts checking a file. */
export function createVerifier(expected: Expected = {}): Verifier {
  const found: Found = { records: 0, signed: 0, redacted: 0, end: { next: 0, hash: NO_HASH } };
  const refuse = (reason: string) => broken({ index: found.end.next, line: found.end.next + 1, reason });
  return {
    push: (bytes) => {
      const line = readLine(bytes.toString('latin1'));
      if (typeof line === 'string') throw found.of === undefined ? notAudit(line) : refuse(line);
      const wrong = wrongHash(line, bytes) ?? wrongPlace(line, found.end) ?? wrongValue(line);
      if (wrong !== undefined) throw refuse(wrong);
      if (found.of === undefined) found.of = readFirst(line, expected.key);
      else if (line.sig !== undefined) {
        if (!isSigned(line, found.of.signer)) throw refuse('its signature is not of the key of this file');
        takeHead(found, line);
      } else takeRecord(found, line);
      if (line.n === expected.head?.n && line.hash !== expected.head.hash)
        throw refuse('a head that was kept elsewhere has another record here');
      found.end = { next: line.n + 1, hash: line.hash };
      return line;
    },
    cut: () => {
      throw refuse('the line is cut short');
    },
    finish: () => {
      if (found.of === undefined) throw notAudit('it is empty');
      assertHead(found.of.signer, expected.head);
      if (expected.head !== undefined && expected.head.n >= found.end.next)
        throw refuse(`the file ends here, and a head of record ${expected.head.n} was kept elsewhere`);
      const { of, ...rest } = found;
      return { ...rest, namespace: of.namespace, key: of.key };
    },
  };
}

function wrongHash({ hash, body }: ReadLine, bytes: Buffer): string | undefined {
  const isSame = sha256(bytes.subarray(0, body.length)) === hash;
  return isSame ? undefined : 'its hash is not that of its content';
}

function wrongPlace({ n, prev }: ReadLine, end: Verified['end']): string | undefined {
  if (n > end.next) return `the records ${end.next} to ${n - 1} are missing`;
  if (n < end.next) return `record ${n} is in its place`;
  return prev === end.hash
    ? undefined
    : 'it does not follow the record before it; one of the two was changed';
}

const first = z.object({ format: z.number(), namespace: z.string(), key: z.string().length(64) });

function readFirst({ type, body }: ReadLine, expected: string | undefined): NonNullable<Found['of']> {
  if (type !== 'audit') throw notAudit('it does not start with the first record of one');
  const parsed = first.safeParse(frameOf(body));
  if (!parsed.success) throw notAudit('its first record does not say what it is of');
  const { format, namespace, key } = parsed.data;
  if (format !== FORMAT) throw notAudit(`its format is ${format}, and this version reads ${FORMAT}`);
  if (expected !== undefined && key !== expected) throw otherKey(key, expected);
  return { namespace, key, signer: publicKeyOf(key) };
}

/** Whether a head is signed with a key. */
function isSigned({ hash, sig }: ReadLine, signer: KeyObject): boolean {
  return verify(null, Buffer.from(SIGNED + hash), signer, Buffer.from(sig ?? '', 'hex'));
}

function assertHead(signer: KeyObject, head: ReadLine | undefined): void {
  if (head === undefined) return;
  const isWhole = sha256(head.body) === head.hash && isSigned(head, signer);
  if (!isWhole) throw notAudit('the head that was given is not signed with the key of this file');
}

function takeHead(found: Found, { n, at, hash }: ReadLine): void {
  found.head = { n, at, hash };
  found.signed = found.records;
}

function takeRecord(found: Found, { sealed, open }: ReadLine): void {
  found.records += 1;
  found.redacted += sealed.size - open.size;
}
