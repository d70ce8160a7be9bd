import canonicalize from 'canonicalize';
import type { JsonObject } from '../../../contract/json';
import type { ToolResult } from '../../../contract/result';
import { defined } from '../../defined';
import type { RequestOpened, TurnEvent } from '../../events';
import { SEALED_FIELDS, sha256, type AuditRecord, type Facts, type SealedField } from '../format';

/** A record before it has its place. */
export type Draft = Pick<AuditRecord, 'type' | 'facts' | 'sealed'>;

/** The event of one type, or of some. */
export type Of<T extends TurnEvent['type']> = Extract<TurnEvent, { type: T }>;

/** What an approver was shown, as digests. */
export interface Shown {
  argsDigest: string;
  previewDigest?: string;
}

/** What a request shows. */
export function shownBy({ argsDigest, preview }: RequestOpened): Shown {
  return { argsDigest, ...defined({ previewDigest: preview && sha256(preview.text) }) };
}

/** Facts and sealed values without those that are absent. Longer facts are cut: whoever signals chooses some of them. */
export function draft(
  type: string,
  facts: { [K in string]: Facts[string] | undefined },
  sealed: { [K in SealedField]?: string | undefined } = {},
): Draft {
  const kept: Draft = { type, facts: {}, sealed: {} };
  for (const name in facts) {
    const value = facts[name];
    if (value !== undefined)
      kept.facts[name] = typeof value === 'string' ? value.slice(0, FACT_CHARS) : value;
  }
  for (const name of SEALED_FIELDS) {
    const value = sealed[name];
    if (value !== undefined) kept.sealed[name] = value;
  }
  return kept;
}

const FACT_CHARS = 256;

/** Arguments as their digest, the one that decisions name. Undefined for what is no sound JSON. */
export function argsDigestOf(args: JsonObject): string | undefined {
  try {
    // The same digest as the contract's, but by Node: exports are long.
    return sha256(canonicalize(args) ?? '');
  } catch {
    // A message of anyone may hold anything; the record then goes without.
    return undefined;
  }
}

/** What a call came to: never its text, which may be long and secret. */
export function resultFacts({ success, content, error, metadata }: ToolResult) {
  return {
    success,
    // Nothing ran: it is of a fork in a dry world.
    dry: metadata.dry,
    code: error?.code,
    resultDigest: sha256(content),
    resultBytes: Buffer.byteLength(content),
  };
}
