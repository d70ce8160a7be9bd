import { randomUUID } from 'node:crypto';
import type { PreparedCall } from '../contract/call';
import { replyEntry, utf8Bytes, type TranscriptEntry } from '../contract/transcript';
import type { ThinkInput, ThinkOutput } from '../contract/think';
import type { JsonSchema } from '../contract/tool';
import { ModelError, type Model, type ModelReply } from '../models/model';
import type { Agent } from '../tools/define-agent';
import { cutOutput } from '../tools/cut-output';
import { uniqueIds } from '../tools/parse-calls';
import { conversationOf, runOf } from './conversation';
import type { ActivityDeps } from './deps';
import { modelFailure, setupFailure } from './failures';
import { fitStep } from './fit-step';
import { describeLoss, takeLease, type Lease } from './lease';
import { bytesOf, type Memory } from './memory';
import { toMessages } from './messages';
import { prepareCall, type AskedCall } from './prepare-call';

/** A reply's own text is cut to this, so that its calls still fit the result. */
const TEXT_BYTES = 512 * 1024;

/** Asks the model for one step and prepares what it asked for. The result is all that replay will ever need of it. */
export async function think(deps: ActivityDeps, input: ThinkInput): Promise<ThinkOutput> {
  const agent = agentOf(deps, input.agent);
  const model = modelOf(agent, input.model);
  const lease = takeLease();
  try {
    const entries = await conversationOf(input, deps.memory);
    const reply = await askModel({ agent, model }, entries, lease);
    const output = await prepareStep(deps, { agent, model, input, reply });
    rememberStep(deps.memory, entries, output);
    return output;
  } finally {
    lease.release();
  }
}

/** The agent of this name. Another worker may have it, but this turn was given to this queue: it fails with the names there are. */
export function agentOf(deps: ActivityDeps, name: string): Agent {
  const agent = deps.agents.get(name);
  if (agent !== undefined) return agent;
  const names = [...deps.agents.keys()].join(', ');
  throw setupFailure(`this worker has no agent "${name}"; it has: ${names}`);
}

/** The model of a step: the agent's own, or the one that a fork names. */
function modelOf({ name, model, models }: Agent, named: string | undefined): Model {
  if (named === undefined) return model;
  const found = models.get(named);
  if (found !== undefined) return found;
  const names = [...models.keys()].join(', ') || 'none';
  throw setupFailure(`agent "${name}" has no model "${named}" here; its models: ${names}`);
}

/** Who is asked: an agent, and the model that answers for it. */
interface Asked {
  agent: Agent;
  model: Model;
}

async function askModel(
  { agent, model }: Asked,
  entries: readonly TranscriptEntry[],
  lease: Lease,
): Promise<ModelReply> {
  const timeout = AbortSignal.timeout(agent.modelTimeoutMs);
  try {
    const reply = await model.generate({
      instructions: agent.instructions,
      messages: toMessages(entries),
      tools: agent.registry.functions(),
      signal: AbortSignal.any([timeout, lease.signal]),
    });
    return nonEmpty(reply);
  } catch (error) {
    throw modelFailure(timeout.aborted ? tooSlow(agent, error) : lostOr(lease, error));
  }
}

function nonEmpty(reply: ModelReply): ModelReply {
  if (reply.text !== '' || reply.toolCalls.length > 0) return reply;
  throw new ModelError('server', `the model answered nothing (${reply.finishReason})`, { retryable: true });
}

function tooSlow(agent: Agent, cause: unknown): ModelError {
  const message = `the model did not answer within ${agent.modelTimeoutMs} ms`;
  return new ModelError('timeout', message, { retryable: true, cause });
}

function lostOr(lease: Lease, error: unknown): unknown {
  const loss = lease.lost();
  return loss === undefined ? error : new Error(describeLoss(loss), { cause: error });
}

async function prepareStep(
  deps: ActivityDeps,
  { agent, model, input, reply }: Asked & { input: ThinkInput; reply: ModelReply },
): Promise<ThinkOutput> {
  const text = cutOutput(reply.text, TEXT_BYTES);
  const prepared = await Promise.all(
    askedCalls(input.step, reply).map((asked) => prepareCall(agent, asked, deps)),
  );
  const calls = fitStep(prepared, utf8Bytes(JSON.stringify(text)));
  return {
    replyId: randomUUID(),
    text,
    calls,
    schemas: schemasOf(agent, calls),
    model: model.id,
    finishReason: reply.finishReason,
    order: agent.order,
    maxSteps: agent.maxSteps,
    ...(reply.usage === undefined ? {} : { usage: reply.usage }),
  };
}

function askedCalls(step: number, reply: ModelReply): AskedCall[] {
  const ids = uniqueIds(reply.toolCalls.map(({ id }, index) => ({ id: id ?? `call_${step}_${index + 1}` })));
  return reply.toolCalls.map((call, index) => ({
    callId: `${step}.${index + 1}`,
    id: ids[index] ?? '',
    tool: call.name,
    raw: call.arguments,
  }));
}

/** Schemas of the tools that wait for a decision; edits are checked against them in the workflow. */
function schemasOf(agent: Agent, calls: readonly PreparedCall[]): Record<string, JsonSchema> {
  const schemas: Record<string, JsonSchema> = {};
  for (const call of calls) {
    const tool = call.kind === 'ask' ? agent.registry.get(call.tool) : undefined;
    if (tool !== undefined) schemas[tool.digest] = tool.schema;
  }
  return schemas;
}

function rememberStep(memory: Memory, before: readonly TranscriptEntry[], output: ThinkOutput): void {
  const entries = [...before, replyEntry(output)];
  memory.remember(runOf(), { replyId: output.replyId, entries, bytes: bytesOf(entries) });
}
