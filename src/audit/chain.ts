import { type KeyObject, randomFillSync, sign, verify } from 'node:crypto';
import { z } from 'zod';
import {
  asciiJson,
  type AuditRecord,
  broken,
  type AuditFacts,
  NO_HASH,
  notAudit,
  otherKey,
  SIGNED,
} from './format';
import { publicKeyOf } from './file-key';
import { frameOf, readLine, type ReadLine, wrongValue } from './read';
import { sha256 } from '../system/sha256';

/** The version of the file's format; `docs/audit.md` describes it. */
const FORMAT = 1;

/** What a file must match, in addition to being complete and unchanged. */
export interface Expected {
  /** The public key, in hex, with which the file must be signed. Without it, the key that the file names is used. */
  key?: string;
  /** A head that was kept elsewhere. The file has to contain it. */
  head?: ReadLine;
}

/** The facts about a file in which every record is as it was written. */
export interface VerifiedFile {
  namespace: string;
  /** The public key of its heads, in hex. */
  key: string;
  /** The number of lines, except the first line and the heads. */
  records: number;
  /** The number of those records that come before the last signed head. */
  signed: number;
  /** The number of values that were taken out. */
  redacted: number;
  /** The last signed head. */
  head?: { n: number; at: string; hash: string };
  /** The hash of the last line, and the number that the next line gets. */
  end: { next: number; hash: string };
}

type Found = Omit<VerifiedFile, 'namespace' | 'key'> & {
  of?: { namespace: string; key: string; signer: KeyObject };
};

/** Starts checking a file. */
export function createVerifier(expected: Expected = {}) {
  const found: Found = { records: 0, signed: 0, redacted: 0, end: { next: 0, hash: NO_HASH } };
  const refuse = (reason: string) => broken({ index: found.end.next, line: found.end.next + 1, reason });
  return {
    /** Checks one more line and returns it. @throws CountersignError `audit_broken`. */
    push: (bytes: Buffer) => {
      const line = readLine(bytes.toString('latin1'));
      if (typeof line === 'string') throw found.of === undefined ? notAudit(line) : refuse(line);
      const wrong = wrongHash(line, bytes) ?? wrongPlace(line, found.end) ?? wrongValue(line);
      if (wrong !== undefined) throw refuse(wrong);
      if (found.of === undefined) found.of = readFirst(line, expected.key);
      else if (line.sig !== undefined) {
        if (!isSigned(line, found.of.signer)) throw refuse('its signature is not of the key of this file');
        const { n, at, hash } = line;
        found.head = { n, at, hash };
        found.signed = found.records;
      } else {
        found.records += 1;
        found.redacted += line.sealed.size - line.open.size;
      }
      if (line.n === expected.head?.n && line.hash !== expected.head.hash)
        throw refuse('a head that was kept elsewhere has another record here');
      found.end = { next: line.n + 1, hash: line.hash };
      return line;
    },
    /** Called when there are bytes after the last newline. @throws CountersignError `audit_broken`. */
    cut: (): never => {
      throw refuse('the line is cut short');
    },
    /**
     * The result of the check.
     *
     * @throws CountersignError `audit_broken` for an empty file, and if an expected head is missing.
     */
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

function wrongPlace({ n, prev }: ReadLine, end: VerifiedFile['end']) {
  if (n > end.next) return `the records ${end.next} to ${n - 1} are missing`;
  if (n < end.next) return `record ${n} is in its place`;
  return prev === end.hash
    ? undefined
    : 'it does not follow the record before it; one of the two was changed';
}

const first = z.object({ format: z.number(), namespace: z.string(), key: z.string().length(64) });

function readFirst({ type, body }: ReadLine, expected: string | undefined) {
  if (type !== 'audit') throw notAudit('it does not start with the first record of one');
  const parsed = first.safeParse(frameOf(body));
  if (!parsed.success) throw notAudit('its first record does not say what it is of');
  const { format, namespace, key } = parsed.data;
  if (format !== FORMAT) throw notAudit(`its format is ${format}, and this version reads ${FORMAT}`);
  if (expected !== undefined && key !== expected) throw otherKey(key, expected);
  return { namespace, key, signer: publicKeyOf(key) };
}

/** Whether a head is signed with a key. */
function isSigned({ hash, sig }: ReadLine, signer: KeyObject) {
  return verify(null, Buffer.from(SIGNED + hash), signer, Buffer.from(sig ?? '', 'hex'));
}

function assertHead(signer: KeyObject, head: ReadLine | undefined) {
  if (head === undefined) return;
  const isWhole = sha256(head.body) === head.hash && isSigned(head, signer);
  if (!isWhole) throw notAudit('the head that was given is not signed with the key of this file');
}

const SALT_BYTES = 16;

/** The end of a chain: the number that the next record gets, and the hash of the last record. */
export interface ChainEnd {
  next: number;
  hash: string;
}

/** Makes a writer that continues a chain from its end. */
export function continueChain(from: ChainEnd) {
  const end = { ...from };
  const place = (type: string, facts: AuditFacts) => ({ n: end.next, prev: end.hash, type, ...facts });
  const link = (body: string) => {
    end.next += 1;
    end.hash = sha256(body);
    return `${body},"hash":"${end.hash}"`;
  };
  return {
    end,
    /** The line of the next record. */
    append: ({ type, at, turn, run, event, part, facts, sealed }: AuditRecord) => {
      const frame = place(type, { at, turn, run, event, part, ...facts });
      const { closed, open } = seal(sealed);
      return `${link(`${withoutBrace(frame)},"sealed":{${closed}}`)},"open":{${open}}}`;
    },
    /** The line of a signed head, which vouches for every record before it. `at`: ISO 8601. */
    sign: (key: KeyObject, at: string) => {
      const linked = link(withoutBrace(place('head', { at })));
      return `${linked},"sig":"${sign(null, Buffer.from(SIGNED + end.hash), key).toString('hex')}"}`;
    },
  };
}

/** The first line of a file. It names the namespace, and the public key for the signatures of the heads. */
export function firstLine(of: { namespace: string; key: string; at: string }): {
  text: string;
  end: ChainEnd;
} {
  const { at, namespace, key } = of;
  const frame = { n: 0, prev: NO_HASH, type: 'audit', at, format: FORMAT, namespace, key };
  const body = `${withoutBrace(frame)},"sealed":{}`;
  const hash = sha256(body);
  return { text: `${body},"hash":"${hash}","open":{}}`, end: { next: 1, hash } };
}

function withoutBrace(frame: object) {
  return asciiJson(frame).slice(0, -1);
}

/**
 * The values of a record with their salts (`open`), and the hash of each such pair (`closed`). Both are the inside of a
 * JSON object.
 */
function seal(values: AuditRecord['sealed']) {
  const fields = Object.entries(values).map(([name, value]) => {
    const pair = asciiJson([nextSalt(), value]);
    return { closed: `"${name}":"${sha256(pair)}"`, open: `"${name}":${pair}` };
  });
  return { closed: fields.map((one) => one.closed).join(), open: fields.map((one) => one.open).join() };
}

const pool = Buffer.alloc(SALT_BYTES * 512);
let used = pool.length;

/**
 * The next salt. Salts come from a pool, because asking the system for each salt would cost more than all the hashing.
 */
function nextSalt() {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += SALT_BYTES;
  return pool.toString('hex', used - SALT_BYTES, used);
}

/** Knows, for each run, the last event that was written to a file. */
export interface ExportedRuns {
  /** Notes a line of the file. The line counts once `settle` is called. */
  note(line: ReadLine): void;
  /** Called for a signed head: every line that was noted before it counts from now on. */
  settle(): void;
  /** Whether the file already has a record. If it does not, the record counts as written from now on. */
  take(record: AuditRecord): boolean;
  /** Whether a run is in the file up to its end. */
  hasWhole(run: string): boolean;
}

/**
 * The last record of a run in the file. Histories grow only at their end, so the file has every earlier record, too.
 */
interface RunEnd {
  event: number;
  part: number;
  over: boolean;
}

const frame = z.object({ run: z.string(), event: z.number(), part: z.number() });

/** The types of the records that can only be the last record of a run. */
const LAST: readonly string[] = ['turn_ended', 'continued'];

/** Makes an `ExportedRuns` that knows no runs yet. */
export function createExportedRuns(): ExportedRuns {
  const runs = new Map<string, RunEnd>();
  const noted = new Map<string, RunEnd>();
  return {
    note: ({ type, body }) => {
      const parsed = frame.safeParse(frameOf(body));
      if (parsed.success) noted.set(parsed.data.run, reachedBy(parsed.data, type));
    },
    settle: () => {
      for (const [run, reached] of noted) runs.set(run, reached);
      noted.clear();
    },
    take: (record) => {
      const reached = runs.get(record.run);
      if (
        reached !== undefined &&
        !(record.event > reached.event || (record.event === reached.event && record.part > reached.part))
      )
        return true;
      runs.set(record.run, reachedBy(record, record.type));
      return false;
    },
    hasWhole: (run) => runs.get(run)?.over === true,
  };
}

function reachedBy({ event, part }: Pick<AuditRecord, 'event' | 'part'>, type: string): RunEnd {
  return { event, part, over: LAST.includes(type) };
}
