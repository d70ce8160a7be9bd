import type { LanguageModelV3CallOptions, LanguageModelV3Prompt } from '@ai-sdk/provider';
import { isJsonObject, type JsonObject } from '../contract/json';
import type { ModelError } from './model';

type Settings = NonNullable<LanguageModelV3CallOptions['providerOptions']>[string];

/** Whether a question asks for thinking, and the conversation has a step of this turn that lacks its thoughts. */
export function lacksThoughts({ prompt, providerOptions = {} }: LanguageModelV3CallOptions): boolean {
  const isAsked = Object.values(providerOptions).some((settings) => {
    const thinking: unknown = settings['thinking'];
    return isJsonObject(thinking) && thinking['type'] === 'enabled';
  });
  return isAsked && hasBareCalls(prompt);
}

/** Whether a step since the last words of a person, or the last step, begins without thoughts and has calls. */
function hasBareCalls(prompt: LanguageModelV3Prompt): boolean {
  const words = prompt.findLastIndex(({ role }) => role === 'user');
  const last = prompt.findLastIndex(({ role }) => role === 'assistant');
  return prompt
    .slice(Math.max(0, Math.min(words, last)))
    .some(
      (message) =>
        message.role === 'assistant' &&
        message.content[0]?.type !== 'reasoning' &&
        message.content.some(({ type }) => type === 'tool-call'),
    );
}

/** Whether a provider refused a conversation because thoughts are not there. */
export function wantsThoughts(error: ModelError, { prompt }: LanguageModelV3CallOptions): boolean {
  const isNamed = /reasoning_content|thinking|thought/i.test(error.message);
  return error.kind === 'request' && isNamed && hasBareCalls(prompt);
}

/** The same question without thinking, and without the thoughts of earlier steps, which then have no place. */
export function withoutThinking(
  call: LanguageModelV3CallOptions,
  provider: string,
): LanguageModelV3CallOptions {
  const settings = withoutEffort(call.providerOptions?.[provider] ?? {});
  const own = { ...settings, thinking: { type: 'disabled' } };
  const prompt = call.prompt.map((message) =>
    message.role === 'assistant'
      ? { ...message, content: message.content.filter(({ type }) => type !== 'reasoning') }
      : message,
  );
  return { ...call, prompt, providerOptions: { ...call.providerOptions, [provider]: own } };
}

/** Settings without those that ask for thinking in another way. */
function withoutEffort(settings: Settings): Settings {
  const { reasoning_effort: _effort, reasoning: _reasoning, ...others } = settings;
  const { enable_thinking: isOn, chat_template_kwargs: template } = settings;
  return {
    ...others,
    ...(isOn === undefined ? {} : { enable_thinking: false }),
    ...(isJsonObject(template) ? { chat_template_kwargs: { ...template, ...thinkingOff(template) } } : {}),
  };
}

function thinkingOff(template: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.keys(template)
      .filter((key) => /thinking$/.test(key))
      .map((key) => [key, false]),
  );
}
