import {
  APICallError,
  type LanguageModelV3,
  type LanguageModelV3CallOptions,
  type LanguageModelV3Content,
  type LanguageModelV3StreamPart,
} from '@ai-sdk/provider';
import { defined } from '../../contract/defined';
import type { JsonObject } from '../../contract/json';
import type { HttpModelSettings } from '../http-settings';
import { framesOf } from './frames';
import { CHAT, ReplyReader } from './reader';
import { toBody } from './request';

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

function addContent(content: LanguageModelV3Content[], part: LanguageModelV3StreamPart): void {
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
