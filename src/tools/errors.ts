import type { Json } from '../contract/json';

/** Marks, not classes, tell these errors apart: a config file may load a second copy of this module. */
const TOOL_ERROR = Symbol.for('countersign.ToolError');
const TRANSPORT_ERROR = Symbol.for('countersign.TransportError');

export interface ToolErrorOptions {
  /** Facts for the model and the record. */
  details?: Json;
  /** Whether the same call may be tried again; has no effect on unsafe tools. @default false */
  retryable?: boolean;
  /** `conflict`: what the call was approved for has changed meanwhile, and nothing was done. @default 'tool' */
  code?: 'tool' | 'conflict';
  cause?: unknown;
}

/** Thrown by a handler: the tool says that it could not do it. The model reads the message. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly [TOOL_ERROR] = true;
  readonly details: Json | undefined;
  readonly retryable: boolean;
  readonly code: 'tool' | 'conflict';

  constructor(message: string, options: ToolErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.details = options.details;
    this.retryable = options.retryable ?? false;
    this.code = options.code ?? 'tool';
  }
}

export interface TransportErrorOptions {
  /** True only where it is proven that nothing reached the other side; the call then has no effect for sure. @default false */
  nothingSent?: boolean;
  cause?: unknown;
}

/** Thrown by a handler: the way to what does the work broke (network, subprocess). Retried, except for unsafe tools. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly [TRANSPORT_ERROR] = true;
  readonly nothingSent: boolean;

  constructor(message: string, options: TransportErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.nothingSent = options.nothingSent ?? false;
  }
}

/** Whether something thrown is a ToolError, of this or another copy of the package. */
export function isToolError(thrown: unknown): thrown is ToolError {
  return isMarked(thrown, TOOL_ERROR);
}

/** Whether something thrown is a TransportError, of this or another copy of the package. */
export function isTransportError(thrown: unknown): thrown is TransportError {
  return isMarked(thrown, TRANSPORT_ERROR);
}

function isMarked(thrown: unknown, mark: symbol): boolean {
  return thrown instanceof Error && Reflect.get(thrown, mark) === true;
}
