import { ApplicationFailure } from '@temporalio/workflow';
import { msToNumber } from '@temporalio/common';
import type { Duration } from '@temporalio/common';
import type { CallSettings, PreparedCall, ValidCall } from '../../contract/call';
import { isCallId } from '../../contract/decision';
import { digestJson, previewDigests } from '../../contract/digest';
import { errorMessage } from '../../contract/errors';
import { isJsonObject, type JsonObject } from '../../contract/json';
import { LIMITS, RETRY, TIMES } from '../../contract/limits';
import { makeFailure } from '../../contract/result';
import { FAILURES, RESERVED_TOOL_NAMES, TOOL_NAME } from '../../contract/names';
import type { Preview } from '../../contract/plan';
import { checkSchema } from '../../contract/schema/schema';
import { isFromLibrary, schemaOfLibrary, type StandardJsonSchema } from '../../contract/schema/standard';
import { utf8Bytes } from '../../contract/text/bytes';
import { describeIssues } from '../../contract/read-json';
import type { CallBasics, SpentId } from '../../lifecycle/state';
import type { Effect, JsonSchema } from '../../contract/tool';

/** How to open a gate. */
export interface GateOptions {
  /** The subject of this workflow, in a few words. The inbox shows it beside each request. @default nothing */
  about?: string;
  /** The state from `gate.carry()` of the previous run, if the workflow continues as new. */
  carried?: CarriedGate;
}

/**
 * The state that a gate passes to the next run, so that decisions that were spent stay spent. It is JSON of a few KiB.
 */
export interface CarriedGate {
  asked: number;
  spent: [string, SpentId][];
}

/** A call about which a person is asked. */
export interface GateRequest<A extends object = JsonObject> {
  /**
   * The name of the action in snake_case, such as `refund_order`. It is shown and searchable, so it must never be a
   * secret.
   */
  tool: string;
  /** The arguments of the action. */
  arguments: A;
  /**
   * Schema of the arguments: a `z.object` of zod 4.2 or later, or JSON Schema (2020-12). Without a schema a person may
   * approve and deny the call, but not change its arguments. zod's refinements are not checked, only its JSON Schema.
   */
  schema?: JsonSchema | StandardJsonSchema<A>;
  /**
   * What the approver sees beside the arguments: a text, or a function that makes the text from them. When a person
   * changes the arguments, people are asked again, with a new preview from the function, or without a preview if it
   * was a text.
   * @default the arguments alone
   */
  preview?: string | ((args: A) => string);
  /** Why a person is asked. */
  reason?: string;
  /**
   * The effect of running the action a second time. The approver sees the effect, and `run` follows it. @default
   * 'unsafe'
   */
  effect?: Effect;
  /** The time that the request waits: milliseconds, `'2 hours'`, or `'never'`. @default '7 days' */
  expiresIn?: Duration | 'never';
  /** Whether the request is never decided together with other requests. @default false */
  noBatch?: boolean;
  /** Unique in this workflow: letters, digits, `.`, `_`, `-`, at most 64. @default `1.<n>`, n counting from 1 */
  callId?: string;
}

/**
 * What a person decided, or that nobody decided in time. Run the call only if `allowed` is true, and only with these
 * arguments.
 */
export type GateDecision<A extends object = JsonObject> = GateAllowed<A> | GateForbidden;

/** The call may run once, with these arguments. */
export interface GateAllowed<A extends object = JsonObject> {
  allowed: true;
  decision: 'approved' | 'modified';
  callId: string;
  /** An idempotency key: unique to this call and this decision, also after a reset of the workflow. */
  callKey: string;
  /** The arguments to run with: as they were asked about, or as the person changed them. They fit the schema. */
  arguments: A;
  decisionId: string;
  /** The approver's name, as claimed. */
  approver: string;
  reason?: string;
  /**
   * A text for a model about what the person changed or said: each changed argument, who changed it, and why. Absent:
   * the person changed nothing and said nothing.
   */
  note?: string;
}

/** The call may not run. */
export interface GateForbidden {
  allowed: false;
  decision: 'denied' | 'expired';
  callId: string;
  callKey: string;
  /** The approver's name, as claimed. Absent if nobody decided. */
  approver?: string;
  /** Who denied the call and why, or that nobody decided in time. */
  message: string;
}

/** A request whose schema is JSON Schema. */
export type PlainRequest<A extends object = JsonObject> = Omit<GateRequest<A>, 'schema'> & {
  schema?: JsonSchema;
};

/**
 * The request with its schema as JSON Schema.
 *
 * @throws ApplicationFailure `countersign.gate`, not retryable, if the schema has no such form.
 */
export function toPlain<A extends object>(request: GateRequest<A>): PlainRequest<A> {
  const { schema, ...rest } = request;
  if (schema === undefined) return rest;
  return { ...rest, schema: isFromLibrary(schema) ? argumentSchemaOf(request.tool, schema) : schema };
}

/**
 * The JSON Schema of a tool's arguments, made from a library's schema.
 *
 * @throws ApplicationFailure `countersign.gate`, not retryable, if the schema has no such form.
 */
export function argumentSchemaOf(tool: string, schema: StandardJsonSchema): JsonSchema {
  try {
    return schemaOfLibrary(schema);
  } catch (error) {
    throw gateFailure(`the arguments of ${tool}: ${errorMessage(error)}`);
  }
}

/**
 * The call of a request, in the form that approvals use. `room`: the bytes that the memo of the workflow has left.
 *
 * @throws ApplicationFailure `countersign.gate`, not retryable, if the request is wrong.
 */
export function toCall<A extends object>(
  request: PlainRequest<A>,
  callId: string,
  settings = settingsOf(request),
  room = Infinity,
): ValidCall {
  const { tool, reason } = request;
  checkNames(tool, callId);
  const args = argumentsOf(request);
  const preview = previewOf(request);
  const call: ValidCall = {
    kind: 'ask',
    callId,
    id: callId,
    tool,
    arguments: args,
    argsDigest: digestJson(args),
    toolDigest: digestJson([tool, request.schema ?? null]),
    settings,
    ...(preview === undefined ? {} : { preview, ...previewDigests(preview) }),
    policyReason: reason,
  };
  const bytes = utf8Bytes(JSON.stringify(call));
  if (bytes > LIMITS.gateRequestBytes) {
    throw gateFailure(
      `a request of ${tool} is over ${LIMITS.gateRequestBytes} bytes: too large to review; split it`,
    );
  }
  if (bytes > room) {
    throw gateFailure(
      `a request of ${tool} has ${bytes} bytes, and the workflow's own memo leaves room for ${Math.max(0, room)}: the server would end the workflow; keep less in the memo`,
    );
  }
  return call;
}

function previewOf<A extends object>(request: PlainRequest<A>): Preview | undefined {
  const { tool, arguments: args, preview } = request;
  if (preview === undefined) return undefined;
  if (typeof preview === 'string') return { text: preview };
  try {
    return { text: preview(args) };
  } catch (error) {
    throw gateFailure(`the preview of ${tool} failed: ${errorMessage(error)}`);
  }
}

/**
 * The call of a request with the arguments that a person gave. A preview function is called again. A preview text is
 * left out, because it describes the old arguments. If the call is wrong, its result says why.
 */
export function toEditedCall<A extends object>(
  request: PlainRequest<A>,
  { call: { callId, id, tool, settings }, effective }: CallBasics,
  room?: number,
): PreparedCall {
  try {
    if (!fitsLike(request, effective)) throw gateFailure('the changed arguments do not fit the schema');
    const { preview, ...rest } = request;
    const again = typeof preview === 'function' ? { preview } : {};
    return toCall({ ...rest, ...again, arguments: effective }, callId, settings, room);
  } catch (error) {
    const message = errorMessage(error);
    const facts = { timestamp: new Date(Date.now()).toISOString() };
    const head = { id, callId, tool, arguments: effective };
    const result = makeFailure(head, { code: 'validation', message }, facts);
    return { kind: 'invalid', callId, id, tool, proposed: effective, result };
  }
}

function checkNames(tool: string, callId: string): void {
  if (!TOOL_NAME.test(tool) || RESERVED_TOOL_NAMES.includes(tool)) {
    throw gateFailure(
      `${JSON.stringify(tool)} is not a name of a tool: use snake_case, at most 64 characters`,
    );
  }
  if (isCallId(callId) && /^[A-Za-z0-9]/.test(callId)) return;
  throw gateFailure(
    `${JSON.stringify(callId)} cannot be a call id: use at most 64 letters, digits, ".", "_" and "-", and begin with a letter or a digit`,
  );
}

/**
 * The arguments as JSON keeps them. JSON drops undefined properties, such as an optional argument that is not given.
 */
function argumentsOf<A extends object>({ tool, arguments: given, schema }: PlainRequest<A>): JsonObject {
  const args: unknown = isJsonObject(given) ? JSON.parse(JSON.stringify(given)) : undefined;
  if (!isJsonObject(args)) throw gateFailure(`the arguments of ${tool} are not plain JSON`);
  const issues = schema === undefined ? [] : checkSchema(schema, args);
  if (issues.length === 0) return args;
  throw gateFailure(`the arguments of ${tool} do not fit its schema: ${describeIssues(issues)}`);
}

/** The settings of a call that the workflow itself runs when it is allowed. Only the expiry has an effect there. */
export function settingsOf<A extends object>({
  effect = 'unsafe',
  expiresIn,
  noBatch = false,
}: Pick<PlainRequest<A>, 'effect' | 'expiresIn' | 'noBatch'>): CallSettings {
  return {
    safety: 'dangerous',
    effect,
    timeoutMs: TIMES.toolTimeout,
    heartbeatMs: TIMES.heartbeatTimeout,
    retry: { ...RETRY, maximumAttempts: 1 },
    requestExpiresMs: expiresIn === 'never' ? null : toMs(expiresIn ?? TIMES.requestExpires, 'expiresIn'),
    startWithinMs: TIMES.startWithin,
    noBatch: noBatch || undefined,
    gate: {},
  };
}

/**
 * A time in milliseconds.
 *
 * @throws ApplicationFailure `countersign.gate`, not retryable, if the given value is not a time.
 */
export function toMs(time: Duration, option: string): number {
  const ms = parseTime(time);
  if (Number.isFinite(ms) && ms >= 1) return Math.round(ms);
  const forms = option === 'expiresIn' ? "milliseconds, '2 hours' or 'never'" : "milliseconds or '2 hours'";
  throw gateFailure(`${option} ${JSON.stringify(time)} is not a time; write ${forms}`);
}

/** Like `parseDuration` of our tools, which workflows may not import. `contract` may not import Temporal's reader. */
function parseTime(time: Parameters<typeof msToNumber>[0]): number {
  try {
    return msToNumber(time);
  } catch {
    return Number.NaN;
  }
}

/** Whether changed arguments fit the schema of the request, so that they have the type of its arguments. */
export function fitsLike<A extends object>(request: PlainRequest<A>, args: object): args is A {
  return request.schema !== undefined && isJsonObject(args) && checkSchema(request.schema, args).length === 0;
}

/**
 * The failure for a mistake in the code of the workflow. It fails the workflow, while a plain Error would fail its
 * workflow tasks again and again.
 */
export function gateFailure(message: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(message, FAILURES.gate);
}
