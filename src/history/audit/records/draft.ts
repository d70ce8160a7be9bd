import { digestJson } from '../../../contract/digest';
import type { JsonObject } from '../../../contract/json';
import type { ToolResult } from '../../../contract/result';
import { defined } from '../../defined';
import type { RequestOpened, TurnEvent } from '../../events';
import { sha256, type AuditRecord, type Facts } from '../format';

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
  sealed: { [K in keyof AuditRecord['sealed']]: string | undefined } = {},
): Draft {
  return { type, facts: cutTexts(facts), sealed: defined(sealed) };
}

const FACT_CHARS = 256;

function cutTexts(facts: Record<string, Facts[string] | undefined>): Facts {
  const kept: Facts = {};
  for (const [name, value] of Object.entries(facts)) {
    if (value === undefined) continue;
    kept[name] = typeof value === 'string' ? value.slice(0, FACT_CHARS) : value;
  }
  return kept;
}

/** Arguments as their digest, the one that decisions name. Undefined for what is no sound JSON. */
export function argsDigestOf(args: JsonObject): string | undefined {
  try {
    return digestJson(args);
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
