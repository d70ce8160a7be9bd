import type { LanguageModelV3, LanguageModelV3CallOptions } from '@ai-sdk/provider';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { Model, ModelReply, ModelRequest } from './model';
import { toModelError } from './model-errors';
import { limitedFetch } from './openai/limited-fetch';
import { toSettings, type OpenAICompatibleOptions, type Settings } from './openai/options';
import { toPrompt, toSdkTools } from './openai/prompt';
import { collectReply, toReply } from './openai/reply';

export type { OpenAICompatibleOptions } from './openai/options';

/**
 * A model behind any server that speaks OpenAI's chat completions, through the AI SDK's provider package.
 * One request an attempt: retries are Temporal's. Failures are ModelErrors, see `toModelError`. A reply is used only when
 * all of it has arrived, and the raw text of arguments is left as the model wrote it.
 * The key is nowhere on the returned object and in no message.
 *
 * @throws CountersignError `config_invalid` for wrong options and for a key that is not there.
 * @example openaiCompatible({ baseUrl: 'https://api.openai.com/v1', model: 'gpt-5', apiKey: { env: 'OPENAI_API_KEY' } })
 */
export function openaiCompatible(options: OpenAICompatibleOptions): Model {
  const settings = toSettings(options);
  const model = toProvider(settings);
  return {
    id: settings.id,
    async generate(request) {
      try {
        return await ask(model, settings, request);
      } catch (error) {
        throw toModelError(error, {
          model: settings.id,
          secrets: settings.secrets,
          ended: request.signal.aborted,
        });
      }
    },
  };
}

function toProvider({ baseUrl, apiKey, headers, model }: Settings): LanguageModelV3 {
  const provider = createOpenAICompatible({
    name: 'countersign',
    baseURL: baseUrl,
    headers,
    includeUsage: true,
    fetch: limitedFetch(),
    ...(apiKey === undefined ? {} : { apiKey }),
  });
  return provider.chatModel(model);
}

async function ask(model: LanguageModelV3, settings: Settings, request: ModelRequest): Promise<ModelReply> {
  const call: LanguageModelV3CallOptions = {
    prompt: toPrompt(request),
    tools: toSdkTools(request.tools),
    abortSignal: AbortSignal.any([request.signal, AbortSignal.timeout(settings.timeoutMs)]),
  };
  if (!settings.stream) return toReply(await model.doGenerate(call));
  const { stream } = await model.doStream({ ...call, includeRawChunks: true });
  return collectReply(stream);
}
