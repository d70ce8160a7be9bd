import type { z } from 'zod';
import type { FilePlan, Preview } from '../contract/plan';
import type { Json, JsonObject } from '../contract/json';
import type { CallReply } from '../contract/call';
import type { Question } from '../contract/question';
import type { Effect, Issue, JsonSchema, RetryOptions, Safety, StateScope } from '../contract/tool';

/** Milliseconds, or text such as `'30s'`, `'2 minutes'`. */
export type Duration = number | string;

/** One parameter, where parameters are written as a plain list. */
export interface ParameterSpec {
  name: string;
  type: 'string' | 'boolean' | 'number' | 'object' | 'array';
  description?: string;
}

/** How parameters can be given: a zod object, a JSON Schema whose root is an object, or the plain list. */
export type Parameters = z.ZodObject | JsonSchema | readonly ParameterSpec[];

/** What a handler gets as arguments: the zod schema's output, or a JSON object. */
export type ArgumentsOf<P extends Parameters> = P extends z.ZodObject ? z.output<P> : JsonObject;

/** The decision that let a call run, names as claimed. */
export interface Approval {
  /** `modified`: a person changed the arguments. */
  decision: 'approved' | 'modified';
  approver: string;
  reason?: string;
}

/** Writes one line about a call. Secrets are redacted, control characters made visible, long lines cut. */
export type WriteLine = (message: string, facts?: Readonly<Record<string, unknown>>) => void;

/** What a handler, a preview or a verify is given beside the arguments. */
export interface CallContext {
  callId: string;
  tool: string;
  /** The agent's name; empty where an executor has none. */
  agent: string;
  /** The turn's id. Absent without Temporal. */
  turn?: string;
  /** Who asked for the turn. As claimed by whoever started it, so it proves no right. Absent: nobody said. */
  requester?: string;
  /** What the turn was started with, such as a user and a tenant; as claimed, too. Empty where nothing was given. */
  metadata: Readonly<Record<string, string>>;
  /** Who let the call run and why. Absent where nobody was asked. */
  approval?: Approval;
  /** Same for every attempt of one call: hand it to the service that is called, so that it can refuse a second effect. */
  idempotencyKey: string;
  /** Counts from 1. */
  attempt: number;
  /** Aborts at the tool's timeout, on cancellation and when Temporal has given the attempt up. */
  signal: AbortSignal;
  /** Text that is kept as partial output if the call ends early. */
  partial(text: string): void;
  /**
   * How far the work is: a part of 1, a text, or both. People see the newest while the call runs, and if its outcome is
   * in doubt. Sent every two seconds at most.
   */
  progress(part: number | string, text?: string): void;
  /**
   * Keeps JSON of at most 64 KiB for the next attempt of a call that may run again. What was kept in the last two seconds
   * may be lost with its worker. Secrets in it are redacted.
   *
   * @throws TypeError for anything else.
   */
  checkpoint(value: Json): void;
  /** What an earlier attempt of this call kept last. Absent: none did. */
  resumeFrom?: Json;
  /**
   * Only of a handler whose tool shares state between its calls: what it keeps in memory belongs under this key. It is the
   * same for all calls that share the state, and never for others.
   */
  state?: {
    key: string;
    /** Earlier calls had made state on a worker that is gone. There is nothing under this key. */
    readonly lost: boolean;
    /** Says that what earlier calls had made is gone, such as with a process that ended. The result then says so, too. */
    declareLost(): void;
  };
  /**
   * Asks a person, and waits for the answer. Meanwhile the tool's timeout stands still. Only of a handler in a turn whose
   * tool may ask: of an MCP server with `elicitation`. An answer is never a permission. When `withdraw` aborts, the question
   * leaves the inbox, unless a person was first; `ask` throws once that is on record.
   *
   * @throws Error where the question cannot be asked, with the reason.
   */
  ask?(question: Question, withdraw?: AbortSignal): Promise<CallReply>;
  /** Writes to the worker's log. */
  log: Readonly<Record<'debug' | 'info' | 'warn' | 'error', WriteLine>>;
  /** Secrets by name, from the provider that the config names. */
  secrets: {
    /**
     * The value is redacted, if it has 8 characters or more, from everything that leaves the worker from now on.
     *
     * @throws ToolError where the provider has no such secret, fails, or takes over 10 seconds.
     */
    get(name: string): Promise<string>;
    /** A text without the values that this worker has handed out, as they are redacted everywhere. */
    hide(text: string): string;
  };
  /** The approved plan of a file tool, and which of its hunks (absent: all). */
  plan?: FilePlan;
  hunks?: readonly string[];
}

/** Answer of `verify`: whether the effect of a call took place. */
export type Verification =
  { outcome: 'happened'; content: string } | { outcome: 'did_not' } | { outcome: 'cannot_tell' };

/** What one call is, where it is milder than its tool. Absent: as the tool. */
export interface Classified {
  safety?: Safety;
  effect?: Effect;
}

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
  /**
   * How long what the tool keeps in memory lives. `call`: until the call ends; `turn`: later calls of the turn go to the
   * worker that has it; `worker`: all turns of a worker share it, which needs `shared: true`. See `context.state`.
   * @default 'call'
   */
  state?: StateScope;
  /** Tools of one group have their state in common, where `state` and `taskQueue` are the same, too. @default the tool's name */
  stateGroup?: string;
  /** Says that turns may see each other's state: those of other people, too. Only with `state: 'worker'`. @default false */
  shared?: boolean;
  /** Runs inside the workflow task; only for pure tools with a timeout of at most 5 s. @default false */
  local?: boolean;
  /** A request without a decision expires into a denial. @default 7 days */
  requestExpires?: Duration | 'never';
  /** An approved call has to start within this. @default 1 hour */
  startWithin?: Duration;
  /** Its requests are decided one by one only, never with others by one answer. @default false */
  noBatch?: boolean;
  /** Each of its calls is decided by itself: no grant allows any ahead. @default false */
  noGrant?: boolean;
  /** Bytes of output kept. @default 64 KiB */
  outputLimit?: number;
  /** What the approver is shown beside the arguments. May throw: the call is then an error result for the model. */
  preview?(args: ArgumentsOf<P>, context: CallContext): Preview | string | Promise<Preview | string>;
  /**
   * What one call is, where that depends on its arguments, such as a request that only reads. `safety` and `effect` of
   * the tool are the most a call can be: an answer counts only where it is milder. Must be quick and always answer the
   * same. No answer, or a throw: the call is what the tool is.
   */
  classify?(args: ArgumentsOf<P>): Classified | undefined;
  /**
   * Asked about a call in doubt. Must not change anything. A throw means 'cannot_tell'.
   * `did_not` has to prove that it did not take effect and never will: a request that is still under way, or a handler on
   * another machine that goes on, may take effect after the answer. Where that cannot be ruled out, say 'cannot_tell'.
   * The worker does not accept `did_not` where it saw that the handler still ran.
   */
  verify?(args: ArgumentsOf<P>, context: CallContext): Verification | Promise<Verification>;
  /** Does the work. Returns any value: a text as it is, anything else as indented JSON; a throw is an error result. */
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
  readonly state: StateScope;
  readonly stateGroup: string;
  readonly requestExpiresMs: number | null;
  readonly startWithinMs: number;
  readonly noBatch: boolean;
  readonly noGrant: boolean;
  readonly outputLimit: number;
  /** `local`, or the name of an MCP server. */
  readonly server: string;
  /** Set by `agentTool`: a call is a turn of this agent. Absent: the handler does the work. */
  readonly child?: SubAgent;
  /** See toolDigest in the contract. */
  readonly digest: string;
  /** JSON Schema first, zod refinements after; never throws. */
  parse(args: JsonObject): ParsedArguments;
  /** The tool as it is for one call, by what `parse` returned; see asCalled. Absent where all calls are alike. */
  readonly forCall: ((value: unknown) => Tool) | undefined;
  /** The value is what `parse` returned. Absent where the tool has none. */
  readonly preview: ((value: unknown, context: CallContext) => Promise<Preview>) | undefined;
  readonly verify: ((value: unknown, context: CallContext) => Promise<Verification>) | undefined;
  handle(value: unknown, context: CallContext): Promise<unknown>;
  /** Its calls may ask people while they run, and wait for so many milliseconds in all beside the timeout. */
  readonly askMs?: number;
  /** What a call asks a person, by what `parse` returned: its answer is the result, and no handler runs. Only of `askUser`. */
  readonly asks?: (value: unknown) => Question;
}

/** The agent that works on the calls of a tool. */
export interface SubAgent {
  readonly agent: string;
  /** Queue of the workers that have the agent. Undefined: that of the turn that calls. */
  readonly taskQueue: string | undefined;
  /** Child turns below one another. */
  readonly depth: number;
  /** Child turns that one turn starts. */
  readonly most: number;
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
