import { randomUUID } from 'node:crypto';
import type { Budget } from '../contract/spending/budget';
import { defined } from '../contract/defined';
import type { PreparedCall } from '../contract/call';
import { replyEntry, type TranscriptEntry } from '../contract/transcript';
import { utf8Bytes } from '../contract/text/bytes';
import { isJsonObject, type JsonObject, parseJson } from '../contract/json';
import { addUsage, priced, type Usage } from '../contract/spending/usage';
import { type ThinkInput, type ThinkOutput } from '../contract/think';
import type { JsonSchema } from '../contract/tool';
import { ModelError, type ModelMessage, type ModelReply } from '../models/model';
import type { Agent } from '../tools/define-agent';
import { cutOutput } from '../tools/cut-output';
import { offeredTools } from '../tools/builtin/find-tools';
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
import type { TextWriter } from './text-streams';
import { STREAM } from '../contract/streamed-text';
import { agentOf, type Asking, inTime, withModel } from './ask-model';
import { aboutTurn } from './execution';
import { toMessages } from './model-messages';
import { type AskedCall, fitStep, prepareCall, prepareFitting } from './prepare-call';
import { requireUnpaused } from './control/pauses';
import { LIMITS } from '../contract/limits';
import { type Asked, EmptyReply } from './model-tries';

/** Asks the model for one step and prepares the calls of its reply. A replay needs nothing but the result. */
export async function think(deps: ActivityDeps, input: ThinkInput): Promise<ThinkOutput> {
  const agent = agentOf(deps, input.agent);
  await requireUnpaused(deps, agent.name);
  const asked = { agent, named: input.model, origin: input.origin, tried: input.tried };
  return withModel(deps, asked, async (asking) => {
    const { model, guard } = asking;
    const writer = deps.texts?.open(input.step, (text) => guard.report({ text }));
    try {
      const entries = await conversationOf(input, deps.memory);
      const bytes = bytesOf(entries);
      const about = { about: aboutTurn(input), signal: guard.signal, secrets: deps.run.secrets };
      const known = await knownBefore({ agent, input, entries, ...about });
      const earlier = await earlierWords(input.session, deps.memory);
      // What was said before the turn counts for the provider too.
      const how = { asking, store: deps.files, bytes: bytes + bytesOf(earlier), ...defined({ writer }) };
      const reply = await askModel(known.agent, [...earlier, ...entries], how);
      const step = { agent, model, input, reply, bytes };
      const output = { ...(await prepareStep(deps, step)), ...known.recorded };
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

/** Reports how much of its model a reply used. */
export function noteUsage(
  { observe }: ActivityDeps,
  { name: agent }: Agent,
  { model, usage }: { model: string; usage?: Usage },
): void {
  if (usage !== undefined) observe?.({ kind: 'usage', agent, model, usage });
}

async function prepareStep(
  deps: ActivityDeps,
  { agent, model, input, reply, bytes }: Asked & { input: ThinkInput; reply: ValuedReply; bytes: number },
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
    ...defined({
      usage: priced(reply.usage, {
        ...{ model: model.id, pricing: deps.pricing },
        bytes: { read: bytes, wrote: utf8Bytes(text) },
      }),
      ...{ opaque, value: reply.value, repeats: agent.repeats, gate: agent.gate },
      compactOver: input.session && agent.compactOver,
      budget: withCurrency(agent.budget, deps),
      sessionBudget: input.session && withCurrency(agent.sessionBudget, deps),
    }),
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
  const given = reply.toolCalls.map(({ id }, index) => id ?? `call_${step}_${index + 1}`);
  const ids = uniqueIds(given.map((id) => ({ id: id.slice(0, ID_CHARACTERS) })));
  return reply.toolCalls.map((call, index) => ({
    callId: `${step}.${index + 1}`,
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
function keptOpaque({ run }: ActivityDeps, { opaque, text }: ModelReply, kept: string): string | undefined {
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

interface AskingHow {
  asking: Asking;
  store: ActivityDeps['files'];
  /** Bytes of the entries. */
  bytes: number;
  writer?: TextWriter;
}

/** Asks the model once, and a second time where the answer does not fit. */
async function askModel(
  agent: Agent,
  entries: readonly TranscriptEntry[],
  { asking, store, bytes, writer }: AskingHow,
): Promise<ValuedReply> {
  const messages = await toMessages(entries, { model: asking.model, store });
  return inTime(asking, bytes + utf8Bytes(agent.instructions), async (generate) => {
    const ask = (more: readonly ModelMessage[] = []): Promise<ModelReply> =>
      generate({
        instructions: instructionsOf(agent),
        messages: [...messages, ...more],
        tools: offeredTools(agent, entries),
        // The text of a second answer would follow that of the first, so it comes only with the finished reply.
        ...defined({ onText: more.length === 0 ? writer?.add : undefined }),
      });
    return await fittingReply(agent, checked(await ask(), entries), ask);
  });
}

/**
 * Checks that a reply is not empty. After a tool's result an empty reply is an answer, with which some models end a
 * turn.
 */
function checked(reply: ModelReply, entries: readonly TranscriptEntry[]): ModelReply {
  const { text, toolCalls, finishReason } = reply;
  if (text !== '' || toolCalls.length > 0) return reply;
  const isCut = finishReason === 'length' || finishReason === 'error';
  if (entries.at(-1)?.kind === 'result' && !isCut) return reply;
  throw new EmptyReply('server', `the model answered nothing (${finishReason})`, { retryable: true });
}

/** A reply, with the value of its text where the reply is an answer and the agent asks for a value. */
interface ValuedReply extends ModelReply {
  value?: JsonObject;
}

/**
 * The agent's instructions with the form of the answer. The model reads this in words, because not every provider has
 * both tools and schemas.
 */
function instructionsOf({ instructions, output }: Agent): string {
  if (output === undefined) return instructions;
  const schema = JSON.stringify(output.schema);
  return `${instructions}\n\nWhen you answer without calling a tool, the answer is one JSON object and nothing else. It fits this JSON Schema:\n${schema}`;
}

/**
 * A reply whose answer fits the agent's schema. An answer that does not fit is given back to the model once.
 *
 * @param ask Asks with more messages at the end of the conversation.
 * @throws ModelError `request` where the second answer does not fit either.
 */
async function fittingReply(
  agent: Agent,
  reply: ModelReply,
  ask: (more: readonly ModelMessage[]) => Promise<ModelReply>,
): Promise<ValuedReply> {
  const first = valueOf(agent, reply);
  if (!('wrong' in first)) return { ...reply, ...first };
  const second = await ask([
    { role: 'assistant', content: reply.text, toolCalls: [], ...defined({ opaque: reply.opaque }) },
    { role: 'user', content: `${first.wrong} Answer again, with the whole JSON object only.` },
  ]);
  const usage = second.usage === undefined ? reply.usage : addUsage(reply.usage ?? {}, second.usage);
  const value = valueOf(agent, second);
  if (!('wrong' in value)) return { ...second, ...value, ...defined({ usage }) };
  throw new ModelError('request', `the answer is wrong a second time: ${value.wrong}`, { retryable: false });
}

/** The value of an answer, or what is wrong with the answer. Empty where the reply is not an answer with a value. */
function valueOf({ output }: Agent, reply: ModelReply): { value?: JsonObject } | { wrong: string } {
  if (output === undefined || reply.toolCalls.length > 0) return {};
  const value = parseJson(withoutFence(reply.text));
  if (!isJsonObject(value)) return { wrong: 'The answer is not a JSON object.' };
  const parsed = output.parse(value);
  if (parsed.ok) return { value };
  const issues = parsed.issues.slice(0, MOST_ISSUES).map(({ path, message }) => `${path || '/'}: ${message}`);
  return { wrong: `The answer does not fit its schema: ${issues.join('; ')}.` };
}

/** The most issues that the model reads, which is enough to correct an answer. */
const MOST_ISSUES = 20;

/** The text without a Markdown fence, since models like to write JSON in one. */
function withoutFence(text: string): string {
  const inner = text.trim();
  if (!inner.startsWith('```') || !inner.endsWith('```')) return inner;
  return inner.slice(inner.indexOf('\n') + 1, -3);
}
