import { randomUUID } from 'node:crypto';
import type { Budget } from '../contract/spending/budget';
import type { PreparedCall } from '../contract/call';
import { dropOutputs, replyEntry, type TranscriptEntry } from '../contract/transcript';
import { utf8Bytes } from '../contract/text/bytes';
import { priced } from '../contract/spending/prices';
import { addUsage, type Usage } from '../contract/spending/usage';
import type { ThinkInput, ThinkOutput } from '../contract/think';
import type { JsonSchema } from '../contract/tool';
import type { ModelReply } from '../models/model';
import type { Agent } from '../tools/define-agent';
import { cutOutput } from '../tools/cut-output';
import { uniqueIds } from '../tools/prepare';
import {
  bytesOf,
  conversationOf,
  earlierWords,
  expectAfterTurn,
  knownBefore,
  type Memory,
  runOf,
} from './conversation';
import type { ActivityDeps } from './deps';
import { STREAM } from '../contract/streamed-text';
import { agentOf, withModel } from './model/with-model';
import { aboutTurn } from './execute';
import { type AskedCall, fitStep, prepareCall, prepareFitting } from './prepare-call';
import { requireUnpaused } from '../authority/pauses/worker-hold';
import { LIMITS } from '../contract/limits';
import type { AgentModel } from './model/model-tries';
import { askModel, noteUsage, type ValuedReply } from './model/ask-model';
import { callIdIn, ownCallId } from '../contract/names';

/** Asks the model for one step and prepares the calls of its reply. A replay needs nothing but the result. */
export async function think(deps: ActivityDeps, input: ThinkInput): Promise<ThinkOutput> {
  const agent = agentOf(deps, input.agent);
  await requireUnpaused(deps, agent.name);
  const asked = { agent, named: input.model, origin: input.origin, tried: input.tried };
  return withModel(deps, asked, async (asking) => {
    const { model, guard } = asking;
    const writer = deps.texts?.open(input.step, (text) => guard.report({ text }));
    try {
      const { entries, bytes } = await conversationOf(input, deps.memory);
      const about = { about: aboutTurn(input), signal: guard.signal, secrets: deps.run.secrets };
      const known = await knownBefore({ agent, input, entries, ...about });
      const earlier = await earlierWords(input.session, deps.memory);
      const isShortened = input.droppedBefore > 0;
      const how = { asking, store: deps.files, isShortened, writer };
      // The outputs of earlier turns are older than those that are left out here.
      const older = isShortened ? dropOutputs(earlier, earlier.length) : earlier;
      const { droppedBefore, ...reply } = await askModel(known.agent, [...older, ...entries], how);
      const step = { agent, model, input, reply, bytes };
      const prepared = await prepareStep(deps, step);
      const shortened = droppedBefore && { droppedBefore: Math.max(1, droppedBefore - earlier.length) };
      const output = { ...prepared, ...known.recorded, ...shortened, ...withSpent(prepared, asking.spent) };
      writer?.finish(output.text);
      noteUsage(deps, agent, output);
      const turn = rememberStep(deps.memory, { entries, bytes }, output);
      if (input.session !== undefined && output.calls.length === 0)
        expectAfterTurn(input.session, { earlier, turn }, deps.memory);
      return output;
    } finally {
      guard.stop();
      writer?.end();
    }
  });
}

/** The usage of a step with what its failed attempts used. */
function withSpent({ usage }: ThinkOutput, spent: Usage | undefined): Pick<ThinkOutput, 'usage'> {
  return spent === undefined ? {} : { usage: addUsage(usage ?? {}, spent) };
}

async function prepareStep(
  deps: ActivityDeps,
  {
    agent,
    model,
    input,
    reply,
    bytes,
  }: AgentModel & { input: ThinkInput; reply: ValuedReply; bytes: number },
): Promise<ThinkOutput> {
  // The text is cut so that the calls still fit into the result.
  const text = cutOutput(deps.run.secrets?.hide(reply.text) ?? reply.text, STREAM.textBytes);
  const asked = askedCalls(input.step, reply);
  const about = aboutTurn(input);
  const context = { ...deps, about, origin: input.origin };
  const prepared = await prepareFitting(asked, (one) => prepareCall(agent, one, context));
  const opaque = keptOpaque(deps, reply, text);
  const calls = fitStep(prepared, utf8Bytes(JSON.stringify([text, opaque, reply.value])));
  return {
    replyId: randomUUID(),
    text,
    calls,
    schemas: schemasOf(agent, calls),
    model: model.id,
    finishReason: reply.finishReason,
    order: agent.order,
    maxSteps: agent.maxSteps,
    usage: priced(reply.usage, {
      model: model.id,
      pricing: deps.pricing,
      bytes: { read: bytes, wrote: utf8Bytes(text) },
    }),
    opaque,
    value: reply.value,
    notes: reply.notes,
    repeats: agent.repeats,
    gate: agent.gate,
    compactOver: input.session && agent.compactOver,
    budget: withCurrency(agent.budget, deps),
    sessionBudget: input.session && withCurrency(agent.sessionBudget, deps),
  };
}

/**
 * The budget that the agent sets, with the currency of the prices. Where the config has prices, the currency is there
 * even without a limit of money, because the starter of a turn may set one.
 */
function withCurrency(budget: Budget | undefined, { pricing }: ActivityDeps): Budget | undefined {
  if (Object.keys(pricing.prices).length === 0) return budget;
  return { ...budget, currency: pricing.currency };
}

/**
 * The most characters of an id, and of a tool's name. No provider's ids are as long, and no tool has such a name. The
 * limit is needed because both are repeated in every record of the call.
 */
const ID_CHARACTERS = 200;

function askedCalls(step: number, reply: ModelReply): AskedCall[] {
  const given = reply.toolCalls.map(({ id }, index) => id ?? ownCallId(step, index));
  const ids = uniqueIds(given.map((id) => ({ id: id.slice(0, ID_CHARACTERS) })));
  return reply.toolCalls.map((call, index) => ({
    callId: callIdIn(step, index),
    id: ids[index] ?? '',
    tool: call.name.slice(0, ID_CHARACTERS),
    raw: call.arguments,
  }));
}

/** Schemas of the tools that wait for a decision. The workflow checks edits against them. */
function schemasOf(agent: Agent, calls: readonly PreparedCall[]): Record<string, JsonSchema> {
  const schemas: Record<string, JsonSchema> = {};
  for (const call of calls) {
    const isRequest = call.kind === 'ask' && call.question === undefined;
    const tool = isRequest ? agent.registry.get(call.tool) : undefined;
    if (tool !== undefined) schemas[tool.digest] = tool.schema;
  }
  return schemas;
}

/**
 * The opaque value, which is kept only with the whole text. A value that is too long is left out: models also work
 * without it.
 */
function keptOpaque({ run }: ActivityDeps, { opaque, text }: ModelReply, kept: string) {
  if (opaque === undefined || kept !== text) return undefined;
  if (run.secrets !== undefined && run.secrets.hide(opaque) !== opaque) return undefined;
  return utf8Bytes(opaque) <= LIMITS.opaqueBytes ? opaque : undefined;
}

function rememberStep(
  memory: Memory,
  before: { entries: readonly TranscriptEntry[]; bytes: number },
  output: ThinkOutput,
): readonly TranscriptEntry[] {
  const entry = replyEntry(output);
  const entries = [...before.entries, entry];
  memory.remember(runOf(), { replyId: output.replyId, entries, bytes: before.bytes + bytesOf([entry]) });
  return entries;
}
