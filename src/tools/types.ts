import type { z } from 'zod';
import type { FilePlan, Preview } from '../contract/plan';
import type { Json, JsonObject } from '../contract/json';
import type { Effect, Issue, JsonSchema, RetryOptions, Safety } from '../contract/tool';

/** Milliseconds, or text such as `'30s'`, `'2 minutes'`. */
export type Duration = number | string;

/** One parameter in the plain list of the seeds. */
export interface ParameterSpec {
  name: string;
  type: 'string' | 'boolean' | 'number' | 'object' | 'array';
  description?: string;
}

/** How parameters can be given: a zod object, a JSON Schema whose root is an object, or the plain list. */
export type Parameters = z.ZodObject | JsonSchema | readonly ParameterSpec[];

/** What a handler gets as arguments: the zod schema's output, or a JSON object. */
export type ArgumentsOf<P extends Parameters> = P extends z.ZodObject ? z.output<P> : JsonObject;

/** What a handler, a preview or a verify is given beside the arguments. */
export interface CallContext {
  callId: string;
  tool: string;
  /** Same for every attempt of one call: hand it to the service that is called, so that it can refuse a second effect. */
  idempotencyKey: string;
  /** Counts from 1. */
  attempt: number;
  /** Aborts at the tool's timeout, on cancellation and when Temporal has given the attempt up. */
  signal: AbortSignal;
  /** Text that is kept as partial output if the call ends early. */
  partial(text: string): void;
  /** The approved plan of a file tool, and which of its hunks (absent: all). */
  plan?: FilePlan;
  hunks?: readonly string[];
}

/** Answer of `verify`: whether the effect of a call took place. */
export type Verification =
  { outcome: 'happened'; content: string } | { outcome: 'did_not' } | { outcome: 'cannot_tell' };

/** What `defineTool` takes. Times: see Duration. */
export interface ToolOptions<P extends Parameters = Parameters> {
  /** snake_case; also the activity's type. */
  name: string;
  /** For the model: what it does and when to use it. */
  description: string;
  parameters: P;
  /** Names of required parameters; only with the plain list. */
  required?: readonly string[];
  /** @default 'safe' */
  safety?: Safety;
  categories?: readonly string[];
  /** @default 'pure' for safe tools, otherwise 'unsafe' */
  effect?: Effect;
  /** The handler is ended then. @default 30 s */
  timeout?: Duration;
  /** How soon a dead worker is noticed. @default 10 s */
  heartbeat?: Duration;
  /** Lost attempts and transport errors; has no effect on unsafe tools. @default 5 attempts, 1 s, ×2 */
  retry?: {
    maximumAttempts?: number;
    initialInterval?: Duration;
    backoffCoefficient?: number;
    maximumInterval?: Duration;
  };
  /** A queue of its own, for a worker that has what this tool needs. */
  taskQueue?: string;
  /** Runs inside the workflow task; only for pure tools with a timeout of at most 5 s. @default false */
  local?: boolean;
  /** A request without a decision expires into a denial. @default 7 days */
  requestExpires?: Duration | 'never';
  /** An approved call has to start within this. @default 1 hour */
  startWithin?: Duration;
  /** Its requests are decided one by one only, never with others by one answer. @default false */
  noBatch?: boolean;
  /** Bytes of output kept. @default 64 KiB */
  outputLimit?: number;
  /** What the approver is shown beside the arguments. May throw: the call is then an error result for the model. */
  preview?(args: ArgumentsOf<P>, context: CallContext): Preview | string | Promise<Preview | string>;
  /**
   * Asked about a call in doubt. Must not change anything. A throw means 'cannot_tell'.
   * `did_not` has to prove that it did not take effect and never will: a request that is still under way, or a handler on
   * another machine that goes on, may take effect after the answer. Where that cannot be ruled out, say 'cannot_tell'.
   * The worker does not accept `did_not` where it saw that the handler still ran.
   */
  verify?(args: ArgumentsOf<P>, context: CallContext): Verification | Promise<Verification>;
  /** Does the work. Returns any value (see formatResult); a throw is an error result. */
  handler(args: ArgumentsOf<P>, context: CallContext): unknown;
}

/** Arguments that fit, as the handler wants them; or what is wrong with them. */
export type ParsedArguments = { ok: true; value: unknown } | { ok: false; issues: Issue[] };

/** A tool, checked and with every default filled in. Made by `defineTool` only; immutable. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonSchema;
  readonly safety: Safety;
  readonly effect: Effect;
  readonly categories: readonly string[];
  readonly timeoutMs: number;
  readonly heartbeatMs: number;
  readonly retry: RetryOptions;
  readonly taskQueue: string | undefined;
  readonly local: boolean;
  readonly requestExpiresMs: number | null;
  readonly startWithinMs: number;
  readonly noBatch: boolean;
  readonly outputLimit: number;
  /** `local`, or the name of an MCP server. */
  readonly server: string;
  /** See toolDigest in the contract. */
  readonly digest: string;
  /** JSON Schema first, zod refinements after; never throws. */
  parse(args: JsonObject): ParsedArguments;
  /** The value is what `parse` returned. Absent where the tool has none. */
  readonly preview: ((value: unknown, context: CallContext) => Promise<Preview>) | undefined;
  readonly verify: ((value: unknown, context: CallContext) => Promise<Verification>) | undefined;
  handle(value: unknown, context: CallContext): Promise<unknown>;
}

/** What the policy says to one valid call; it can only tighten what safety says. */
export type PolicyAnswer = 'run' | 'ask' | 'refuse' | { decision: 'run' | 'ask' | 'refuse'; reason?: string };

/** A policy. A throw, or no answer, is `refuse`. Runs when a call is prepared and again right before its handler. */
export type Policy = (call: PolicyCall) => PolicyAnswer | Promise<PolicyAnswer>;

/** What a policy sees. */
export interface PolicyCall {
  agent: string;
  tool: string;
  safety: Safety;
  effect: Effect;
  categories: readonly string[];
  arguments: JsonObject;
}

/** One function of an OpenAI `tools` list. */
export interface FunctionSchema {
  type: 'function';
  function: { name: string; description: string; parameters: JsonSchema };
}

/** Details of an error result. */
export type Details = Json;
