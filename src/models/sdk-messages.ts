import { defined } from '../contract/defined';
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
} from '@ai-sdk/provider';
import { z } from 'zod';
import type { ModelCall, ModelMessage, ModelRequest } from './model';
import { isObject, parseJson } from '../contract/json';

type SdkTools = NonNullable<LanguageModelV3CallOptions['tools']>;
type SdkTool = Extract<SdkTools[number], { type: 'function' }>;

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
  cacheMark?: ProviderOptions;
}

type ProviderOptions = NonNullable<LanguageModelV3Message['providerOptions']>;
type AssistantMessage = Extract<LanguageModelV3Message, { role: 'assistant' }>;
type AssistantParts = AssistantMessage['content'];

/**
 * The conversation as the provider package takes it. An empty reply is left out, because providers refuse empty
 * messages.
 */
export function toPrompt(
  { instructions, messages }: Pick<ModelRequest, 'instructions' | 'messages'>,
  options: PromptOptions,
): LanguageModelV3Prompt {
  const system: LanguageModelV3Message[] =
    instructions === '' ? [] : [{ role: 'system', content: instructions }];
  const said = messages
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
    content: withOpaque(text, calls, readOpaque(opaque, by)) ?? [...textParts(text), ...calls],
  };
}

function textParts(text: string): { type: 'text'; text: string }[] {
  return text === '' ? [] : [{ type: 'text', text }];
}

type SdkCall = ReturnType<typeof toSdkCall>;

function toSdkCall({ id, name, arguments: raw }: ModelCall, madeUp: string) {
  return { type: 'tool-call', toolCallId: id ?? madeUp, toolName: name, input: toInput(raw) } as const;
}

/** A part of a reply in its order: reasoning with its words, text by its length, or the next call. */
const partSchema = z.union([
  z.strictObject({ reasoning: z.string(), meta: z.unknown().optional() }),
  z.strictObject({ text: z.number(), meta: z.unknown().optional() }),
  z.strictObject({ call: z.literal(true), meta: z.unknown().optional() }),
]);
/** A part of a reply, as it is kept to be sent back. */
export type OpaquePart = z.infer<typeof partSchema>;

const opaqueSchema = z.strictObject({ by: z.string(), parts: z.array(partSchema) });

/** The parts of a reply, if this model made it. */
function readOpaque(opaque: string | undefined, by: string): OpaquePart[] | undefined {
  const read = opaqueSchema.safeParse(parseJson(opaque ?? '')).data;
  return read?.by === by ? read.parts : undefined;
}

/** The reply with its parts in their order. Undefined if the parts no longer fit its text or calls. */
function withOpaque(
  text: string,
  calls: readonly SdkCall[],
  parts: readonly OpaquePart[] | undefined,
): AssistantParts | undefined {
  if (parts === undefined) return undefined;
  const length = parts.reduce((sum, part) => sum + ('text' in part ? part.text : 0), 0);
  const some = parts.filter((part) => 'call' in part).length;
  if (length !== text.length || some !== calls.length) return undefined;
  const rest = { text, calls: [...calls] };
  return parts.flatMap((part): AssistantParts => {
    const meta = isMeta(part.meta) ? { providerOptions: part.meta } : {};
    if ('reasoning' in part) return [{ type: 'reasoning', text: part.reasoning, ...meta }];
    if ('call' in part) return rest.calls.splice(0, 1).map((call) => ({ ...call, ...meta }));
    const words = rest.text.slice(0, part.text);
    rest.text = rest.text.slice(part.text);
    return [{ type: 'text', text: words, ...meta }];
  });
}

// The value comes from JSON and is sent back unchanged.
function isMeta(meta: unknown): meta is ProviderOptions {
  return isObject(meta) && Object.values(meta).every(isObject);
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
export function toSdkTools(tools: ModelRequest['tools']): SdkTool[] {
  return tools.map(({ function: { name, description, parameters } }) => {
    return { type: 'function', name, description, inputSchema: toSdkSchema(parameters) };
  });
}

function toSdkSchema(schema: unknown): SdkTool['inputSchema'] {
  return isSdkSchema(schema) ? schema : {};
}

// The schema is sent unchanged. Only the package's type has fewer keywords than JSON Schema.
function isSdkSchema(schema: unknown): schema is SdkTool['inputSchema'] {
  return isObject(schema);
}
