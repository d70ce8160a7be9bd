import canonicalize from 'canonicalize';
import type { JsonObject } from '../contract/json';
import { CountersignError } from '../contract/errors';
import { unitEscapes } from '../contract/text/bytes';
import { sha256 } from '../system/sha256';

/** The previous hash in the first record. */
export const NO_HASH = '0'.repeat(64);

/**
 * The prefix of the signed text, which goes on with the hash of the record. With this prefix, the signature fits
 * nothing else.
 */
export const SIGNED = 'countersign audit head 1\n';

/** Fields whose values can be taken out later. All text of people and models is in one of these fields. */
export const SEALED_FIELDS = [
  'prompt',
  'files',
  'arguments',
  'approver',
  'identity',
  'channel',
  'reason',
  'suggestion',
  'content',
  'message',
  'statement',
  'signature',
  'requesters',
  'roster',
] as const;
export type SealedField = (typeof SEALED_FIELDS)[number];

/**
 * Values of a record that can never be taken out: ids, names, digests, numbers. They are never texts of a person or a
 * model.
 */
export type AuditFacts = Record<string, string | number | boolean>;

/** A record before its place in the chain is known. */
export interface AuditRecord {
  type: string;
  /** The time when the server recorded it, ISO 8601. */
  at: string;
  turn: string;
  /** The run that it happened in. */
  run: string;
  /** The id of the history event in that run. */
  event: number;
  /** The number of the record among the records of the same history event, from 0. */
  part: number;
  facts: AuditFacts;
  sealed: Partial<Record<SealedField, string>>;
}

/** A value as JSON in ASCII, so that a file cannot write the same text in two ways. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, unitEscapes);
}

/** The problem with a record. `index` counts from 0, `line` from 1. */
interface Bad {
  index: number;
  line: number;
  reason: string;
}

/** The error for a file that was changed. The error names the first record that shows the change. */
export function broken(bad: Bad): CountersignError {
  const message = `record ${bad.index} (line ${bad.line}) is not as it was written: ${bad.reason}`;
  return new CountersignError('audit_broken', message, {
    hint: 'what comes before it is as it was written; compare the rest with another copy, or export anew from Temporal',
    data: { ...bad },
  });
}

/** The error for a file that is not an audit file, or that a later version wrote. */
export function notAudit(why: string): CountersignError {
  return new CountersignError(
    'audit_broken',
    `this audit file cannot be read: ${why}`,
    'countersign audit export writes one',
  );
}

/** The error for a file that is signed with another key than the expected one. */
export function otherKey(found: string, expected: string): CountersignError {
  return new CountersignError('audit_broken', `the file is signed with another key: ${found}`, {
    hint: `it has to be ${expected}; a file that was written anew with a key of its own looks like this`,
    data: { found, expected },
  });
}

/** The error for records after the last signed head. */
export function unsigned({ signed, records }: { signed: number; records: number }): CountersignError {
  const count = records - signed;
  const message = `${count} of ${records} records come after the last signed head: nobody vouches for them`;
  return new CountersignError('audit_broken', message, {
    hint: 'an export that was cut off leaves this; run countersign audit export again, it writes them anew and signs',
    data: { signed, unsigned: count },
  });
}

/** The error for signed decisions whose signatures do not fit what the record says. */
export function badSignatures(count: number): CountersignError {
  const message = `${count} signed decisions do not hold: their signatures are not over what is on record`;
  return new CountersignError('audit_broken', message, {
    hint: 'each is named above, with why; a worker starts nothing by such a vote',
    data: { bad: count },
  });
}

/** The digest of arguments, as decisions carry it. Undefined for arguments that are not sound JSON. */
export function argsDigestOf(args: JsonObject): string | undefined {
  try {
    // The same digest as in the contract, but computed by Node, because exports are long.
    return sha256(canonicalize(args) ?? '');
  } catch {
    // Anyone can send arguments that cannot be digested. The record then has no digest.
    return undefined;
  }
}
