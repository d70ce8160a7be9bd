import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
} from '@ai-sdk/provider';
import { isObject } from '../../contract/json';
import type { ModelCall, ModelMessage, ModelRequest } from '../model';

type SdkTools = NonNullable<LanguageModelV3CallOptions['tools']>;
type SdkTool = Extract<SdkTools[number], { type: 'function' }>;

/** The conversation as the provider package takes it. */
export function toPrompt({
  instructions,
  messages,
}: Pick<ModelRequest, 'instructions' | 'messages'>): LanguageModelV3Prompt {
  const system: LanguageModelV3Message[] =
    instructions === '' ? [] : [{ role: 'system', content: instructions }];
  return [...system, ...messages.map(toSdkMessage)];
}

function toSdkMessage(message: ModelMessage, place: number): LanguageModelV3Message {
  if (message.role === 'user') return { role: 'user', content: [{ type: 'text', text: message.content }] };
  if (message.role === 'tool') {
    const { toolCallId, toolName, content } = message;
    const output = { type: 'text', value: content } as const;
    return { role: 'tool', content: [{ type: 'tool-result', toolCallId, toolName, output }] };
  }
  const calls = message.toolCalls.map((call, index) => toSdkCall(call, `call_${place}_${index + 1}`));
  return { role: 'assistant', content: [{ type: 'text', text: message.content }, ...calls] };
}

function toSdkCall({ id, name, arguments: raw }: ModelCall, madeUp: string) {
  return { type: 'tool-call', toolCallId: id ?? madeUp, toolName: name, input: toInput(raw) } as const;
}

/**
 * Arguments of an earlier call. Servers parse them and refuse the whole conversation if they are no JSON object, so
 * text that is none goes as `{"unreadable_arguments": text}`: the model sees what it wrote beside the error it got.
 */
function toInput(raw: string): Record<string, unknown> {
  if (raw.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(raw);
    return isObject(value) ? value : { unreadable_arguments: raw };
  } catch {
    return { unreadable_arguments: raw };
  }
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

// Goes over the wire as it is; the package's type for it knows fewer keywords than JSON Schema has.
function isSdkSchema(schema: unknown): schema is SdkTool['inputSchema'] {
  return isObject(schema);
}
