import { defined } from '../../contract/defined';
import { type JsonObject, parseJson, isJsonObject } from '../../contract/json';
import { type Usage, addUsage } from '../../contract/spending/usage';
import type { TranscriptEntry } from '../../contract/transcript';
import { type ModelMessage, type ModelReply, ModelError } from '../../models/model';
import { offeredTools } from '../../tools/builtin/find-tools';
import type { Agent } from '../../tools/define-agent';
import type { ActivityDeps } from '../deps';
import type { TextWriter } from '../text-streams';
import { type Asking, inTime } from './ask-model';
import { toMessages } from './model-messages';
import { EmptyReply } from './model-tries';

interface AskingHow {
  asking: Asking;
  store: ActivityDeps['files'];
  writer?: TextWriter;
}

/** Asks the model once, and a second time if the answer does not fit. */
export async function askModel(
  agent: Agent,
  entries: readonly TranscriptEntry[],
  { asking, store, writer }: AskingHow,
): Promise<ValuedReply> {
  const messages = await toMessages(entries, { model: asking.model, store });
  return inTime(asking, async (generate) => {
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

/** A reply. If it is an answer and the agent asks for a value, it has the value of its text, too. */
export interface ValuedReply extends ModelReply {
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
 * @throws ModelError `request` if the second answer does not fit either.
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

/**
 * The value of an answer, or what is wrong with the answer. Empty if the agent asks for no value, or if the reply is
 * not an answer.
 */
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

/** Reports how much of its model a reply used. */
export function noteUsage(
  { observe }: ActivityDeps,
  { name: agent }: Agent,
  { model, usage }: { model: string; usage?: Usage },
): void {
  if (usage !== undefined) observe?.({ kind: 'usage', agent, model, usage });
}
