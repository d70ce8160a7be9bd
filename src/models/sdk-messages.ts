import { defined } from '../contract/defined';
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
} from '@ai-sdk/provider';
import { type IdForm, withFittingIds } from './call-ids';
import { type PartMeta, readOpaque, type SdkCall, restoredParts } from './kept-reasoning';
import type { ModelCall, ModelMessage, ModelRequest } from './model';
import { isObject, parseJson } from '../contract/json';
import { schemaForProvider, type SchemaSubset } from './tool-schemas';
type SdkTool = Extract<NonNullable<LanguageModelV3CallOptions['tools']>[number], { type: 'function' }>;

/** The values that a kind of model needs besides the conversation. */
export interface PromptOptions {
  /**
   * The owner of the opaque parts. Parts from one model at one address are sent back only to that model at that
   * address.
   */
  by: string;
  /**
   * The mark for the provider's cache. It is added to the instructions and to the last message, which are the ends of
   * the parts that the next request repeats.
   */
  cacheMark?: PartMeta;
  /** The subset of JSON Schema that the provider takes. Absent: all of it. */
  schemas?: SchemaSubset;
  /** The ids of calls that the model takes. */
  ids: IdForm;
  /** What the provider's package gets with each tool, such as `strict: false`. */
  tool?: Pick<SdkTool, 'strict'>;
}

/**
 * The conversation as the provider package takes it. An empty reply is left out, because providers refuse empty
 * messages.
 */
export function toPrompt(
  { instructions, messages }: ModelRequest,
  options: PromptOptions,
): LanguageModelV3Prompt {
  const system: LanguageModelV3Message[] =
    instructions === '' ? [] : [{ role: 'system', content: instructions }];
  const said = withFittingIds(messages, options.ids)
    .map((message, place) => toSdkMessage(message, place, options.by))
    .filter(({ content }) => content.length > 0);
  const prompt = [...system, ...said];
  if (options.cacheMark === undefined) return prompt;
  const marked = new Set([system.length - 1, prompt.length - 1]);
  return prompt.map((message, place) =>
    marked.has(place) ? { ...message, ...defined({ providerOptions: options.cacheMark }) } : message,
  );
}

function toSdkMessage(message: ModelMessage, place: number, by: string): LanguageModelV3Message {
  if (message.role === 'user') {
    const files = (message.files ?? []).map(({ name: filename, mediaType, bytes: data }) => {
      return { type: 'file', data, mediaType, filename } as const;
    });
    return { role: 'user', content: [{ type: 'text', text: message.content }, ...files] };
  }
  if (message.role === 'tool') {
    const { toolCallId, toolName, content } = message;
    const output = { type: 'text', value: content } as const;
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] };
  }
  const { content: text, opaque } = message;
  const calls = message.toolCalls.map((call, index) => toSdkCall(call, `call_${place}_${index + 1}`));
  return {
    role: 'assistant',
    content: restoredParts(text, calls, readOpaque(opaque, by)) ?? [...textParts(text), ...calls],
  };
}

function textParts(text: string): { type: 'text'; text: string }[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

function toSdkCall({ id, name, arguments: raw }: ModelCall, madeUp: string): SdkCall {
  return { type: 'tool-call', toolCallId: id ?? madeUp, toolName: name, input: toInput(raw) };
}

/**
 * Arguments of an earlier call. Servers parse them and refuse the whole conversation unless they are a JSON object, so
 * any other text is sent as `{"unreadable_arguments": text}`. The model sees its own text beside the error.
 */
function toInput(raw: string): Record<string, unknown> {
  if (raw.trim() === '') return {};
  const value = parseJson(raw);
  return isObject(value) ? value : { unreadable_arguments: raw };
}

/** The tools as the provider package takes them. */
export function toSdkTools(tools: ModelRequest['tools'], { schemas, tool }: PromptOptions): SdkTool[] {
  return tools.map(({ function: { name, description, parameters } }) => {
    const inputSchema = toSdkSchema(schemaForProvider(parameters, schemas));
    return { type: 'function', name, description, inputSchema, ...tool };
  });
}

function toSdkSchema(schema: unknown): SdkTool['inputSchema'] {
  return isSdkSchema(schema) ? schema : {};
}

// The package's type has fewer keywords than JSON Schema.
function isSdkSchema(schema: unknown): schema is SdkTool['inputSchema'] {
  return isObject(schema);
}
