import type { z } from 'zod';
import type { FilePlan, Preview } from '../contract/plan';
import type { Json, JsonObject } from '../contract/json';
import type { CallReply } from '../contract/call';
import type { Question } from '../contract/question';
import type { Effect, Issue, JsonSchema, RetryOptions, Safety, StateScope } from '../contract/tool';

/** Milliseconds, or text such as `'30s'`, `'2 minutes'`. */
export type Duration = number | string;

/** One parameter, if parameters are written as a plain list. */
export interface ParameterSpec {
  name: string;
  type: 'string' | 'boolean' | 'number' | 'object' | 'array';
  description?: string;
}

/** The forms of parameters: a zod object, a JSON Schema whose root is an object, or the plain list. */
export type Parameters = z.ZodObject | JsonSchema | readonly ParameterSpec[];

/** The type of a handler's arguments: the zod schema's output, or a JSON object. */
export type ArgumentsOf<P extends Parameters> = P extends z.ZodObject ? z.output<P> : JsonObject;

/** The decision that let a call run. The names in it are as people claimed them. */
export interface Approval {
  /** `modified`: a person changed the arguments. */
  decision: 'approved' | 'modified';
  approver: string;
  reason?: string;
}

/** Writes one line about a call. Secrets are redacted, control characters made visible, long lines cut. */
type WriteLine = (message: string, facts?: Readonly<Record<string, unknown>>) => void;

/** The second argument of a handler, a preview or a verify. */
export interface CallContext {
  callId: string;
  tool: string;
  /** The agent's name. Empty if an executor has no agent. */
  agent: string;
  /** The turn's id. Absent without Temporal. */
  turn?: string;
  /** Who asked for the turn, as its starter claims, so it proves no right. Absent if the starter gave no name. */
  requester?: string;
  /** The metadata of the turn's start, such as a user and a tenant, also as claimed. Empty if none was given. */
  metadata: Readonly<Record<string, string>>;
  /** Who let the call run and why. Absent if nobody was asked. */
  approval?: Approval;
  /** The same for every attempt of one call. Pass it to the called service, so that it can refuse a second effect. */
  idempotencyKey: string;
  /** Counts from 1. An operator's reset of the activity sets it back to 1. */
  attempt: number;
  /** Whether an earlier attempt of this call may have run. An operator's reset of the activity does not hide that. */
  ranBefore: boolean;
  /** Aborts at the tool's timeout, on cancellation, and when Temporal has given up the attempt. */
  signal: AbortSignal;
  /** Text that is kept as partial output if the call ends early. */
  partial(text: string): void;
  /**
   * Reports the progress: a fraction of 1, a text, or both. People see the newest progress while the call runs, and
   * when its outcome is in doubt. Sent every two seconds at most.
   */
  progress(part: number | string, text?: string): void;
  /**
   * Keeps JSON of at most 64 KiB for the next attempt of a call that may run again. A checkpoint of the last two
   * seconds may be lost with its worker. Secrets in it are redacted.
   *
   * @throws TypeError for anything else.
   */
  checkpoint(value: Json): void;
  /** The last checkpoint of an earlier attempt of this call. Absent if no earlier attempt stored a checkpoint. */
  resumeFrom?: Json;
  /**
   * Present only if the tool shares state between its calls. The handler should keep its state in memory under this
   * key. All calls that share the state have the same key, and other calls never have it.
   */
  state?: {
    key: string;
    /** True if earlier calls had made state on a worker that is gone. There is no state under this key. */
    readonly lost: boolean;
    /** Reports that the state of earlier calls is lost, such as with a process that ended. The result then says so. */
    declareLost(): void;
  };
  /**
   * Asks a person, and waits for the answer. The tool's timeout is paused meanwhile. Only for a handler in a turn whose
   * tool may ask: a tool of an MCP server with `elicitation`. An answer is never a permission. When `withdraw` aborts,
   * the question leaves the inbox, unless a person has already answered; `ask` throws once this is recorded.
   *
   * @throws Error if the question cannot be asked, with the reason.
   */
  ask?(question: Question, withdraw?: AbortSignal): Promise<CallReply>;
  /** Writes to the worker's log. */
  log: Readonly<Record<'debug' | 'info' | 'warn' | 'error', WriteLine>>;
  /** Secrets by name, from the config's provider. */
  secrets: {
    /**
     * Returns a secret. A value of 8 characters or more is redacted from everything that leaves the worker from now on.
     *
     * @throws ToolError if the provider has no such secret, fails, or takes over 10 seconds.
     */
    get(name: string): Promise<string>;
    /** Redacts from a text all values that this worker has handed out. */
    hide(text: string): string;
  };
  /** The approved plan of a file tool. `hunks` has the ids of its approved hunks. Absent: all. */
  plan?: FilePlan;
  hunks?: readonly string[];
}

/** The answer of `verify`: whether a call had its effect. */
export type Verification =
  { outcome: 'happened'; content: string } | { outcome: 'did_not' } | { outcome: 'cannot_tell' };

/**
 * The safety and effect of one call, if they are milder than the tool's. An absent field means the tool's own value.
 */
export interface Classified {
  safety?: Safety;
  effect?: Effect;
}

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
  readonly jsonTexts: boolean;
  /** What nobody here checks of the arguments, in words. Only a tool of an MCP server has such parts. */
  readonly unchecked?: readonly string[];
  /** `local`, or the name of an MCP server. */
  readonly server: string;
  /** Set by `agentTool`: a call is a turn of this agent. Absent: the handler does the work. */
  readonly child?: SubAgent;
  /** See toolDigest in the contract. */
  readonly digest: string;
  /** The digest without the place, for a tool that was given one by `inPlace`. */
  readonly declaredDigest?: string;
  /**
   * Reads arguments as they are meant, and checks them by the JSON Schema, then by zod: valid arguments in the form that
   * the handler gets, or the problems of invalid ones. Never throws.
   */
  parse(args: JsonObject): { ok: true; value: unknown } | { ok: false; issues: Issue[] };
  /** Whether `parse` returns JSON, for certain. Rules cannot judge anything else. */
  readonly parsesToJson: () => boolean;
  /** Absent: the tool takes its arguments as they are written. */
  readonly spelling?: Spelling;
  /** The tool for one call, from the value that `parse` returned; see asCalled. Absent if all calls are alike. */
  readonly forCall: ((value: unknown) => Tool) | undefined;
  /** `value` is the value that `parse` returned. Absent if the tool has no preview. */
  readonly preview: ((value: unknown, context: CallContext) => Promise<Preview>) | undefined;
  readonly verify: ((value: unknown, context: CallContext) => Promise<Verification>) | undefined;
  handle(value: unknown, context: CallContext): Promise<unknown>;
  /** Calls may ask people while they run, and wait for this many milliseconds in total, in addition to the timeout. */
  readonly askMs?: number;
  /**
   * The question of a call to a person, from the value that `parse` returned. The answer is the result of the call, and
   * no handler runs. Only `askUser` sets this.
   */
  readonly asks?: (value: unknown) => Question;
}

/** How a tool of ours spells paths and URLs, so that the rules see what its handler gets. */
export interface Spelling {
  /** The arguments in the tool's own spelling. What the handler refuses stays as it is. Never throws. */
  spell(args: JsonObject): JsonObject;
  /** Whether the file system takes names in upper and lower case for the same. Never rejects. */
  foldsCase?(): Promise<boolean>;
}

/** The agent that works on the calls of a tool. */
export interface SubAgent {
  readonly agent: string;
  /** Queue of the workers that have the agent. Undefined: the queue of the calling turn. */
  readonly taskQueue: string | undefined;
  /** The most child turns that may be nested. */
  readonly depth: number;
  /** The most child turns that one turn may start. */
  readonly most: number;
}

/** The answer of a policy about one valid call. It can only be stricter than the tool's safety. */
export type PolicyAnswer = 'run' | 'ask' | 'refuse' | { decision: 'run' | 'ask' | 'refuse'; reason?: string };

/** A policy. A throw, or no answer, is `refuse`. Runs when a call is prepared and again right before its handler. */
export type Policy = (call: PolicyCall) => PolicyAnswer | Promise<PolicyAnswer>;

/** The argument of a policy. */
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
