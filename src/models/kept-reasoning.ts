import type { LanguageModelV3Message } from '@ai-sdk/provider';
import { z } from 'zod';
import { parseJson } from '../contract/json';

type AssistantParts = Extract<LanguageModelV3Message, { role: 'assistant' }>['content'];
/** A call of an earlier reply. */
export type SdkCall = Extract<Exclude<AssistantParts, string>[number], { type: 'tool-call' }>;

/** A part of a reply while it is put together. */
export interface GatheredPart {
  type: 'text' | 'reasoning' | 'call';
  text: string;
  meta: Record<string, Record<string, unknown>>;
}

/** Data of a provider about a part, which is sent back unchanged. Other data is left out. */
const metaSchema = z.record(z.string(), z.record(z.string(), z.json())).optional().catch(undefined);

/** A part of a reply in its order: reasoning with its words, text by its length, or the next call. */
const partSchema = z.union([
  z.strictObject({ reasoning: z.string(), meta: metaSchema }),
  z.strictObject({ text: z.number(), meta: metaSchema }),
  z.strictObject({ call: z.literal(true), meta: metaSchema }),
]);
/** A part of a reply, as it is kept to be sent back. */
type OpaquePart = z.infer<typeof partSchema>;

const opaqueSchema = z.strictObject({ by: z.string(), parts: z.array(partSchema) });

/** The parts of a reply, if this model made it. */
export function readOpaque(opaque: string | undefined, by: string): OpaquePart[] | undefined {
  const read = opaqueSchema.safeParse(parseJson(opaque ?? '')).data;
  return read?.by === by ? read.parts : undefined;
}

/** The reply with its parts in their order. Undefined if the parts no longer fit its text or calls. */
export function restoredParts(
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
    const meta = part.meta && { providerOptions: part.meta };
    if ('reasoning' in part) return [{ type: 'reasoning', text: part.reasoning, ...meta }];
    if ('call' in part) return rest.calls.splice(0, 1).map((call) => ({ ...call, ...meta }));
    const words = rest.text.slice(0, part.text);
    rest.text = rest.text.slice(part.text);
    return [{ type: 'text', text: words, ...meta }];
  });
}

/** The data that has to be sent back besides text and calls. Undefined if there is no such data. */
export function opaqueOf(gathered: readonly GatheredPart[], by: string): string | undefined {
  const isPlain = gathered.every(({ type, meta }) => type !== 'reasoning' && Object.keys(meta).length === 0);
  if (isPlain) return undefined;
  const parts = gathered.map(({ type, text, meta }) => {
    const more = Object.keys(meta).length === 0 ? {} : { meta };
    if (type === 'reasoning') return { reasoning: text, ...more };
    return type === 'text' ? { text: text.length, ...more } : { call: true, ...more };
  });
  return JSON.stringify({ by, parts });
}
