import { GRANT_MARK, GRANT_USE, RULING } from './policy-rule';
import { type CallBase, type CallOutput, type PreparedCall, type VerifyOutput, CHILD_LOOKS } from './call';
import { CALL_ID } from './decision';
import { isObject, isSoundJson } from './json';
import { LIMITS, LONGEST_READ, TIMES } from './limits';
import { RESERVED_TOOL_NAMES, TOOL_NAME } from './names';
import { TOOL_ERROR_CODES, type ToolResult } from './result';
import { schemaFit } from './schema/schema';
import { CARRIED_STATES, HOLDER, EFFECTS, type JsonSchema, ORDERS, QUEUE, SAFETIES, STATES } from './tool';
import { fitsMoved, MODEL_NOTES, MOVED, type PrepareOutput, type ThinkOutput } from './think';
import { utf8Bytes } from './text/bytes';
import { isTranscriptEntry } from './transcript';
import { WORLDS } from './fork';
import { soundCheck } from './schema/message';
import { FILES_SCHEMA } from './session/files';
import { BUDGET, isRaise } from './spending/budget';
import { CARRIED_SPENDING } from './spending/carried';
import { USAGE } from './spending/usage';
import { CHILD_INPUT, noCounts, ORIGIN, TRACE, type TurnInput } from './turn';
import { ASKED_AGAIN, AUTHORITY } from './authority';

/**
 * Reads the output of activities strictly. An operator may complete any activity with any value (`temporal activity
 * complete`), and a value that later code cannot handle would stop the turn for good. Only fields that are used later
 * are checked.
 */
const TEXT: JsonSchema = { type: 'string' };
const OBJECT: JsonSchema = { type: 'object' };
const NAME: JsonSchema = { type: 'string', minLength: 1, maxLength: 1000 };
const MS: JsonSchema = { type: 'number', minimum: 1, maximum: LONGEST_READ };

export const object = (
  properties: Record<string, JsonSchema>,
  optional: Record<string, JsonSchema> = {},
): JsonSchema => ({
  type: 'object',
  properties: { ...properties, ...optional },
  required: Object.keys(properties),
});

const FAILURE = object({ code: { enum: [...TOOL_ERROR_CODES] }, message: TEXT }, { stack: TEXT });
const METADATA = object({
  execution_time_ms: { type: 'number' },
  safety_level: { enum: [...SAFETIES, null] },
  approved: { type: 'boolean' },
  attempt: { type: 'number' },
  timestamp: TEXT,
});
// A model may ask for any name. Only a call that runs needs the name of a tool.
const HEAD = { callId: CALL_ID, id: NAME, tool: { ...TEXT, maxLength: 1000 } };
const RESULT: JsonSchema = {
  ...object(
    {
      ...HEAD,
      server: TEXT,
      arguments: OBJECT,
      success: { type: 'boolean' },
      content: TEXT,
      contentType: TEXT,
      metadata: METADATA,
    },
    { error: FAILURE },
  ),
  if: { properties: { success: { const: false } } },
  then: { required: ['error'] },
};

const HUNK = object({ id: NAME, lines: { type: 'array', items: TEXT } });
const PLAN = object({ path: TEXT, targetHash: TEXT, hunks: { type: 'array', items: HUNK } });
const SETTINGS = object(
  {
    safety: { enum: [...SAFETIES] },
    effect: { enum: [...EFFECTS] },
    timeoutMs: MS,
    heartbeatMs: MS,
    retry: object(
      {
        maximumAttempts: { type: 'integer', minimum: 1, maximum: 1e6 },
        initialIntervalMs: MS,
        backoffCoefficient: { type: 'number', minimum: 1, maximum: 1e6 },
      },
      { maximumIntervalMs: MS },
    ),
    requestExpiresMs: { anyOf: [MS, { type: 'null' }] },
    startWithinMs: MS,
  },
  {
    taskQueue: QUEUE,
    local: { type: 'boolean' },
    noBatch: { type: 'boolean' },
    grants: { enum: ['none', 'equal'] },
    askMs: MS,
    server: TEXT,
    state: object({ scope: { enum: STATES.filter((scope) => scope !== 'call') }, group: NAME }),
    child: object({ agent: NAME, outputBytes: { type: 'integer', minimum: 1 } }, { taskQueue: QUEUE }),
  },
);
// The name is an activity type. A name with a dot is one of our activities, which a reply must not call.
const TOOL: JsonSchema = { ...TEXT, pattern: TOOL_NAME.source, not: { enum: [...RESERVED_TOOL_NAMES] } };
const VALID = object(
  { arguments: OBJECT, argsDigest: TEXT, toolDigest: TEXT, settings: SETTINGS },
  {
    proposed: OBJECT,
    preview: object({ text: TEXT }, { plan: PLAN }),
    policyReason: TEXT,
    notes: { type: 'array', items: TEXT },
    ruling: RULING,
    authority: AUTHORITY,
    grant: GRANT_MARK,
    question: object({ text: TEXT, form: OBJECT }),
  },
);
const INVALID = object({ proposed: OBJECT, result: RESULT }, { raw: TEXT, ruling: RULING });
const only = (kinds: string[], then: JsonSchema): JsonSchema => ({
  if: { properties: { kind: { enum: kinds } } },
  then,
});
const callOf = (tool: JsonSchema): JsonSchema => ({
  ...object({ ...HEAD, kind: { enum: ['run', 'ask', 'invalid', 'recorded', 'remote'] } }),
  allOf: [
    only(['run', 'ask'], { allOf: [VALID, object({ tool })] }),
    only(['invalid', 'recorded'], INVALID),
    only(['remote'], object({ taskQueue: QUEUE, raw: TEXT }, { askFirst: TEXT, toolDigest: TEXT })),
  ],
});

const isThinkOutput = guard<ThinkOutput>(
  object(
    {
      replyId: { ...NAME, maxLength: 200 },
      text: TEXT,
      calls: { type: 'array', items: OBJECT, maxItems: LIMITS.callsAnswered },
      schemas: { type: 'object', additionalProperties: OBJECT },
      model: TEXT,
      finishReason: TEXT,
      order: { enum: [...ORDERS] },
      maxSteps: { type: 'integer', minimum: 1 },
    },
    {
      context: TEXT,
      notes: { type: 'array', items: { enum: [...MODEL_NOTES] }, maxItems: MODEL_NOTES.length },
      droppedBefore: { type: 'integer', minimum: 0 },
      usage: { type: 'object', properties: USAGE },
      opaque: { ...TEXT, maxLength: LIMITS.opaqueBytes },
      budget: BUDGET,
      sessionBudget: BUDGET,
      repeats: { type: 'integer', minimum: 1 },
      compactOver: { type: 'integer', minimum: 1 },
      gate: object({ commitMs: { type: 'integer', minimum: 0, maximum: TIMES.commitEveryMost } }),
    },
  ),
);
/** Calls are checked one by one: a check may do only so much, and a long list of people stands in each call. */
const isCall = guard<PreparedCall>(callOf(TOOL));
const isPrepareOutput = guard<PrepareOutput>(object({ call: callOf(TOOL) }, { schema: OBJECT }));
const isRaiseOutput = guard<PrepareOutput>(object({ call: callOf(NAME) }, { schema: OBJECT }));
const USED = { grant: GRANT_USE, holder: { anyOf: [HOLDER, { type: 'null' }] } };
const isCallOutput = guard<CallOutput>({
  type: 'object',
  anyOf: [
    object({ result: RESULT }, { contentDigest: NAME, ...USED }),
    object({ inDoubt: object({ message: TEXT }, { partial: TEXT, running: { const: true } }) }, USED),
    object({ askAgain: TEXT }, ASKED_AGAIN),
    object({ notHere: TEXT }, { secret: TEXT }),
    object({ paused: TEXT }, { secret: TEXT, mayHaveRun: { const: true } }),
    object({ child: { enum: [...CHILD_LOOKS] } }, { trace: TRACE }),
  ],
});
const isVerifyOutput = guard<VerifyOutput>({
  type: 'object',
  anyOf: [
    object({ outcome: { const: 'happened' }, result: RESULT }),
    object({ outcome: { enum: ['did_not', 'cannot_tell'] }, message: TEXT }),
  ],
});
const isResult = guard<ToolResult>(RESULT);

/** Reads a model's reply. Undefined if it cannot be read. */
export function readThinkOutput(value: unknown): ThinkOutput | undefined {
  if (!isThinkOutput(value) || !value.calls.every((call) => isCall(call))) return undefined;
  return new Set(value.calls.map(({ callId }) => callId)).size === value.calls.length ? value : undefined;
}

/** Reads a prepared call. Undefined if it cannot be read, or is another call. */
export function readPrepareOutput(value: unknown, of: Omit<CallBase, 'id'>): PrepareOutput | undefined {
  // A request for more budget has to be one still, and no other call may become one.
  const read = isRaise(of.tool) ? isRaiseOutput : isPrepareOutput;
  return read(value) && value.call.callId === of.callId && value.call.tool === of.tool ? value : undefined;
}

/**
 * Reads the output of a call. Undefined if it cannot be read, or belongs to another call. Only the worker that took
 * a call knows its secret, so nobody else can say that the call did not start.
 */
export function readCallOutput(
  value: unknown,
  { callId, secret }: { callId: string; secret: string | undefined },
): CallOutput | undefined {
  if (!isCallOutput(value)) return undefined;
  if (('notHere' in value || 'paused' in value) && value.secret !== secret) return undefined;
  return 'result' in value && value.result.callId !== callId ? undefined : value;
}

/** Reads whether a call in doubt took effect. Undefined if it cannot be read, or belongs to another call. */
export function readVerifyOutput(value: unknown, callId: string): VerifyOutput | undefined {
  if (!isVerifyOutput(value)) return undefined;
  return value.outcome === 'happened' && value.result.callId !== callId ? undefined : value;
}

/**
 * Reads a result that anybody may have sent, cut to the most that a tool may return. Undefined if it cannot be read.
 */
export function readResult(value: unknown, callId: string): ToolResult | undefined {
  if (!isResult(value) || value.callId !== callId) return undefined;
  if (utf8Bytes(value.content) <= LIMITS.outputBytesMost) return value;
  // No character has more than four bytes.
  const kept = value.content.slice(0, LIMITS.outputBytesMost / 4);
  return { ...value, content: `${kept}\n[cut: it was over ${LIMITS.outputBytesMost} bytes]` };
}

/** Makes a guard that checks whether a value fits the schema, and is JSON that all our code can take. */
export function guard<T>(schema: JsonSchema): (value: unknown) => value is T {
  const fits = schemaFit(schema);
  return (value): value is T => isSoundJson(value) && fits(value);
}

const WHOLE: JsonSchema = { type: 'integer', minimum: 0 };
const LIST: JsonSchema = { type: 'array' };

const COUNTS = object(Object.fromEntries(Object.keys(noCounts()).map((name) => [name, WHOLE])));
const VERDICT = object({ accepted: { type: 'boolean' }, callId: TEXT });
const SPENT: JsonSchema = {
  type: 'array',
  minItems: 2,
  prefixItems: [TEXT, object({ digest: TEXT, verdict: VERDICT })],
};
const WORDS = object({
  waiting: { type: 'array', items: object({ messageId: TEXT, text: TEXT }, { files: FILES_SCHEMA }) },
  took: { type: 'array', items: TEXT },
});
const HELD = { count: WHOLE, digest: TEXT };
const SESSION = object({ sessionId: NAME, runId: NAME, messageId: TEXT, ...HELD }, { before: object(HELD) });
const CARRIED = object(
  {
    step: WHOLE,
    transcript: { type: 'array', items: { type: 'object' } },
    droppedBefore: WHOLE,
    results: { type: 'array', items: object({ callId: TEXT, digest: TEXT, success: { type: 'boolean' } }) },
    spent: { type: 'array', items: SPENT },
    counts: COUNTS,
    usage: OBJECT,
    signalVerdicts: { ...LIST, items: object({ callId: TEXT, verdict: TEXT, decisionId: TEXT, at: TEXT }) },
  },
  {
    states: CARRIED_STATES,
    words: WORDS,
    moved: MOVED,
    ...CARRIED_SPENDING,
  },
);
const FORK = object({ of: TEXT, from: TEXT, world: { enum: [...WORLDS] } }, { context: TEXT });

const issuesOf = soundCheck({
  type: 'object',
  properties: {
    agent: { type: 'string', minLength: 1 },
    prompt: TEXT,
    files: FILES_SCHEMA,
    origin: ORIGIN,
    carried: CARRIED,
    fork: FORK,
    ...CHILD_INPUT,
    session: SESSION,
    sessionStates: CARRIED_STATES,
  },
  required: ['agent', 'prompt'],
});

/** Whether a workflow was started with the input of a turn. Anybody may start a workflow with any input. */
export function isTurnInput(value: unknown): value is TurnInput {
  if (issuesOf(value).length > 0 || !isObject(value)) return false;
  const given = isObject(value['fork']) ? value['fork']['given'] : undefined;
  const { transcript, moved } = isObject(value['carried']) ? value['carried'] : {};
  const isReadable = given === undefined || readThinkOutput(given) !== undefined;
  if (!isReadable || (Array.isArray(transcript) && !transcript.every(isTranscriptEntry))) return false;
  return !isObject(moved) || fitsMoved(readThinkOutput(moved['reply']), transcript);
}
