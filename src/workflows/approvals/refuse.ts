import type { RefusalCode, Refused } from '../../contract/decision';
import { isObject } from '../../contract/json';
import type { Approvals, SpentId } from './state';

/** A refusal; `message` may be anything a sender sent. */
export function refuse(code: RefusalCode, why: string, message: unknown): Refused {
  const callId = textOf(message, 'callId') ?? '';
  const decisionId = textOf(message, 'decisionId');
  return { accepted: false, code, message: why, callId, ...(decisionId === undefined ? {} : { decisionId }) };
}

function textOf(message: unknown, key: string): string | undefined {
  const value = isObject(message) ? message[key] : undefined;
  return typeof value === 'string' ? value.slice(0, 200) : undefined;
}

/** A repeat of a known decision id: the first verdict with the same content, `malformed` with other content. */
export function repeatOf(
  approvals: Approvals,
  message: { decisionId?: string },
  contentDigest: string,
): { kind: 'repeat'; spent: SpentId } | { kind: 'refuse'; refused: Refused } | undefined {
  const spent = message.decisionId === undefined ? undefined : approvals.verdicts.get(message.decisionId);
  if (spent === undefined) return undefined;
  if (spent.digest === contentDigest) return { kind: 'repeat', spent };
  const why = `decision id ${message.decisionId} was used before with other content`;
  return { kind: 'refuse', refused: refuse('malformed', why, message) };
}
