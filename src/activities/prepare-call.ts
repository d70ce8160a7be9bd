import type { CallSettings, InvalidCall, PreparedCall, ValidCall } from '../contract/call';
import { digestJson } from '../contract/digest';
import type { JsonObject } from '../contract/json';
import { LIMITS } from '../contract/limits';
import { makeFailure, validationFailure } from '../contract/make-result';
import type { Preview } from '../contract/plan';
import type { ToolFailure } from '../contract/result';
import { applyDefaults } from '../contract/schema';
import { utf8Bytes } from '../contract/transcript';
import type { Agent } from '../tools/define-agent';
import { describeFailure } from '../tools/describe-failure';
import { parseArguments } from '../tools/parse-arguments';
import type { PolicyVerdict } from '../tools/policy';
import type { Tool } from '../tools/types';
import { askAgentPolicy } from './agent-policy';
import { contentDigest } from './content-digest';
import type { ActivityDeps } from './deps';
import { previewOf } from './preview';

/** What preparing needs of a worker. */
export type PrepareDeps = Pick<ActivityDeps, 'taskQueue' | 'log'>;

/** One call as a model asked for it, under the ids of its turn. */
export interface AskedCall {
  callId: string;
  id: string;
  tool: string;
  /** Arguments as the model wrote them. */
  raw: string;
}

/**
 * Makes a call ready to run or to be asked about: parses, finds the tool, fills in defaults, validates, asks the
 * policy, makes the preview, digests. Never throws: what is wrong becomes an error result that the model reads.
 */
export async function prepareCall(agent: Agent, asked: AskedCall, deps: PrepareDeps): Promise<PreparedCall> {
  const tool = agent.registry.get(asked.tool);
  if (tool === undefined) return unknownTool(agent, asked);
  if (tool.taskQueue !== undefined && tool.taskQueue !== deps.taskQueue) return remote(asked, tool.taskQueue);
  const parsed = parseArguments(asked.raw);
  if (!parsed.ok)
    return invalidCall(asked, validationFailure(parsed.issues), { raw: asked.raw.slice(0, 4096) });
  const effective = applyDefaults(tool.schema, parsed.value);
  const fit = tool.parse(effective);
  if (!fit.ok) return invalidCall(asked, validationFailure(fit.issues), { proposed: parsed.value });
  const defaulted = JSON.stringify(effective) !== JSON.stringify(parsed.value);
  const call = validCall(tool, asked, effective);
  const proposed = defaulted ? { proposed: parsed.value } : {};
  const verdict = await askAgentPolicy({ agent, tool, log: deps.log }, effective);
  return gate(tool, { call: { ...call, ...proposed }, value: fit.value }, verdict);
}

function remote(asked: AskedCall, taskQueue: string): PreparedCall {
  const { callId, id, tool, raw } = asked;
  return { kind: 'remote', callId, id, tool, raw, taskQueue };
}

function unknownTool(agent: Agent, asked: AskedCall): InvalidCall {
  const names = agent.registry.list().map((tool) => tool.name);
  const message = `There is no tool "${asked.tool.slice(0, 100)}". There are: ${names.join(', ')}.`;
  return invalidCall(asked, { code: 'tool_not_found', message }, { raw: asked.raw.slice(0, 4096) });
}

/** A call that cannot run, with the result that says so. */
export function invalidCall(
  asked: AskedCall,
  failure: ToolFailure,
  wrote: { raw?: string; proposed?: JsonObject },
): InvalidCall {
  const { callId, id, tool } = asked;
  const proposed = wrote.proposed ?? {};
  const facts = { timestamp: new Date().toISOString() };
  const result = makeFailure({ id, callId, tool, arguments: proposed }, failure, facts);
  const raw = wrote.raw === undefined ? {} : { raw: wrote.raw };
  return { kind: 'invalid', callId, id, tool, proposed, result, ...raw };
}

function validCall(tool: Tool, asked: AskedCall, effective: JsonObject): ValidCall {
  return {
    kind: 'run',
    callId: asked.callId,
    id: asked.id,
    tool: tool.name,
    arguments: effective,
    argsDigest: digestJson(effective, contentDigest),
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
    ...(tool.taskQueue === undefined ? {} : { taskQueue: tool.taskQueue }),
    ...(tool.local ? { local: true } : {}),
    ...(tool.noBatch ? { noBatch: true } : {}),
  };
}

async function gate(
  tool: Tool,
  made: { call: ValidCall; value: unknown },
  { decision, reason }: PolicyVerdict,
): Promise<PreparedCall> {
  const { call, value } = made;
  const policyReason = reason === undefined ? {} : { policyReason: reason };
  if (decision === 'refuse') {
    const message = `Policy refused this call: ${reason ?? 'no reason was given'}. Nothing ran.`;
    return invalidCall({ ...call, raw: '' }, { code: 'refused', message }, { proposed: call.arguments });
  }
  if (decision === 'run') return { ...call, ...policyReason };
  return withPreview(tool, { call: { ...call, ...policyReason }, value });
}

async function withPreview(tool: Tool, made: { call: ValidCall; value: unknown }): Promise<PreparedCall> {
  const { call, value } = made;
  const asked = { ...call, raw: '' };
  try {
    const preview = await previewOf(tool, value, call.callId);
    if (preview === undefined) return { ...call, kind: 'ask' };
    return tooLarge(preview)
      ? invalidCall(asked, { code: 'validation', message: TOO_LARGE }, { proposed: call.arguments })
      : { ...call, kind: 'ask', preview };
  } catch (error) {
    return invalidCall(asked, describeFailure(error), { proposed: call.arguments });
  }
}

const TOO_LARGE = 'This call is too large to review; split it into smaller calls. Nothing ran.';

function tooLarge(preview: Preview): boolean {
  return utf8Bytes(JSON.stringify(preview)) > LIMITS.previewBytes;
}
