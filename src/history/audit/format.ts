import { hash } from 'node:crypto';

/** The version of the file's format; `docs/audit.md` describes it. */
export const FORMAT = 1;

/** What the first record has in place of the hash of the one before. */
export const NO_HASH = '0'.repeat(64);

/** What a signature is over, before the hash of its own record: it can then stand for nothing else. */
export const SIGNED = 'countersign audit head 1\n';

/** Fields whose values can be taken out later; everything that people and models write is one of them. */
export const SEALED_FIELDS = [
  'prompt',
  'arguments',
  'approver',
  'identity',
  'channel',
  'reason',
  'content',
  'message',
] as const;
export type SealedField = (typeof SEALED_FIELDS)[number];

/** What a record says openly and for good: ids, names, digests, numbers. Never text of a person or a model. */
export type Facts = Record<string, string | number | boolean>;

/** One thing that happened, before it has its place in the chain. */
export interface AuditRecord {
  type: string;
  /** When the server recorded it; ISO 8601. */
  at: string;
  turn: string;
  /** The run that it happened in. */
  run: string;
  /** The history event of that run. */
  event: number;
  /** Counts the records of one history event, from 0. */
  part: number;
  facts: Facts;
  sealed: Partial<Record<SealedField, string>>;
}

/** SHA-256 of text (as UTF-8) or bytes, in hex. */
export function sha256(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex');
}

/** A value as JSON in ASCII: a file without any other byte cannot say one thing in two ways. */
export function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
