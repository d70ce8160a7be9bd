import { ApplicationFailure } from '@temporalio/workflow';
import { msToNumber } from '@temporalio/common/lib/time';
import type { ValidCall } from '../../contract/call';
import { digestJson } from '../../contract/digest';
import { isSoundJson, type JsonObject } from '../../contract/json';
import { LIMITS, TIMES } from '../../contract/limits';
import { FAILURES, RESERVED_TOOL_NAMES, TOOL_NAME } from '../../contract/names';
import { checkSchema } from '../../contract/schema';
import { utf8Bytes } from '../../contract/transcript';
import { describeIssues } from '../approvals/parse';
import type { GateRequest } from './types';

const CALL_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** The call that a request is about, as approvals know calls. Throws what is wrong with it. */
export function toCall(request: GateRequest, callId: string): ValidCall {
  const { tool, arguments: args, preview, reason } = request;
  checkNames(tool, callId);
  checkArguments(request);
  const call: ValidCall = {
    kind: 'ask',
    callId,
    id: callId,
    tool,
    arguments: args,
    argsDigest: digestJson(args),
    toolDigest: digestJson([tool, request.schema ?? null]),
    settings: settingsOf(request),
    ...(preview === undefined ? {} : { preview: { text: preview } }),
    ...(reason === undefined ? {} : { policyReason: reason }),
  };
  if (utf8Bytes(JSON.stringify(call)) > LIMITS.gatedBytes) {
    throw gateFailure(
      `a request of ${tool} is over ${LIMITS.gatedBytes} bytes: too large to review; split it`,
    );
  }
  return call;
}

function checkNames(tool: string, callId: string): void {
  if (!TOOL_NAME.test(tool) || RESERVED_TOOL_NAMES.includes(tool)) {
    throw gateFailure(`${JSON.stringify(tool)} is no name of a tool: use snake_case, at most 64 characters`);
  }
  if (CALL_ID.test(callId)) return;
  throw gateFailure(`${JSON.stringify(callId)} cannot be a call id: use letters, digits, ".", "_" and "-"`);
}

function checkArguments({ tool, arguments: args, schema }: GateRequest): void {
  if (!isSoundJson(args)) throw gateFailure(`the arguments of ${tool} are no plain JSON`);
  const issues = schema === undefined ? [] : checkSchema(schema, args);
  if (issues.length > 0) {
    throw gateFailure(`the arguments of ${tool} do not fit its schema: ${describeIssues(issues)}`);
  }
}

/** What runs an allowed call is the workflow's own business: only the expiry has an effect. */
function settingsOf({ effect = 'unsafe', expiresIn, noBatch = false }: GateRequest): ValidCall['settings'] {
  return {
    safety: 'dangerous',
    effect,
    timeoutMs: TIMES.toolTimeout,
    heartbeatMs: TIMES.heartbeatTimeout,
    retry: { maximumAttempts: 1, initialIntervalMs: 1000, backoffCoefficient: 2 },
    requestExpiresMs: expiresIn === 'never' ? null : toMs(expiresIn ?? TIMES.requestExpires),
    startWithinMs: TIMES.startWithin,
    ...(noBatch ? { noBatch } : {}),
  };
}

function toMs(time: Exclude<GateRequest['expiresIn'], 'never' | undefined>): number {
  const ms = parseTime(time);
  if (Number.isFinite(ms) && ms >= 1) return Math.round(ms);
  throw gateFailure(`expiresIn ${JSON.stringify(time)} is no time; write milliseconds, '2 hours' or 'never'`);
}

function parseTime(time: Parameters<typeof msToNumber>[0]): number {
  try {
    return msToNumber(time);
  } catch {
    return Number.NaN;
  }
}

/** Whether changed arguments have the shape of those that were asked about: the schema says so for both. */
export function fitsLike<A extends JsonObject>(request: GateRequest<A>, args: JsonObject): args is A {
  return request.schema !== undefined && checkSchema(request.schema, args).length === 0;
}

/** A mistake in the workflow's own code: it fails, where a plain Error would stall it for ever. */
export function gateFailure(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, FAILURES.gate);
}
