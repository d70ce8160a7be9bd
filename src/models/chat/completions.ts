import {
  APICallError,
  type LanguageModelV3,
  type LanguageModelV3CallOptions,
  type LanguageModelV3Content,
  type LanguageModelV3StreamPart,
  type LanguageModelV3Message,
} from '@ai-sdk/provider';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { defined } from '../../contract/defined';
import { isObject, type JsonObject, parseJson, isJsonObject, type Json } from '../../contract/json';
import type { HttpModelSettings } from '../http-settings';
import { ModelError } from '../model';
import { CHAT, ReplyReader, IN_CONTENT } from './reader';

/** The options of `chatCompletions`. */
interface ChatOptions {
  connection: Pick<HttpModelSettings, 'baseUrl' | 'apiKey' | 'headers' | 'model'>;
  fetch: typeof globalThis.fetch;
}

/** A model of a server that speaks OpenAI's chat completions. The options of a call are fields of its body. */
export function chatCompletions(options: ChatOptions): LanguageModelV3 {
  return {
    specificationVersion: 'v3',
    provider: 'chat',
    modelId: options.connection.model,
    supportedUrls: {},
    async doGenerate(call) {
      const content: LanguageModelV3Content[] = [];
      const raw: unknown[] = [];
      for await (const part of partsOf(await post(options, call, false))) {
        if (part.type === 'error') throw part.error;
        if (part.type === 'raw') raw.push(part.rawValue);
        else if (part.type === 'finish')
          return { ...part, content, response: { body: raw[0] }, warnings: [] };
        else addContent(content, part);
      }
      throw new Error('a reply has an end');
    },
    async doStream(call) {
      const response = await post(options, call, true);
      return { stream: toStream(partsOf(response)) };
    },
  };
}

function addContent(content: LanguageModelV3Content[], part: LanguageModelV3StreamPart) {
  const last = content.at(-1);
  if (part.type === 'tool-call') content.push(part);
  else if (part.type === 'text-start' || part.type === 'reasoning-start') {
    const { providerMetadata } = part;
    const type = part.type === 'text-start' ? 'text' : 'reasoning';
    content.push({ type, text: '', ...defined({ providerMetadata }) });
  } else if ('delta' in part && (last?.type === 'text' || last?.type === 'reasoning'))
    last.text += part.delta;
}

async function* partsOf(response: Response): AsyncGenerator<LanguageModelV3StreamPart> {
  const reader = new ReplyReader();
  for await (const frame of framesOf(response)) {
    if (frame === 'done') reader.done();
    else yield* reader.take(frame.value);
  }
  yield* reader.end();
}

function toStream(
  parts: AsyncGenerator<LanguageModelV3StreamPart>,
): ReadableStream<LanguageModelV3StreamPart> {
  return new ReadableStream({
    async pull(controller) {
      const { value, done } = await parts.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await parts.return(undefined)),
  });
}

async function post(
  { connection, fetch }: ChatOptions,
  call: LanguageModelV3CallOptions,
  isStream: boolean,
): Promise<Response> {
  const { baseUrl, apiKey, headers, model } = connection;
  const url = `${baseUrl.replace(/\/$/, '')}/chat/completions`;
  const streamed: JsonObject = isStream ? { stream: true, stream_options: { include_usage: true } } : {};
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...defined({ authorization: apiKey === undefined ? undefined : `Bearer ${apiKey}` }),
      ...headers,
    },
    body: JSON.stringify(
      withSettings({ ...toBody(call, model), ...streamed }, call.providerOptions?.[CHAT] ?? {}),
    ),
    ...defined({ signal: call.abortSignal }),
  });
  if (response.ok) return response;
  throw new APICallError({
    message: response.statusText,
    url,
    requestBodyValues: {},
    statusCode: response.status,
    responseHeaders: Object.fromEntries(response.headers),
    responseBody: await response.text(),
  });
}

/** The body with the settings. Null leaves a field out. */
function withSettings(body: JsonObject, settings: object): object {
  const fields = Object.entries({ ...body, ...settings });
  return Object.fromEntries(fields.filter(([, value]) => value !== null));
}

/** One value of a body, or the mark with which a stream ends. */
type Frame = { value: unknown } | 'done';

/**
 * The values that a body has: one JSON text, one JSON text a line, or the events of a stream. The body tells which, not
 * what was asked for, because servers and proxies answer in another form than asked.
 */
async function* framesOf(response: Response): AsyncGenerator<Frame> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  let head = '';
  let isJson: boolean | undefined;
  for await (const text of textsOf(response)) {
    if (isJson === true) {
      head += text;
      continue;
    }
    const given = isJson === undefined ? (head += text) : text;
    if (isJson === undefined && given.trim() === '') continue;
    isJson ??= /^[\s\uFEFF]*[[{]/.test(given);
    if (isJson) continue;
    parser.feed(given);
    yield* events.splice(0).flatMap(toFrame);
  }
  if (isJson !== false) yield* wholeOf(head);
}

async function* textsOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) yield decoder.decode(bytes, { stream: true });
  yield decoder.decode();
}

function wholeOf(text: string): Frame[] {
  const value = parseJson(text.trim());
  if (value !== undefined) return [{ value }, 'done'];
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const values = lines.map(parseJson);
  if (lines.length < 2 || values.some((one) => one === undefined)) throw notJson();
  return [...values.map((one) => ({ value: one })), 'done'];
}

/** The value of an event. Words that are not JSON, such as a sign of life, mean nothing. */
function toFrame({ data, event }: EventSourceMessage): Frame[] {
  const text = data.trim();
  if (/^"?\[DONE\]"?$/i.test(text)) return ['done'];
  const value = parseJson(text);
  if (event === 'error') return [{ value: { error: isObject(value) ? (value['error'] ?? value) : text } }];
  if (value === undefined && /^[[{]/.test(text)) throw notJson();
  return value === undefined ? [] : [{ value }];
}

function notJson() {
  return new ModelError('network', 'the reply is not JSON; it may have been cut', { retryable: true });
}

type Parts<Role> = Exclude<Extract<LanguageModelV3Message, { role: Role }>['content'], string>;
type UserPart = Parts<'user'>[number];
type AssistantPart = Parts<'assistant'>[number];

/** The conversation and the tools as a server of chat completions takes them. */
function toBody(
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
