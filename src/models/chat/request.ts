import type { LanguageModelV3CallOptions, LanguageModelV3Message } from '@ai-sdk/provider';
import { defined } from '../../contract/defined';
import { isJsonObject, isObject, type Json, type JsonObject } from '../../contract/json';
import { CHAT, IN_CONTENT } from './reader';

type Parts<Role> = Exclude<Extract<LanguageModelV3Message, { role: Role }>['content'], string>;
type UserPart = Parts<'user'>[number];
type AssistantPart = Parts<'assistant'>[number];

/** The conversation and the tools as a server of chat completions takes them. */
export function toBody(
  { prompt, tools = [], maxOutputTokens }: LanguageModelV3CallOptions,
  model: string,
): JsonObject {
  return {
    model,
    ...defined({ max_tokens: maxOutputTokens }),
    messages: prompt.flatMap((message) => toMessages(message, model)),
    ...(tools.length === 0 ? {} : { tools: tools.flatMap(toTool) }),
  };
}

function toTool(tool: NonNullable<LanguageModelV3CallOptions['tools']>[number]): JsonObject[] {
  if (tool.type !== 'function') return [];
  const { name, description = '', inputSchema } = tool;
  const schema: unknown = inputSchema;
  const parameters = isJsonObject(schema) ? schema : {};
  return [{ type: 'function', function: { name, description, parameters } }];
}

function toMessages(message: LanguageModelV3Message, model: string): JsonObject[] {
  if (message.role === 'system') return [{ role: 'system', content: message.content }];
  if (message.role === 'assistant') return [assistantMessage(message.content, model)];
  if (message.role === 'user') return [{ role: 'user', content: userContent(message.content) }];
  return message.content.flatMap((part) => {
    if (part.type !== 'tool-result') return [];
    const { output } = part;
    const content = output.type === 'text' ? output.value : JSON.stringify(output);
    return [{ role: 'tool', tool_call_id: part.toolCallId, content }];
  });
}

function userContent(parts: readonly UserPart[]): Json {
  const [first] = parts;
  return parts.length === 1 && first?.type === 'text' ? first.text : parts.map(toUserPart);
}

function toUserPart(part: UserPart): JsonObject {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { mediaType, filename = 'file', data } = part;
  const base64 = data instanceof Uint8Array ? Buffer.from(data).toString('base64') : String(data);
  const url = `data:${mediaType};base64,${base64}`;
  if (mediaType.startsWith('image/')) return { type: 'image_url', image_url: { url } };
  if (mediaType.startsWith('audio/'))
    return {
      type: 'input_audio',
      input_audio: {
        data: base64,
        format: mediaType === 'audio/mpeg' ? 'mp3' : mediaType.slice('audio/'.length).replace(/^x-/, ''),
      },
    };
  return { type: 'file', file: { filename, file_data: url } };
}

/** A reply with all that its server sent beside text and calls, under the server's own names. */
function assistantMessage(parts: readonly AssistantPart[], model: string): JsonObject {
  const calls = parts.flatMap(toCall);
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('');
  return {
    role: 'assistant',
    content: contentOf(parts, text, calls.length > 0),
    ...thoughtsOf(parts),
    ...(calls.length === 0 ? {} : { tool_calls: signed(calls, model) }),
  };
}

function contentOf(parts: readonly AssistantPart[], text: string, hasCalls: boolean): Json {
  const thoughts = parts.filter((part) => part.type === 'reasoning' && fieldOf(part) === IN_CONTENT);
  if (thoughts.length === 0) return hasCalls && text === '' ? null : text;
  return parts.flatMap((part): JsonObject[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }];
    if (part.type !== 'reasoning' || fieldOf(part) !== IN_CONTENT) return [];
    return [{ type: 'thinking', thinking: [{ type: 'text', text: part.text }] }];
  });
}

function thoughtsOf(parts: readonly AssistantPart[]): JsonObject {
  const fields: JsonObject = {};
  for (const part of parts) {
    if (part.type !== 'reasoning') continue;
    const field = fieldOf(part);
    if (field !== undefined && field !== IN_CONTENT)
      fields[field] = `${String(fields[field] ?? '')}${part.text}`;
    const { message } = metaOf(part);
    if (isJsonObject(message)) Object.assign(fields, message);
  }
  return fields;
}

function toCall(part: AssistantPart): JsonObject[] {
  if (part.type !== 'tool-call') return [];
  const { function: inFunction, ...extra } = metaOf(part);
  const named = { name: part.toolName, arguments: JSON.stringify(part.input) };
  const more = isJsonObject(inFunction) ? inFunction : {};
  return [{ id: part.toolCallId, type: 'function', function: { ...named, ...more }, ...extra }];
}

/** The value that Google documents for calls whose signature is not there, because another model made them. */
const UNSIGNED = { google: { thought_signature: 'skip_thought_signature_validator' } };

/** Gemini from version 3 on refuses a step none of whose calls has a signature. */
function signed(calls: readonly JsonObject[], model: string): JsonObject[] {
  const isSigned = calls.some(({ extra_content: extra }) => isObject(extra));
  if (isSigned || !/gemini-(?:[3-9]|\d{2})/i.test(model)) return [...calls];
  return calls.map((call, index) => (index === 0 ? { ...call, extra_content: UNSIGNED } : call));
}

function fieldOf(part: AssistantPart): string | undefined {
  const { field } = metaOf(part);
  return typeof field === 'string' ? field : undefined;
}

function metaOf({ providerOptions }: AssistantPart): JsonObject {
  const meta: unknown = providerOptions?.[CHAT];
  return isJsonObject(meta) ? meta : {};
}
