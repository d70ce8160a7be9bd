import { z } from 'zod';
import { HTTP_MODEL_OPTIONS, type HttpModelKind, parseOptions, toSettings } from './http-settings';
import { idFormOf } from './call-ids';
import { CHAT } from './chat/reader';
import { chatCompletions } from './chat/completions';
import type { Model } from './model';
import { sdkModel } from './sdk-model';

const KIND: HttpModelKind = { name: 'openaiCompatible' };

/** What the conversation and the options say already. */
const OWN_FIELDS = ['model', 'messages', 'tools', 'stream'];

const settingsSchema = z
  .object({
    temperature: z.number().min(0).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    max_tokens: z.int().positive().nullish(),
    max_completion_tokens: z.int().positive().nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    reasoning_effort: z.string().nullish(),
    chat_template_kwargs: z.record(z.string(), z.json()).nullish(),
  })
  .catchall(z.json())
  .refine((settings) => OWN_FIELDS.every((name) => !(name in settings)), {
    error: `cannot set ${OWN_FIELDS.join(', ')}`,
  });

const schema = z.strictObject({
  ...HTTP_MODEL_OPTIONS,
  /** The address without `/chat/completions`, such as `https://api.openai.com/v1`. */
  baseUrl: z.string(),
  /** The most tokens of one reply. @default the server's own */
  maxOutputTokens: z.int().positive().optional(),
  /**
   * Fields of each request's body, as the server names them: `temperature`, `max_tokens`, `parallel_tool_calls`,
   * `reasoning_effort`, `chat_template_kwargs` or any other. Null leaves a field out that is sent otherwise, such as
   * `stream_options`.
   *
   * @default none
   */
  settings: settingsSchema.optional(),
});

/** The options of `openaiCompatible`. */
export interface OpenAICompatibleOptions extends z.input<typeof schema> {}

/**
 * A model behind any server that speaks OpenAI's chat completions, with whatever it sends that has one meaning. Each
 * attempt is one request, because Temporal retries. Failures are ModelErrors, see `toModelError`. A reply is used only when all
 * of it has arrived. Arguments stay the raw text of the model. Without `apiKey` no key is sent, as local servers need
 * none. Neither the returned object nor a message shows the key.
 *
 * @throws CountersignError `config_invalid` for wrong options and for a key that is not there.
 * @example openaiCompatible({ baseUrl: 'https://api.openai.com/v1', model: 'gpt-5', apiKey: { env: 'OPENAI_API_KEY' } })
 */
export function openaiCompatible(options: OpenAICompatibleOptions): Model {
  parseOptions(KIND, schema, options);
  const settings = toSettings(KIND, options);
  const { maxOutputTokens, settings: body = {} } = options;
  const { baseUrl, apiKey, headers, model } = settings;
  return sdkModel({
    settings,
    provider: CHAT,
    call: { maxOutputTokens, providerOptions: { [CHAT]: body } },
    ids: idFormOf(model, new URL(baseUrl).host),
    by: `openaiCompatible:${model}@${new URL(baseUrl).host}`,
    load: (fetch) => chatCompletions({ connection: { baseUrl, apiKey, headers, model }, fetch }),
  });
}
