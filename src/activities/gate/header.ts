import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { AUTHORITY, type Vote } from '../../contract/authority';
import type { SpentDecision } from '../../contract/call';
import type { GateHeader } from '../../contract/gate';
import { isObject } from '../../contract/json';
import { CALL_HEAD } from '../../contract/result';
import { guard } from '../../contract/schema/message';
import {
  both,
  exact,
  integer,
  list,
  number,
  object,
  oneOf,
  only,
  type Shape,
  text,
} from '../../contract/schema/shape';
import { EFFECTS } from '../../contract/tool';

const VOTE: Shape<Vote> = object(
  { voter: text(), decision: oneOf(['approved', 'denied']), decisionId: text(), at: text() },
  {},
);

const DECISION: Shape<SpentDecision> = object(
  { decisionId: text(), decision: oneOf(['approved', 'modified']), approver: text(), seenDigest: text() },
  {
    previewDigest: text(),
    reason: text(),
    hunks: list(text()),
    votes: list(VOTE),
    edit: object({ approver: text() }, { reason: text() }),
  },
);

const HEADER = exact(
  both(CALL_HEAD, {
    agent: text(),
    callKey: text(),
    generation: integer({ minimum: 0 }),
    argsDigest: text(),
    toolDigest: text(),
    effect: oneOf(EFFECTS),
    timeoutMs: number(),
    originalRunId: text(),
  }),
  {
    decision: DECISION,
    authority: AUTHORITY,
    secret: text(),
    mayHaveRun: only(true),
    round: number(),
    askedIn: text(),
    decidedIn: text(),
    gated: text(),
    hasKey: only(true),
  },
);

const isGateHeader = guard<GateHeader>(HEADER);

/**
 * Reads the header of a gated activity. Other fields of a call's input, such as a grant, are for turns and are left out.
 * Undefined: a gate did not write it.
 */
export function readGateHeader(header: Payload): GateHeader | undefined {
  const value = headerValue(header);
  if (!isObject(value)) return undefined;
  const fields = Object.entries(value).filter(([name]) => Object.hasOwn(HEADER.properties, name));
  const read = Object.fromEntries(fields);
  return isGateHeader(read) ? read : undefined;
}

/** The value of a header. No codec encodes one. Undefined if it cannot be read. */
export function headerValue(header: Payload): unknown {
  try {
    return defaultPayloadConverter.fromPayload(header);
  } catch {
    return undefined;
  }
}
