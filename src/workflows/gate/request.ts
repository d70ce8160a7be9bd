import type { Duration } from '@temporalio/common';
import { errorMessage } from '../../contract/errors';
import type { CarriedGate, GateInput, GivenTool } from '../../contract/gate';
import { isJsonObject, type JsonObject } from '../../contract/json';
import { RESERVED_TOOL_NAMES, TOOL_NAME } from '../../contract/names';
import { checkSchema } from '../../contract/schema/schema';
import { isFromLibrary, schemaOfLibrary, type StandardJsonSchema } from '../../contract/schema/standard';
import type { Effect, JsonSchema } from '../../contract/tool';
import { type CallToAsk, gateFailure, toMs } from './call-to-ask';

/** How to open a gate. */
export interface GateOptions {
  /** The subject of this workflow, in a few words. The inbox shows it beside each request. @default nothing */
  about?: string;
  /** The state from `gate.carry()` of the previous run, if the workflow continues as new. */
  carried?: CarriedGate;
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
  /** `refused`: a rule forbids the call, and nobody was asked. */
  decision: 'denied' | 'expired' | 'refused';
  callId: string;
  callKey: string;
  /** The approver's name, as claimed. Absent if nobody decided. */
  approver?: string;
  /** Who denied the call and why, or that nobody decided in time. */
  message: string;
}

/** A request with what its worker needs. */
export interface Plain<A extends object> {
  asked: CallToAsk;
  args: JsonObject;
  /** Whether changed arguments have the type of those that were asked about. */
  fits(args: object): args is A;
}

/**
 * Reads a request. `run`: how the gate runs the call; without it the workflow runs the call itself.
 *
 * @throws ApplicationFailure `countersign.gate`, not retryable, if the request is wrong.
 */
export function readRequest<A extends object>(
  request: GateRequest<A>,
  run: GateInput['settings'] = { gate: {} },
): Plain<A> {
  const { tool, reason, effect, noBatch, expiresIn, preview } = request;
  checkName(tool);
  const schema = schemaOf(request);
  const fits = (args: object): args is A =>
    schema !== undefined && isJsonObject(args) && checkSchema(schema, args).length === 0;
  const args: unknown = isJsonObject(request.arguments)
    ? JSON.parse(JSON.stringify(request.arguments))
    : undefined;
  if (!isJsonObject(args)) throw gateFailure(`the arguments of ${tool} are not plain JSON`);
  const requestExpiresMs =
    expiresIn === 'never' ? null : expiresIn === undefined ? undefined : toMs(expiresIn, 'expiresIn');
  const common = { schema, effect, noBatch, reason, requestExpiresMs };
  // A preview text describes the arguments that were asked about, and no others.
  const given = (edited: JsonObject | undefined): GivenTool => {
    if (typeof preview !== 'function')
      return { ...common, preview: edited === undefined ? preview : undefined };
    if (edited === undefined)
      return { ...common, preview: previewOf(tool, () => preview(request.arguments)) };
    return fits(edited) ? { ...common, preview: previewOf(tool, () => preview(edited)) } : common;
  };
  return { asked: { tool, settings: run, given }, args, fits };
}

function previewOf(tool: string, make: () => string) {
  try {
    return make();
  } catch (error) {
    throw gateFailure(`the preview of ${tool} failed: ${errorMessage(error)}`);
  }
}

function schemaOf<A extends object>({ tool, schema }: GateRequest<A>): JsonSchema | undefined {
  return schema !== undefined && isFromLibrary(schema) ? argumentSchemaOf(tool, schema) : schema;
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

function checkName(tool: string) {
  if (TOOL_NAME.test(tool) && !RESERVED_TOOL_NAMES.includes(tool)) return;
  throw gateFailure(`${JSON.stringify(tool)} is not a name of a tool: use snake_case, at most 64 characters`);
}
