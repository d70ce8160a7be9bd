import type { Usage } from '../contract/think';
import type { FunctionSchema } from '../tools/types';

/** One message of the conversation, as models read it. */
export type ModelMessage =
  | { role: 'user'; content: string }
  | { role: 'assistant'; content: string; toolCalls: ModelCall[] }
  | { role: 'tool'; toolCallId: string; toolName: string; content: string };

/** One call a model asks for; `arguments` is the raw text, never parsed by the model's adapter. */
export interface ModelCall {
  /** Some providers give none. */
  id?: string;
  name: string;
  arguments: string;
}

export interface ModelRequest {
  instructions: string;
  messages: ModelMessage[];
  tools: FunctionSchema[];
  /** Aborts on cancellation and when the time is over. */
  signal: AbortSignal;
}

/** What a model answered. No calls: `text` is the answer of the turn. */
export interface ModelReply {
  text: string;
  toolCalls: ModelCall[];
  /** `stop`, `tool-calls`, `length`, `content-filter`, … as the provider says. */
  finishReason: string;
  usage?: Usage;
}

/**
 * A model. Contract: one attempt a call, no retries of its own (Temporal retries); failures are thrown as ModelError,
 * anything else that is thrown counts as retryable.
 */
export interface Model {
  /** Shown in the timeline, such as `openai/gpt-5`. */
  readonly id: string;
  generate(request: ModelRequest): Promise<ModelReply>;
}

/** Why a model failed. `rate_limit`, `timeout`, `server` and `network` are retried; `auth`, `refused` and `request` are not. */
export type ModelErrorKind = 'rate_limit' | 'timeout' | 'server' | 'network' | 'auth' | 'refused' | 'request';

/** A model's failure, with what Temporal needs to retry it well. */
export class ModelError extends Error {
  override readonly name = 'ModelError';

  constructor(
    readonly kind: ModelErrorKind,
    message: string,
    readonly options: { retryable: boolean; retryAfterMs?: number; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
  }
}
