import type { FINAL_FAILURES, RETRIED_FAILURES } from '../contract/names';
import type { Usage } from '../contract/spending/usage';
import type { FunctionSchema } from '../tools/types';

/** One message of the conversation, as models read it. */
export type ModelMessage =
  | { role: 'user'; content: string; files?: ModelFile[] }
  | { role: 'assistant'; content: string; toolCalls: ModelCall[]; opaque?: string }
  | { role: 'tool'; toolCallId: string; toolName: string; content: string };

/** A file that a person sent with a message, of a media type that the model takes. The message names the file, too. */
export interface ModelFile {
  name: string;
  mediaType: string;
  bytes: Uint8Array;
}

/** A call that a model asks for. `arguments` is the raw text, which a model's adapter never parses. */
export interface ModelCall {
  /** Absent if the provider gives no id. */
  id?: string;
  name: string;
  arguments: string;
}

export interface ModelRequest {
  instructions: string;
  messages: ModelMessage[];
  tools: FunctionSchema[];
  /** Aborts when the turn is cancelled and when the time is over. */
  signal: AbortSignal;
  /** Called with the words of the reply as they arrive. Only the returned reply counts. */
  onText?: (text: string) => void;
}

/** A model's reply. Without calls, `text` is the answer of the turn. */
export interface ModelReply {
  text: string;
  toolCalls: ModelCall[];
  /** `stop`, `tool-calls`, `length`, `content-filter`, … as the provider says. */
  finishReason: string;
  usage?: Usage;
  /**
   * Data that the provider wants back with this reply in later requests, such as signatures of its reasoning. The data
   * is recorded, shown nowhere, and sent back unchanged in the `opaque` of the assistant's message. Another model may
   * also get this data, because a model ignores data that it did not make. Data over 128 KiB is left out.
   */
  opaque?: string;
  /** What the model thought. Only where it wrote neither text nor calls. */
  thoughts?: string;
}

/**
 * A model. Each call is one attempt without retries of its own, because Temporal retries. A model throws ModelError.
 * Any other error counts as retryable.
 *
 * @example
 * const echo: Model = {
 *   id: 'echo',
 *   generate: async ({ messages }) => ({ text: String(messages.at(-1)?.content), toolCalls: [], finishReason: 'stop' }),
 * };
 */
export interface Model {
  /** The id that the timeline shows, such as `openai:gpt-5`. */
  readonly id: string;
  /**
   * Media types of the files that the model takes, such as `application/pdf`. A text such as `image/*` stands for a
   * whole kind. For any other file the model reads only that the file exists, and for a text file also its text.
   * @default none
   */
  readonly takes?: readonly string[];
  /** Where the model is and what it is asked with, for people. No secret. */
  readonly about?: string;
  generate(request: ModelRequest): Promise<ModelReply>;
}

/** Why a model failed. `rate_limit`, `timeout`, `server` and `network` are retried; `auth`, `refused` and `request` are not. */
export type ModelErrorKind = (typeof RETRIED_FAILURES | typeof FINAL_FAILURES)[number];

/** A model's failure, and how Temporal should retry it. */
export class ModelError extends Error {
  override readonly name = 'ModelError';

  constructor(
    readonly kind: ModelErrorKind,
    message: string,
    /** `usage`: the tokens that the model used before it failed. */
    readonly options: { retryable: boolean; retryAfterMs?: number; usage?: Usage; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
  }
}
