import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { z } from 'zod';
import { defined } from '../contract/defined';
import {
  HTTP_MODEL_OPTIONS,
  type HttpModelKind,
  type HttpModelOptions,
  parseOptions,
  toSettings,
} from './http-settings';
import type { Model } from './model';
import { sdkModel } from './sdk-model';

/** The options of `openaiCompatible`. */
export interface OpenAICompatibleOptions extends HttpModelOptions {
  /** The address without `/chat/completions`, such as `https://api.openai.com/v1`. */
  baseUrl: string;
}

const KIND: HttpModelKind = { name: 'openaiCompatible' };

const schema = z.strictObject({ ...HTTP_MODEL_OPTIONS, baseUrl: z.string() });

/**
 * A model behind any server that speaks OpenAI's chat completions, through the AI SDK's provider package. Each attempt
 * is one request, because Temporal retries. Failures are ModelErrors, see `toModelError`. A reply is used only when all
 * of it has arrived. Arguments stay the raw text of the model. Without `apiKey` no key is sent, as local servers need
 * none. Neither the returned object nor a message shows the key.
 *
 * @throws CountersignError `config_invalid` for wrong options and for a key that is not there.
 * @example openaiCompatible({ baseUrl: 'https://api.openai.com/v1', model: 'gpt-5', apiKey: { env: 'OPENAI_API_KEY' } })
 */
export function openaiCompatible(options: OpenAICompatibleOptions): Model {
  parseOptions(KIND, schema, options);
  const settings = toSettings(KIND, options);
  const { baseUrl, apiKey, headers, model } = settings;
  return sdkModel({
    settings,
    by: `openaiCompatible:${model}@${new URL(baseUrl).host}`,
    load: (fetch) => {
      const provider = createOpenAICompatible({
        name: 'countersign',
        baseURL: baseUrl,
        headers,
        includeUsage: true,
        fetch,
        ...defined({ apiKey }),
      });
      return provider.chatModel(model);
    },
  });
}
