import { defined } from '../contract/defined';
import { z } from 'zod';
import { digestJson } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import { PREVIEW, type Preview } from '../contract/plan';
import { sha256 } from '../system/sha256';
import { resolveParameters } from './parameters';
import type {
  ArgumentsOf,
  CallContext,
  Classified,
  Duration,
  Parameters,
  Spelling,
  Tool,
  Verification,
} from './types';
import { DAY, LIMITS, RETRY, TIMES } from '../contract/limits';
import { mostAttempts } from '../contract/lost-activity';
import { RESERVED_TOOL_NAMES, TOOL_NAME } from '../contract/names';
import { guard } from '../contract/schema/message';
import { EFFECTS, type RetryOptions, SAFETIES, STATES } from '../contract/tool';
import { duration, invalidDefinition, checkedOptions, callable } from './option-values';
import { LONGEST_TIMER_MS } from './wait-within';

/** The functions of a tool, with arguments of an unknown type. */
interface Functions {
  preview?(args: unknown, context: CallContext): Preview | string | Promise<Preview | string>;
  classify?(args: unknown): Classified | undefined;
  verify?(args: unknown, context: CallContext): Verification | Promise<Verification>;
  handler(args: unknown, context: CallContext): unknown;
}

/**
 * Makes a tool: checks the definition, fills in every default and digests it.
 *
 * @throws CountersignError `config_invalid`, naming the tool and the rule, for a wrong definition.
 * @example
 * const refund = defineTool({
 *   name: 'refund_order',
 *   description: 'Pays an order back. Use it when the customer returned the goods.',
 *   parameters: z.object({ order: z.string(), cents: z.int().positive() }),
 *   safety: 'dangerous',
 *   handler: ({ order, cents }, { idempotencyKey }) => payments.refund(order, cents, idempotencyKey),
 * });
 */
export function defineTool<P extends Parameters>(options: ToolOptions<P>): Tool {
  try {
    return makeTool(options, options);
  } catch (error) {
    throw invalidDefinition('tool', options, error);
  }
}

function makeTool(options: ToolOptions, functions: Functions): Tool {
  const settings = resolveSettings(options);
  const { schema, parse, parsesToJson } = resolveParameters(
    options.parameters,
    options.required,
    settings.jsonTexts,
  );
  const { name, description, safety, effect } = settings;
  const { preview, verify, classify } = functions;
  const tool: Tool = {
    ...settings,
    schema,
    server: 'local',
    digest: digestJson({ name, description, schema, safety, effect }, sha256),
    parse,
    parsesToJson,
    preview: preview && (async (value, context) => toPreview(await preview.call(functions, value, context))),
    verify:
      verify && (async (value, context) => toVerification(await verify.call(functions, value, context))),
    handle: async (value, context) => functions.handler(value, context),
    forCall: undefined,
  };
  if (classify === undefined) return Object.freeze(tool);
  // A tool that was made milder for one call keeps `forCall`: a person may change the arguments, and the tool is then
  // classified anew.
  const whole: Tool = Object.freeze<Tool>({
    ...tool,
    forCall: (value) => asClassified(whole, () => classify.call(functions, value)),
  });
  return whole;
}

/**
 * Adds to the digest of a tool what decides where its calls run and with what rights. A call that was approved for one
 * folder or sandbox then does not run on a worker that has another one. `spelling`: the handler, the rules and people
 * get the arguments in this spelling.
 */
export function inPlace(tool: Tool, place: JsonObject, spelling?: Spelling): Tool {
  const { forCall, parse } = tool;
  return Object.freeze<Tool>({
    ...tool,
    digest: digestJson({ tool: tool.digest, place }, sha256),
    declaredDigest: tool.declaredDigest ?? tool.digest,
    forCall: forCall && ((value) => inPlace(forCall(value), place, spelling)),
    ...(spelling && { spelling, parse: (args) => parse(spelling.spell(args)) }),
  });
}

const classified = z.strictObject({
  safety: z.enum(SAFETIES).optional(),
  effect: z.enum(EFFECTS).optional(),
});

/** Applies the answer of `classify` if it is milder than the tool; returns the tool itself for an invalid answer. */
function asClassified(tool: Tool, classify: () => unknown): Tool {
  const answer = classified.safeParse(unlessThrown(classify));
  if (!answer.success) return tool;
  const safety = milderOf(SAFETIES, tool.safety, answer.data.safety);
  const effect = milderOf(EFFECTS, tool.effect, answer.data.effect);
  // The one attempt of an unsafe tool is not a choice of its author.
  const isMild = tool.effect === 'unsafe' && effect !== 'unsafe';
  const retry = isMild ? Object.freeze(resolveRetry(effect)) : tool.retry;
  return Object.freeze<Tool>({ ...tool, safety, effect, retry });
}

function unlessThrown(work: () => unknown) {
  try {
    return work();
  } catch {
    // The preview or the handler will report the error in the arguments.
    return undefined;
  }
}

function milderOf<T>(mildestFirst: readonly T[], own: T, given: T | undefined) {
  return given !== undefined && mildestFirst.indexOf(given) < mildestFirst.indexOf(own) ? given : own;
}

const isPreview = guard(PREVIEW);

const verification = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('happened'), content: z.string() }),
  z.object({ outcome: z.literal('did_not') }),
  z.object({ outcome: z.literal('cannot_tell') }),
]);

/**
 * The answer of a tool's `preview`, in its full form.
 *
 * @throws TypeError if the answer is neither text nor a preview.
 */
function toPreview(answer: unknown): Preview {
  if (typeof answer === 'string') return { text: answer };
  if (!isPreview(answer)) throw new TypeError('preview must return a string or { text, plan? }');
  const { text, plan } = answer;
  return { text, plan };
}

/**
 * The answer of a tool's `verify`.
 *
 * @throws TypeError if the answer is not one of the three outcomes; callers treat an error as `cannot_tell`.
 */
function toVerification(answer: unknown): Verification {
  const parsed = verification.safeParse(answer);
  if (!parsed.success)
    throw new TypeError("verify must return { outcome: 'happened' | 'did_not' | 'cannot_tell' }");
  return parsed.data;
}

/** The most characters of a group's name, which is part of the settings of every call. */
const MOST_GROUP = 100;

/** The least output limit: less could not hold the mark of a cut. */
const LEAST_OUTPUT_BYTES = 128;

/** The shortest heartbeat timeout. A shorter one costs requests, and shows a dead worker no sooner. */
const LEAST_HEARTBEAT_MS = 1000;

/** The longest timeout in whole days. */
const MOST_TIMEOUT_DAYS = Math.floor(LONGEST_TIMER_MS / DAY);

/**
 * Checks the options and fills in the defaults.
 *
 * @throws Error with the broken rule as its message.
 */
function resolveSettings(options: ToolOptions) {
  const given = checkedOptions(toolOptions, options);
  const { name, description, safety, taskQueue, local, state, noBatch, noGrant, outputLimit, jsonTexts } =
    given;
  const settings = {
    ...{ name, description, safety, taskQueue, local, state, noBatch, noGrant, outputLimit, jsonTexts },
    effect: given.effect ?? (safety === 'safe' ? 'pure' : 'unsafe'),
    categories: given.categories,
    timeoutMs: given.timeout ?? (local ? TIMES.localTimeout : TIMES.toolTimeout),
    heartbeatMs: given.heartbeat,
    stateGroup: given.stateGroup ?? name,
    requestExpiresMs: given.requestExpires,
    startWithinMs: given.startWithin,
  };
  const asked = { ...settings, shared: given.shared, hasGroup: given.stateGroup !== undefined };
  const broken = RULES.find(({ breaks }) => breaks(asked));
  if (broken !== undefined) throw new Error(broken.rule);
  if (given.retry !== undefined && settings.effect === 'unsafe')
    throw new Error('`retry`: an unsafe tool is never retried');
  return { ...settings, retry: Object.freeze(resolveRetry(settings.effect, given.retry)) };
}

type Asked = Pick<Tool, 'local' | 'effect' | 'safety' | 'timeoutMs' | 'taskQueue' | 'state'> & {
  shared: boolean;
  hasGroup: boolean;
};

const RULES: readonly { rule: string; breaks(asked: Asked): boolean }[] = [
  { rule: '`local` is for pure tools', breaks: ({ local, effect }) => local && effect !== 'pure' },
  {
    rule: '`local` is not for dangerous tools',
    breaks: ({ local, safety }) => local && safety === 'dangerous',
  },
  {
    rule: `\`local\` tools need a timeout of at most ${TIMES.localTimeout} ms`,
    breaks: ({ local, timeoutMs }) => local && timeoutMs > TIMES.localTimeout,
  },
  {
    rule: '`local` and `taskQueue` exclude each other: a local call runs where its turn runs',
    breaks: ({ local, taskQueue }) => local && taskQueue !== undefined,
  },
  {
    rule: '`local` and `state` exclude each other: a local call runs on any worker of its turn',
    breaks: ({ local, state }) => local && state !== 'call',
  },
  {
    rule: "`state: 'worker'` is seen by every turn: say `shared: true` if it may be",
    breaks: ({ state, shared }) => state === 'worker' && !shared,
  },
  {
    rule: "`shared` goes with `state: 'worker'` only",
    breaks: ({ state, shared }) => state !== 'worker' && shared,
  },
  {
    rule: '`stateGroup` needs a `state`',
    breaks: ({ state, hasGroup }) => state === 'call' && hasGroup,
  },
  {
    rule: `\`timeout\` is at most ${MOST_TIMEOUT_DAYS} days`,
    breaks: ({ timeoutMs }) => timeoutMs > MOST_TIMEOUT_DAYS * DAY,
  },
];

function resolveRetry(effect: Tool['effect'], given: z.output<typeof retrySchema> = {}): RetryOptions {
  const { initialInterval: initialIntervalMs, maximumInterval: maximumIntervalMs, ...rest } = given;
  const retry = { ...RETRY, ...defined({ ...rest, initialIntervalMs, maximumIntervalMs }) };
  return { ...retry, maximumAttempts: mostAttempts({ effect, retry }) };
}

const retrySchema = z.strictObject({
  maximumAttempts: z.int().min(1).max(1000).optional(),
  initialInterval: duration().optional(),
  backoffCoefficient: z.number().min(1).max(100).optional(),
  maximumInterval: duration().optional(),
});

/** The schema of the options of `defineTool`. For times see Duration. */
export const toolOptions = z.strictObject({
  /** snake_case; also the activity's type. */
  name: z
    .string()
    .regex(TOOL_NAME, 'must be snake_case: a letter, then at most 63 letters, digits and _, all lower case')
    .refine((name) => !RESERVED_TOOL_NAMES.includes(name), 'is reserved; choose another name'),
  /** For the model: what the tool does and when to use it. */
  description: z
    .string()
    .refine((text) => text.trim() !== '', 'must say what the tool does and when to use it'),
  parameters: z.custom<unknown>(
    (value) => typeof value === 'object' && value !== null,
    'must be a zod object, a JSON Schema or a list',
  ),
  /** Names of required parameters; only with the plain list. */
  required: z.array(z.string()).readonly().optional(),
  /** @default 'safe' */
  safety: z.enum(SAFETIES).default('safe'),
  categories: z.array(z.string().min(1)).readonly().prefault([]),
  /** @default 'pure' for safe tools, otherwise 'unsafe' */
  effect: z.enum(EFFECTS).optional(),
  /** A handler that takes longer is aborted. @default 30 s */
  timeout: duration().optional(),
  /** A worker that sends no heartbeat for this time counts as dead. @default 10 s */
  heartbeat: duration(LEAST_HEARTBEAT_MS).default(TIMES.heartbeatTimeout),
  retry: retrySchema.optional(),
  /** The queue of a worker that has the resources of this tool. */
  taskQueue: z.string().min(1).optional(),
  /**
   * How long the tool's state in memory lives. `call`: until the call ends; `turn`: later calls of the turn go to the
   * worker that has the state; `worker`: all turns of a worker share the state, which needs `shared: true`. See
   * `context.state`.
   * @default 'call'
   */
  state: z.enum(STATES).default('call'),
  /** Tools of one group share their state, if `state` and `taskQueue` are also the same. @default the tool's name */
  stateGroup: z.string().min(1).max(MOST_GROUP).optional(),
  /** Allows turns, also of different people, to see each other's state. Only with `state: 'worker'`. @default false */
  shared: z.boolean().default(false),
  /**
   * True: the call runs as a local activity, inside the workflow task. Only for pure tools that are not dangerous, with
   * a timeout of at most 5 s.
   * @default false
   */
  local: z.boolean().default(false),
  /** A request without a decision becomes a denial after this time. @default 7 days */
  requestExpires: z
    .union([z.literal('never').transform(() => null), duration()])
    .default(TIMES.requestExpires),
  /** An approved call has to start within this time. @default 1 hour */
  startWithin: duration().default(TIMES.startWithin),
  /** True: requests of this tool are decided one by one, never together with others. @default false */
  noBatch: z.boolean().default(false),
  /** True: each call of this tool needs its own decision, and no grant allows calls in advance. @default false */
  noGrant: z.boolean().default(false),
  /** Bytes of output kept. @default 64 KiB */
  outputLimit: z.int().min(LEAST_OUTPUT_BYTES).max(LIMITS.outputBytesMost).default(LIMITS.outputBytes),
  /**
   * True: where the schema wants a list or an object and no text, a text counts as the value that it is in JSON. The
   * request shows that value, and says so. @default false
   */
  jsonTexts: z.boolean().default(false),
  preview: callable().optional(),
  classify: callable().optional(),
  verify: callable().optional(),
  handler: callable(),
});

type Typed = 'parameters' | 'retry' | 'preview' | 'classify' | 'verify' | 'handler';

/** The options of `defineTool`. */
export interface ToolOptions<P extends Parameters = Parameters> extends Omit<
  z.input<typeof toolOptions>,
  Typed
> {
  parameters: P;
  /**
   * How a call is retried after lost attempts and transport errors. Unsafe tools ignore it.
   * @default 5 attempts, 1 s, ×2
   */
  retry?: {
    maximumAttempts?: number;
    initialInterval?: Duration;
    backoffCoefficient?: number;
    maximumInterval?: Duration;
  };
  /** Makes the text that the approver sees beside the arguments. If it throws, the model gets an error result. */
  preview?(args: ArgumentsOf<P>, context: CallContext): Preview | string | Promise<Preview | string>;
  /**
   * Gives the safety and effect of one call, if they depend on its arguments, such as for a request that only reads.
   * An answer counts only if it is milder than the tool's own `safety` and `effect`. Must be quick, and must always
   * give the same answer for the same arguments. Without an answer, or after a throw, the tool's own values apply.
   */
  classify?(args: ArgumentsOf<P>): Classified | undefined;
  /**
   * Finds out whether a call in doubt took effect. Must not change anything. A throw means 'cannot_tell'.
   * Answer `did_not` only if it is proven that the call took no effect and never will. A request that is still under
   * way, or a handler that still runs on another machine, may take effect after the answer: then answer 'cannot_tell'.
   * The worker does not accept `did_not` if it saw that the handler still ran.
   */
  verify?(args: ArgumentsOf<P>, context: CallContext): Verification | Promise<Verification>;
  /** Does the work. A returned text stays unchanged; other values become indented JSON. A throw is an error result. */
  handler(args: ArgumentsOf<P>, context: CallContext): unknown;
}
