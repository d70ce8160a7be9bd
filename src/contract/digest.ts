import { sha256 } from '@noble/hashes/sha2';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils';
import canonicalize from 'canonicalize';
import type { Preview } from './plan';
import { utf8Bytes } from './text/bytes';

/** The most bytes with which the id of a child begins. The server takes ids of 1,000 bytes; the call is named after. */
const CHILD_STEM_BYTES = 900;

/** SHA-256 of text (as UTF-8), in hex. Pure JavaScript: it also runs in the workflow sandbox. */
export function digestText(text: string): string {
  return bytesToHex(sha256(utf8ToBytes(text)));
}

/** The RFC 8785 canonical form of a JSON value: one text for each value. */
export function canonicalJson(value: unknown): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError('only JSON values have a canonical form');
  return text;
}

/** SHA-256 over the canonical form of a JSON value, in hex. `digest` is the function that hashes the text. */
export function digestJson(value: unknown, digest: (text: string) => string = digestText): string {
  return digest(canonicalJson(value));
}

/**
 * The beginning of the ids of the workflows that a workflow starts: its own id. A long id is shortened, with its digest
 * at the end: the server would not take the child's id, and the task would fail again and again.
 */
export function childStem(workflowId: string): string {
  if (utf8Bytes(workflowId) <= CHILD_STEM_BYTES) return workflowId;
  const end = `.${digestText(workflowId).slice(0, 32)}`;
  let room = CHILD_STEM_BYTES - end.length;
  const characters = [...workflowId];
  const cut = characters.findIndex((character) => (room -= utf8Bytes(character)) < 0);
  return `${characters.slice(0, cut).join('')}${end}`;
}

/**
 * The number of hex digits of a digest that a person copies. They are 128 bits, so that not even somebody who writes
 * two requests can give both the same digits.
 */
export const SAW_DIGITS = 32;

/** The digests, in hex, of the request that an approver is shown. */
interface ShownDigests {
  /** The digest of the arguments. */
  argsDigest: string;
  /** The digest of the preview's text. Absent: the tool has no preview. */
  previewDigest?: string;
  /** The digest of the plan behind the preview: path, base hash, hunks. Absent: there is no plan. */
  planDigest?: string;
}

/**
 * SHA-256 (hex) over everything that an approver is shown of a request. A decision carries it, so that it approves
 * exactly the request that was shown.
 */
export function seenDigestOf(
  { argsDigest, previewDigest, planDigest }: ShownDigests,
  digest: (text: string) => string = digestText,
): string {
  const parts = { argsDigest, previewDigest: previewDigest ?? null, planDigest: planDigest ?? null };
  return digestJson(parts, digest);
}

/** The digests of a preview. */
export function previewDigests(
  { text, plan }: Preview,
  digest: (text: string) => string = digestText,
): Omit<ShownDigests, 'argsDigest'> {
  const previewDigest = digest(text);
  return plan === undefined ? { previewDigest } : { previewDigest, planDigest: digestJson(plan, digest) };
}
