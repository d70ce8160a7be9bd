import type { PreparedCall, TurnOrigin } from './call';
import type { Json } from './json';
import type { JsonSchema, Order } from './tool';

/** Input of `countersign.think`: never the conversation, only what is new since the last reply. */
export interface ThinkInput {
  agent: string;
  /** Of the turn. */
  origin?: TurnOrigin;
  /** One of the agent's `models`, by name; absent: its own. */
  model?: string;
  /** Counts from 1. */
  step: number;
  /** The reply that the conversation so far ends with, and how many entries that makes. Absent in the first step. */
  after?: { replyId: string; count: number };
  /** New words of a person. */
  words: string[];
  /** One for each call of the last reply, in its order. */
  results: ResultRef[];
  /** Outputs before this entry are dropped; see `dropOutputs`. */
  droppedBefore: number;
  /** The most bytes of each of these results; see `cutContent`. Absent: they are whole. */
  cutTo?: number;
}

/** A result by name; the text is in the worker's memory or in the `transcript` query. `text` only where history has it nowhere else. */
export interface ResultRef {
  callId: string;
  /** SHA-256 (hex) of the content, before it was cut. */
  digest: string;
  success: boolean;
  text?: string;
}

/** Tokens used by one model reply, as the provider counts them. What is absent was not counted, or is none. */
export interface Usage {
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  /** Of the input: what the provider had in its cache. */
  cachedInputTokens?: number;
  /** Of the input: what it put there. */
  cacheWriteTokens?: number;
  /** Of the output: what the model thought. */
  reasoningTokens?: number;
  /** What it cost by the user's own prices, in their currency; see `prices` of `defineConfig`. */
  cost?: number;
}

const USAGE_KEYS = [
  'inputTokens',
  'outputTokens',
  'totalTokens',
  'cachedInputTokens',
  'cacheWriteTokens',
  'reasoningTokens',
  'cost',
] as const;

/** A cost is kept to this part of the currency, so that sums are the same in whatever order. */
const COST_PARTS = 1e9;

/** Two usages as one. What neither has stays absent. */
export function addUsage(sum: Usage, more: Usage = {}): Usage {
  const total = { ...sum };
  for (const key of USAGE_KEYS) {
    const some = more[key];
    if (some !== undefined) total[key] = Math.round(((total[key] ?? 0) + some) * COST_PARTS) / COST_PARTS;
  }
  return total;
}

/** The usage of several replies as one. */
export function sumUsage(replies: readonly { usage?: Usage }[]): Usage {
  return replies.reduce<Usage>((sum, { usage }) => addUsage(sum, usage), {});
}

/** What a model costs, for a million tokens each, in the user's own currency. */
export interface ModelPrice {
  input: number;
  output: number;
  /** Input that the provider had in its cache. @default input */
  cachedInput?: number;
  /** Input that it put there. @default input */
  cacheWrite?: number;
}

/** A usage with what it cost, where there is a price for the model: its id, or the longest head of it that ends with `*`. */
export function priced(
  usage: Usage | undefined,
  prices: Readonly<Record<string, ModelPrice>> | undefined,
  model: string,
): Usage | undefined {
  const price = priceOf(prices ?? {}, model);
  if (usage === undefined || price === undefined) return usage;
  const {
    inputTokens = 0,
    outputTokens = 0,
    cachedInputTokens: cached = 0,
    cacheWriteTokens: written = 0,
  } = usage;
  const { input, output, cachedInput = input, cacheWrite = input } = price;
  const plain = Math.max(0, inputTokens - cached - written);
  const millionfold = plain * input + cached * cachedInput + written * cacheWrite + outputTokens * output;
  return addUsage(usage, { cost: millionfold / 1e6 });
}

function priceOf(prices: Readonly<Record<string, ModelPrice>>, model: string): ModelPrice | undefined {
  if (Object.hasOwn(prices, model)) return prices[model];
  const [best] = Object.keys(prices)
    .filter((name) => name.endsWith('*') && model.startsWith(name.slice(0, -1)))
    .sort((a, b) => b.length - a.length);
  return best === undefined ? undefined : prices[best];
}

/** Output of `countersign.think`. No calls: `text` is the answer. */
export interface ThinkOutput {
  /** Random for each attempt. */
  replyId: string;
  text: string;
  calls: PreparedCall[];
  /** JSON Schemas by tool digest, for the tools whose calls wait for a decision: edits are checked against them. */
  schemas: Record<string, JsonSchema>;
  model: string;
  finishReason: string;
  usage?: Usage;
  /** What the provider wants back with this reply; see `ModelReply`. */
  opaque?: string;
  /** The answer as the value that the agent's `output` asks for. */
  value?: Json;
  order: Order;
  maxSteps: number;
}

/** Input of `countersign.prepare`: one call, for the worker that has its tool, or a file proposal with new arguments. */
export interface PrepareInput {
  agent: string;
  origin?: TurnOrigin;
  callId: string;
  id: string;
  tool: string;
  raw: string;
}

/** Output of `countersign.prepare`. */
export interface PrepareOutput {
  call: PreparedCall;
  schema?: JsonSchema;
}
