import type { ValidCall } from '../call';
import { digestJson } from '../digest';
import type { JsonObject } from '../json';
import { RETRY, TIMES } from '../limits';
import { raisedKind, raiseSchema } from './budget';

/** A turn's request for more budget. */
interface Raise extends Pick<ValidCall, 'authority'> {
  callId: string;
  tool: string;
  /** One kind of budget, and the amount to add. */
  arguments: JsonObject;
  /** The spending and its purpose, in words. */
  policyReason?: string;
}

/** What a request for more budget is for the rules and for the record. */
export const RAISE = { safety: 'dangerous', effect: 'idempotent' } as const;

/** The request as a call. The turn makes this call. A worker that applies rules to the request makes the same call. */
export function raiseCall({ callId, tool, arguments: args, ...more }: Raise): ValidCall {
  const kind = raisedKind(args);
  return {
    kind: 'ask',
    callId,
    id: callId,
    tool,
    arguments: args,
    argsDigest: digestJson(args),
    toolDigest: digestJson({ name: tool, schema: kind === undefined ? {} : raiseSchema(kind) }),
    settings: {
      ...RAISE,
      timeoutMs: TIMES.toolTimeout,
      heartbeatMs: TIMES.heartbeatTimeout,
      retry: { ...RETRY },
      requestExpiresMs: TIMES.requestExpires,
      startWithinMs: TIMES.startWithin,
      grants: 'none',
    },
    ...more,
  };
}
