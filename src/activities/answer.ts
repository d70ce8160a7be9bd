import { defined } from '../contract/defined';
import { isJsonObject, type JsonObject, parseJson } from '../contract/json';
import { addUsage } from '../contract/think';
import { ModelError, type ModelMessage, type ModelReply } from '../models/model';
import type { Agent } from '../tools/define-agent';

/** A reply; with the value of its text where it is an answer and the agent asks for one. */
export interface ValuedReply extends ModelReply {
  value?: JsonObject;
}

/** The agent's instructions, and what its answer has to be. Said in words, because not every provider has both tools and schemas. */
export function instructionsOf({ instructions, output }: Agent): string {
  if (output === undefined) return instructions;
  const schema = JSON.stringify(output.schema);
  return `${instructions}\n\nWhen you answer without calling a tool, the answer is one JSON object and nothing else. It fits this JSON Schema:\n${schema}`;
}

/**
 * A reply whose answer fits what the agent asks for. One that does not is given back to the model, once.
 *
 * @param ask Asks with more messages at the end of the conversation.
 * @throws ModelError `request` where the second answer does not fit either.
 */
export async function fittingReply(
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

/** The value of an answer, or what is wrong with it; nothing where it is none. */
function valueOf({ output }: Agent, reply: ModelReply): { value?: JsonObject } | { wrong: string } {
  if (output === undefined || reply.toolCalls.length > 0) return {};
  const value = parseJson(withoutFence(reply.text));
  if (!isJsonObject(value)) return { wrong: 'The answer is not a JSON object.' };
  const parsed = output.parse(value);
  if (parsed.ok) return { value };
  const issues = parsed.issues.slice(0, MOST_ISSUES).map(({ path, message }) => `${path || '/'}: ${message}`);
  return { wrong: `The answer does not fit its schema: ${issues.join('; ')}.` };
}

/** Enough to correct an answer by. */
const MOST_ISSUES = 20;

/** Models like to write JSON as Markdown. */
function withoutFence(text: string): string {
  const inner = text.trim();
  if (!inner.startsWith('```') || !inner.endsWith('```')) return inner;
  return inner.slice(inner.indexOf('\n') + 1, -3);
}
