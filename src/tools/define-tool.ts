import { defined } from '../contract/defined';
import { z } from 'zod';
import { digestJson } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import { PREVIEW, type Preview } from '../contract/plan';
import { sha256 } from '../system/sha256';
import { resolveParameters } from './parameters';
import type { CallContext, Classified, Parameters, Spelling, Tool, ToolOptions, Verification } from './types';
import { DAY, LIMITS, RETRY, TIMES } from '../contract/limits';
import { mostAttempts } from '../contract/lost-activity';
import { RESERVED_TOOL_NAMES, TOOL_NAME } from '../contract/names';
import { guard } from '../contract/schema/message';
import { EFFECTS, type RetryOptions, SAFETIES, STATES } from '../contract/tool';
import { duration, invalidDefinition, checkedOptions } from './option-values';
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

function unlessThrown(work: () => unknown): unknown {
  try {
    return work();
  } catch {
    // The preview or the handler will report the error in the arguments.
    return undefined;
  }
}

function milderOf<T>(mildestFirst: readonly T[], own: T, given: T | undefined): T {
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
    name,
    description,
    safety,
    taskQueue,
    local,
    state,
    noBatch,
    noGrant,
    outputLimit,
    jsonTexts,
    effect: given.effect ?? (safety === 'safe' ? 'pure' : 'unsafe'),
    categories: Object.freeze(given.categories),
    timeoutMs: given.timeout ?? (local ? TIMES.localTimeout : TIMES.toolTimeout),
    heartbeatMs: given.heartbeat ?? TIMES.heartbeatTimeout,
    stateGroup: given.stateGroup ?? name,
    requestExpiresMs: given.requestExpires === undefined ? TIMES.requestExpires : given.requestExpires,
    startWithinMs: given.startWithin ?? TIMES.startWithin,
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

const callable = z.custom<unknown>((value) => typeof value === 'function', 'must be a function');

/** The schema of the options of `defineTool`. */
export const toolOptions = z.strictObject({
  name: z
    .string()
    .regex(TOOL_NAME, 'must be snake_case: a letter, then at most 63 letters, digits and _, all lower case')
    .refine((name) => !RESERVED_TOOL_NAMES.includes(name), 'is reserved; choose another name'),
  description: z
    .string()
    .refine((text) => text.trim() !== '', 'must say what the tool does and when to use it'),
  parameters: z.custom<unknown>(
    (value) => typeof value === 'object' && value !== null,
    'must be a zod object, a JSON Schema or a list',
  ),
  required: z.array(z.string()).optional(),
  safety: z.enum(SAFETIES).default('safe'),
  categories: z.array(z.string().min(1)).default([]),
  effect: z.enum(EFFECTS).optional(),
  timeout: duration().optional(),
  heartbeat: duration(LEAST_HEARTBEAT_MS).optional(),
  retry: retrySchema.optional(),
  taskQueue: z.string().min(1).optional(),
  local: z.boolean().default(false),
  state: z.enum(STATES).default('call'),
  stateGroup: z.string().min(1).max(MOST_GROUP).optional(),
  shared: z.boolean().default(false),
  requestExpires: z.union([z.literal('never').transform(() => null), duration()]).optional(),
  startWithin: duration().optional(),
  noBatch: z.boolean().default(false),
  noGrant: z.boolean().default(false),
  jsonTexts: z.boolean().default(false),
  outputLimit: z.int().min(LEAST_OUTPUT_BYTES).max(LIMITS.outputBytesMost).default(LIMITS.outputBytes),
  preview: callable.optional(),
  classify: callable.optional(),
  verify: callable.optional(),
  handler: callable,
});
