import { randomFillSync, sign, type KeyObject } from 'node:crypto';
import { asciiJson, FORMAT, NO_HASH, sha256, SIGNED, type AuditRecord, type Facts } from './format';

const SALT_BYTES = 16;

/** Where a chain is: the number that its next record gets, and the hash of its last one. */
export interface ChainEnd {
  next: number;
  hash: string;
}

/** Writes the lines of a chain, one after the other. */
export interface ChainWriter {
  readonly end: ChainEnd;
  /** The line of one more record. */
  append(record: AuditRecord): string;
  /** The line of a signed head: it vouches for every record before it. `at`: ISO 8601. */
  sign(key: KeyObject, at: string): string;
}

/** Goes on where a chain ends. */
export function continueChain(from: ChainEnd): ChainWriter {
  const end = { ...from };
  const place = (type: string, facts: Facts) => ({ n: end.next, prev: end.hash, type, ...facts });
  const link = (body: string): string => {
    end.next += 1;
    end.hash = sha256(body);
    return `${body},"hash":"${end.hash}"`;
  };
  return {
    end,
    append: ({ type, at, turn, run, event, part, facts, sealed }) => {
      const frame = place(type, { at, turn, run, event, part, ...facts });
      const { closed, open } = seal(sealed);
      return `${link(`${withoutBrace(frame)},"sealed":{${closed}}`)},"open":{${open}}}`;
    },
    sign: (key, at) => {
      const linked = link(withoutBrace(place('head', { at })));
      return `${linked},"sig":"${sign(null, Buffer.from(SIGNED + end.hash), key).toString('hex')}"}`;
    },
  };
}

/** The first line of a file: what it is of, and whose signature its heads have. */
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

function withoutBrace(frame: object): string {
  return asciiJson(frame).slice(0, -1);
}

/** Values with the salts that hide them, and the hash of each pair. */
function seal(values: AuditRecord['sealed']): { closed: string; open: string } {
  const fields = Object.entries(values).map(([name, value]) => {
    const pair = asciiJson([nextSalt(), value]);
    return { closed: `"${name}":"${sha256(pair)}"`, open: `"${name}":${pair}` };
  });
  return { closed: fields.map((one) => one.closed).join(), open: fields.map((one) => one.open).join() };
}

const pool = Buffer.alloc(SALT_BYTES * 512);
let used = pool.length;

/** Asking the system for each salt alone would cost more than all the hashing. */
function nextSalt(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += SALT_BYTES;
  return pool.toString('hex', used - SALT_BYTES, used);
}
