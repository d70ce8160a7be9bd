import type { ValidCall } from '../call';
import { defined } from '../defined';
import { digestJson } from '../digest';
import type { JsonObject } from '../json';
import { TIMES } from '../limits';
import { BUDGET_KINDS, type BudgetKind, raiseSchema } from './budget';

/** A turn's request for more budget. */
export interface Raise extends Pick<ValidCall, 'authority'> {
  callId: string;
  tool: string;
  /** One kind of budget, and the amount to add. */
  arguments: JsonObject;
  /** The spending and its purpose, in words. */
  policyReason?: string;
}

/** The kind of budget that a request for more budget names. Undefined if the request names none. */
export function raisedKind(args: JsonObject): BudgetKind | undefined {
  return BUDGET_KINDS.find((one) => Object.hasOwn(args, one));
}

/** The request as a call. The turn makes this call. A worker that applies rules to the request makes the same call. */
export function raiseCall({ callId, tool, arguments: args, ...more }: Raise): ValidCall {
  const kind = raisedKind(args);
  return {
    ...{ kind: 'ask', callId, id: callId, tool, arguments: args, argsDigest: digestJson(args) },
    toolDigest: digestJson({ name: tool, schema: kind === undefined ? {} : raiseSchema(kind) }),
    settings: {
      ...{ safety: 'dangerous', effect: 'idempotent' },
      timeoutMs: TIMES.toolTimeout,
      heartbeatMs: TIMES.heartbeatTimeout,
      retry: { maximumAttempts: 5, initialIntervalMs: 1000, backoffCoefficient: 2 },
      requestExpiresMs: TIMES.requestExpires,
      startWithinMs: TIMES.startWithin,
      grants: 'none',
    },
    ...defined(more),
  };
}
