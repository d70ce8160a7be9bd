import type {
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import { z } from 'zod';
import type { Usage } from '../../contract/think';
import { ModelError, type ModelCall, type ModelReply } from '../model';

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
 * A whole reply from a stream: all of it or an error, never a part.
 *
 * @throws What the stream says, or ModelError `network` where it ended early.
 */
export async function collectReply(stream: ReadableStream<LanguageModelV3StreamPart>): Promise<ModelReply> {
  const gathered: Gathered = { text: '', calls: [], refusal: '' };
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    if (part.type === 'text-delta') gathered.text += part.delta;
    else if (part.type === 'raw') gathered.refusal += refusalOf(part.rawValue);
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
  const used = toUsage(usage);
  return {
    text,
    toolCalls: finishReason.unified === 'length' ? markCut(calls) : calls,
    finishReason: finishReason.unified === 'other' ? (finishReason.raw ?? 'other') : finishReason.unified,
    ...(used === undefined ? {} : { usage: used }),
  };
}

function refused(message: string): ModelError {
  return new ModelError('refused', message, { retryable: false });
}

/**
 * At the token limit the last call may have been cut. Its text is then no JSON and the model is told so, except where
 * not one character arrived: empty text would be taken for "no arguments" and run.
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

/** Tokens that the provider counted; what it did not count is left out. */
function toUsage(usage: LanguageModelV3Usage): Usage | undefined {
  const input = tokens.safeParse(usage.raw?.['prompt_tokens']).data;
  const output = tokens.safeParse(usage.raw?.['completion_tokens']).data;
  const total =
    tokens.safeParse(usage.raw?.['total_tokens']).data ??
    (input === undefined || output === undefined ? undefined : input + output);
  if (input === undefined && output === undefined && total === undefined) return undefined;
  return {
    ...(input === undefined ? {} : { inputTokens: input }),
    ...(output === undefined ? {} : { outputTokens: output }),
    ...(total === undefined ? {} : { totalTokens: total }),
  };
}
