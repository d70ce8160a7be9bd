import { defined } from '../contract/defined';
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import { z } from 'zod';
import type { Usage } from '../contract/think';
import { type ModelCall, ModelError, type ModelMessage, type ModelReply, type ModelRequest } from './model';
import { isObject, parseJson } from '../contract/json';

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
 * Arguments of an earlier call. Servers parse them and refuse the whole conversation unless they are a JSON object, so
 * other text goes as `{"unreadable_arguments": text}`: the model sees its own text beside the error.
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

// Sent unchanged; the package's type has fewer keywords than JSON Schema.
function isSdkSchema(schema: unknown): schema is SdkTool['inputSchema'] {
  return isObject(schema);
}

interface Gathered {
  text: string;
  calls: ModelCall[];
  refusal: string;
  finish?: { finishReason: LanguageModelV3FinishReason; usage: LanguageModelV3Usage };
}

/**
 * A whole reply from a JSON body.
 *
 * @throws ModelError `refused` where the model or a filter refused.
 */
export function toReply(result: LanguageModelV3GenerateResult): ModelReply {
  const { content, finishReason, usage, response } = result;
  const gathered: Gathered = {
    text: '',
    calls: [],
    refusal: refusalOf(response?.body),
    finish: { finishReason, usage },
  };
  for (const part of content) addPart(gathered, part);
  return finish(gathered);
}

/**
 * A whole reply from a stream: all of it or an error, never a part. `onText` gets its words as they come.
 *
 * @throws the stream's error, or ModelError `network` where the stream ended early.
 */
export async function collectReply(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  onText?: (text: string) => void,
): Promise<ModelReply> {
  const gathered: Gathered = { text: '', calls: [], refusal: '' };
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') {
      gathered.text += part.delta;
      onText?.(part.delta);
    } else if (part.type === 'raw') gathered.refusal += refusalOf(part.rawValue);
    else if (part.type === 'finish') gathered.finish = part;
    else if (part.type === 'tool-call') addPart(gathered, part);
  }
  return finish(gathered);
}

function addPart(gathered: Gathered, part: LanguageModelV3Content): void {
  if (part.type === 'text') gathered.text += part.text;
  if (part.type !== 'tool-call') return;
  const { toolCallId, toolName, input } = part;
  gathered.calls.push({ ...(toolCallId === '' ? {} : { id: toolCallId }), name: toolName, arguments: input });
}

function finish({ text, calls, refusal, finish: end }: Gathered): ModelReply {
  if (end === undefined) throw new ModelError('network', 'the reply ended early', { retryable: true });
  const { finishReason, usage } = end;
  if (refusal !== '') throw refused(`the model refused: ${refusal.slice(0, 500)}`);
  if (finishReason.unified === 'content-filter')
    throw refused("the provider's content filter ended the reply");
  return {
    text,
    toolCalls: finishReason.unified === 'length' ? markCut(calls) : calls,
    finishReason: finishReason.unified === 'other' ? (finishReason.raw ?? 'other') : finishReason.unified,
    ...defined({ usage: toUsage(usage) }),
  };
}

function refused(message: string): ModelError {
  return new ModelError('refused', message, { retryable: false });
}

/**
 * At the token limit the last call may have been cut. Its text is then not JSON, and the model gets an error for it.
 * Empty text would mean "no arguments" and the call would run, so it becomes text that is not JSON.
 */
function markCut(calls: readonly ModelCall[]): ModelCall[] {
  return calls.map((call, index) =>
    index === calls.length - 1 && call.arguments.trim() === '' ? { ...call, arguments: '{' } : call,
  );
}

const refusalSchema = z.object({ refusal: z.string() });
const bodySchema = z.object({
  choices: z.array(
    z.union([z.object({ message: refusalSchema }), z.object({ delta: refusalSchema }), z.unknown()]),
  ),
});

/** The provider package does not read `refusal`. */
function refusalOf(body: unknown): string {
  const choice = bodySchema.safeParse(body).data?.choices[0];
  const message = z.object({ message: refusalSchema }).safeParse(choice).data?.message;
  const delta = z.object({ delta: refusalSchema }).safeParse(choice).data?.delta;
  return message?.refusal ?? delta?.refusal ?? '';
}

const tokens = z.number().int().nonnegative();

/** The tokens that the provider counted. */
function toUsage(usage: LanguageModelV3Usage): Usage | undefined {
  const input = tokens.safeParse(usage.raw?.['prompt_tokens']).data;
  const output = tokens.safeParse(usage.raw?.['completion_tokens']).data;
  const total =
    tokens.safeParse(usage.raw?.['total_tokens']).data ??
    (input === undefined || output === undefined ? undefined : input + output);
  if (input === undefined && output === undefined && total === undefined) return undefined;
  return defined({ inputTokens: input, outputTokens: output, totalTokens: total });
}
