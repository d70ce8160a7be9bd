import {
  argumentsOf,
  type CallSettings,
  type InvalidCall,
  type PreparedCall,
  type TurnOrigin,
  type ValidCall,
} from '../contract/call';
import { digestJson, previewDigests } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import { KIB, LIMITS, TIMES } from '../contract/limits';
import { makeFailure, type ToolFailure } from '../contract/result';
import type { Preview } from '../contract/plan';
import { utf8Bytes } from '../contract/text/bytes';
import type { Agent } from '../tools/define-agent';
import { NOTHING_RAN, policyRefusal } from '../tools/function-policy';
import { askRules, type RuledVerdict, ruleOwner } from '../authority/rules/worker-verdict';
import { findGrant, grantsOf } from '../authority/grants/worker-claim';
import { prepare, type ReadyCall } from '../tools/prepare';
import { describeFailure } from '../tools/format-result';
import { makeContext } from '../tools/context';
import type { Tool } from '../tools/types';
import type { AboutTurn } from './execute';
import { unlessAborted } from '../tools/wait-within';
import { sha256 } from '../system/sha256';
import type { ActivityDeps } from './deps';
import { requestersOf } from '../authority/votes/requesters';

/** The most bytes of the arguments of all calls of a step: `think` returns them in one payload. */
const ARGUMENTS_BYTES_PER_STEP = 768 * KIB;

/** The most bytes of all previews of a step: `think` returns them in one payload. */
const PREVIEW_BYTES_PER_STEP = 512 * KIB;

/** The parts of a worker that the preparation of a call uses. */
interface PrepareDeps extends Pick<ActivityDeps, 'taskQueue' | 'run' | 'approvers' | 'rules' | 'grants'> {
  /** The facts about the turn that preview functions get. */
  about?: AboutTurn;
  /** The origin of the turn. */
  origin?: TurnOrigin;
}

/** One call as a model asked for it, under the ids of its turn. */
export interface AskedCall {
  callId: string;
  id: string;
  tool: string;
  /** Arguments as the model wrote them. */
  raw: string;
}

/**
 * Makes a call ready to run or to be asked about. The preparation and the policy check come first, which the executor
 * repeats. The preview and the digests follow. Never throws: a fault becomes an error result that the model reads.
 */
export async function prepareCall(agent: Agent, asked: AskedCall, deps: PrepareDeps): Promise<PreparedCall> {
  const { name, registry } = agent;
  const taskQueue = registry.get(asked.tool)?.taskQueue;
  if (taskQueue !== undefined && taskQueue !== deps.taskQueue) return remote(asked, taskQueue);
  const prepared = prepare(registry, asked.tool, asked.raw);
  if (!prepared.ok) return invalidCall(asked, prepared.failure, wroteOf(asked, prepared));
  const { tool, proposed, args, value } = prepared;
  const call = validCall(tool, asked, args);
  const isAsAsked = JSON.stringify(args) === JSON.stringify(proposed);
  const verdict = await askRules(ruleOwner(agent, deps), {
    tool,
    args,
    value,
    requesters: requestersOf(deps.origin),
  });
  const ready = { ...prepared, agent: name, deps };
  return applyPolicy(verdict, ready, isAsAsked ? call : { ...call, proposed });
}

/** The model's arguments, if they can be read and belong to a tool. */
function wroteOf(
  { raw }: AskedCall,
  { tool, proposed }: Extract<ReturnType<typeof prepare>, { ok: false }>,
): { raw: string } | { proposed: JsonObject } {
  return tool === undefined || proposed === undefined ? { raw: raw.slice(0, 4096) } : { proposed };
}

function remote(asked: AskedCall, taskQueue: string): PreparedCall {
  const { callId, id, tool, raw } = asked;
  return { kind: 'remote', callId, id, tool, raw, taskQueue };
}

/** A call that cannot run, with the result that says why. */
export function invalidCall(
  asked: AskedCall,
  failure: ToolFailure,
  wrote: { raw?: string; proposed?: JsonObject },
): InvalidCall {
  const { callId, id, tool } = asked;
  const proposed = wrote.proposed ?? {};
  const facts = { timestamp: new Date().toISOString() };
  const result = makeFailure({ id, callId, tool, arguments: proposed }, failure, facts);
  return { kind: 'invalid', callId, id, tool, proposed, result, raw: wrote.raw };
}

function validCall(tool: Tool, asked: AskedCall, effective: JsonObject): ValidCall {
  return {
    kind: 'run',
    callId: asked.callId,
    id: asked.id,
    tool: tool.name,
    arguments: effective,
    argsDigest: digestJson(effective, sha256),
    toolDigest: tool.digest,
    settings: settingsOf(tool),
  };
}

function settingsOf(tool: Tool): CallSettings {
  return {
    safety: tool.safety,
    effect: tool.effect,
    timeoutMs: tool.timeoutMs,
    heartbeatMs: tool.heartbeatMs,
    retry: tool.retry,
    requestExpiresMs: tool.requestExpiresMs,
    startWithinMs: tool.startWithinMs,
    taskQueue: tool.taskQueue,
    local: tool.local || undefined,
    noBatch: tool.noBatch || undefined,
    grants: grantsOf(tool),
    askMs: tool.askMs,
    server: tool.server === 'local' ? undefined : tool.server,
    child: childSettings(tool),
    state: tool.state === 'call' ? undefined : { scope: tool.state, group: tool.stateGroup },
  };
}

function childSettings({ child, outputLimit }: Tool): CallSettings['child'] {
  if (child === undefined) return undefined;
  return { agent: child.agent, outputBytes: outputLimit, taskQueue: child.taskQueue };
}

/** A call, with the parts that its preview needs. */
type Ready = ReadyCall & { agent: string; deps: PrepareDeps };

async function applyPolicy(verdict: RuledVerdict, ready: Ready, call: ValidCall): Promise<PreparedCall> {
  const { decision, reason, authority, ruling } = verdict;
  if (decision === 'refuse') return { ...invalidAsked(call, policyRefusal(verdict, NOTHING_RAN)), ruling };
  const judged = { ...call, policyReason: reason, ruling };
  // A question runs nothing, so nobody decides on it. The person's answer is its result.
  if (ready.tool.asks !== undefined)
    return { ...judged, kind: 'ask', question: ready.tool.asks(ready.value) };
  if (decision === 'run') return judged;
  const notes = ready.notes.length === 0 ? undefined : ready.notes;
  const shown = await withPreview(ready, { ...judged, authority, notes });
  return shown.kind === 'ask' ? withGrant(shown, ready, verdict) : shown;
}

/** Adds the grant that replaces a person's decision, if there is such a grant. */
async function withGrant(call: ValidCall, ready: Ready, verdict: RuledVerdict): Promise<ValidCall> {
  const { agent, tool, args, value, deps } = ready;
  const { authority, file, ruling } = verdict;
  const about = { agent, tool, args, value, policyDigest: ruling?.digest, authority, file };
  return { ...call, grant: await findGrant(deps.grants, about) };
}

async function withPreview({ tool, value, deps }: Ready, call: ValidCall): Promise<InvalidCall | ValidCall> {
  const { hide } = deps.run.secrets ?? {};
  try {
    const preview = await makePreview({ tool, value, callId: call.callId }, deps);
    if (preview === undefined) return { ...call, kind: 'ask' };
    return utf8Bytes(JSON.stringify(preview)) > LIMITS.previewBytes
      ? invalidAsked(call, { code: 'validation', message: TOO_LARGE })
      : { ...call, kind: 'ask', preview, ...previewDigests(preview, sha256) };
  } catch (error) {
    return invalidAsked(call, describeFailure(error, hide));
  }
}

function invalidAsked(call: ValidCall, failure: ToolFailure): InvalidCall {
  return invalidCall({ ...call, raw: '' }, failure, { proposed: call.arguments });
}

const TOO_LARGE = 'This call is too large to review; split it into smaller calls. Nothing ran.';

/** The call for which a preview is made. */
interface Previewed {
  tool: Tool;
  value: unknown;
  callId: string;
}

/**
 * The tool's own preview of a call. Undefined if the tool has no preview. Throws what the tool throws, and throws after
 * 30 s.
 */
export async function makePreview(
  { tool, value, callId }: Previewed,
  { run, about }: Pick<PrepareDeps, 'run' | 'about'>,
): Promise<Preview | undefined> {
  if (tool.preview === undefined) return undefined;
  const signal = AbortSignal.timeout(TIMES.toolTimeout);
  const context = makeContext({ ...about, callId, tool: tool.name }, run, { signal });
  const preview = await unlessAborted(tool.preview(value, context), signal, notInTime);
  // The plan is not redacted, because it is what runs.
  return run.secrets === undefined ? preview : { ...preview, text: run.secrets.hide(preview.text) };
}

/** The error of a function that did not end before its signal aborted. */
export function notInTime(cause: unknown): Error {
  return new Error('it did not end in time', { cause });
}

/** The most calls that are prepared at the same time. A preview may read a file of many megabytes. */
const AT_ONCE = 8;

/**
 * Prepares the calls of a step, in the model's order and a few at a time. A call whose text is over the limits becomes
 * a validation error before it is prepared, so no preview is made for it.
 */
export async function prepareFitting(
  asked: readonly AskedCall[],
  prepare: (asked: AskedCall) => Promise<PreparedCall>,
): Promise<PreparedCall[]> {
  const answered = asked.slice(0, LIMITS.callsAnswered);
  const excess = excessByRaw(answered);
  const prepared: PreparedCall[] = [];
  const rest = answered.entries();
  const work = async () => {
    for (const [index, one] of rest) {
      const why = excess[index];
      prepared[index] = why === undefined ? await prepare(one) : tooMuch(one, why);
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, answered.length) }, work));
  return prepared;
}

function excessByRaw(asked: readonly AskedCall[]): (string | undefined)[] {
  let used = 0;
  return asked.map(({ raw }, index) => {
    const bytes = utf8Bytes(raw);
    if (index >= LIMITS.callsPerStep) return TOO_MANY;
    // A call that is too long by itself is refused when it is prepared.
    if (bytes > LIMITS.argumentsBytes) return undefined;
    if (used + bytes > ARGUMENTS_BYTES_PER_STEP) return TOO_LONG_TOGETHER;
    used += bytes;
    return undefined;
  });
}

/** The bytes that the calls of a step have used so far, for each limit. */
interface Used {
  arguments: number;
  previews: number;
  all: number;
}

/**
 * Keeps a step within its limits: the calls beyond them become validation errors, in the model's order.
 *
 * @param textBytes The bytes of the result that the reply's own text takes.
 */
export function fitStep(calls: readonly PreparedCall[], textBytes: number): PreparedCall[] {
  // Calls over the limit get an answer, too. So the room for their errors is subtracted first.
  const over = calls.slice(LIMITS.callsPerStep).map((call) => tooMuch(call, TOO_MANY));
  const used: Used = { arguments: 0, previews: 0, all: textBytes + jsonBytes(over) };
  return calls.map((call, index) => fitCall(call, index, used));
}

function fitCall(call: PreparedCall, index: number, used: Used): PreparedCall {
  const excess = index >= LIMITS.callsPerStep ? TOO_MANY : excessOf(call, used);
  const fitted = excess === undefined ? call : tooMuch(call, excess);
  if (index < LIMITS.callsPerStep) used.all += jsonBytes(fitted);
  return fitted;
}

const TOO_MANY = `a step has at most ${LIMITS.callsPerStep} calls; ask for the rest in the next step`;
const TOO_LONG_TOGETHER = 'the arguments of this step are too large together';

function excessOf(call: PreparedCall, used: Used) {
  const args = argumentBytes(call);
  const preview = call.kind === 'ask' ? jsonBytes(call.preview ?? call.question ?? null) : 0;
  if (args > LIMITS.argumentsBytes) return `the arguments are over ${LIMITS.argumentsBytes} bytes`;
  if (used.arguments + args > ARGUMENTS_BYTES_PER_STEP) return TOO_LONG_TOGETHER;
  if (used.previews + preview > PREVIEW_BYTES_PER_STEP) return 'this step is too large to review; split it';
  if (used.all + jsonBytes(call) > LIMITS.thinkResultBytes) return 'this step is too large; split it';
  used.arguments += args;
  used.previews += preview;
  return undefined;
}

function argumentBytes(call: PreparedCall) {
  if (call.kind === 'remote') return utf8Bytes(call.raw);
  return jsonBytes(argumentsOf(call));
}

function jsonBytes(value: unknown) {
  return utf8Bytes(JSON.stringify(value));
}

function tooMuch({ callId, id, tool }: Pick<AskedCall, 'callId' | 'id' | 'tool'>, why: string): PreparedCall {
  const asked: AskedCall = { callId, id, tool: tool.slice(0, 100), raw: '' };
  return invalidCall(asked, { code: 'validation', message: `Not run: ${why}.` }, {});
}
