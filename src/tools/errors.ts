import type { Json } from '../contract/json';
import { saysBroken } from '../contract/network-errors';

/** Marks, not classes, tell these errors apart: a config file may load a second copy of this module. */
const TOOL_ERROR = Symbol.for('countersign.ToolError');
const TRANSPORT_ERROR = Symbol.for('countersign.TransportError');
const PROVEN = Symbol.for('countersign.proven');

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
  /** Facts for the model and the record, such as the code that the other side answered. */
  details?: Json;
  /** Whether the same call may be tried again; has no effect on unsafe tools. @default true */
  retryable?: boolean;
  cause?: unknown;
}

/** Thrown by a handler: the way to what does the work broke (network, subprocess). Retried, except for unsafe tools. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly [TRANSPORT_ERROR] = true;
  readonly nothingSent: boolean;
  readonly details: Json | undefined;
  readonly retryable: boolean;

  constructor(message: string, options: TransportErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.nothingSent = options.nothingSent ?? false;
    this.details = options.details;
    this.retryable = options.retryable ?? true;
  }
}

/** What a handler can prove about a call whose signal has aborted. */
export type Proven = 'nothing_done' | 'stopped';

/** What an error that proves something can carry. */
export type ProvenOptions = Pick<ToolErrorOptions, 'details' | 'cause'>;

/**
 * An error that proves that this call changed nothing and never will. After its signal has aborted, only this error
 * and `stopped` tell how an unsafe call ended; whatever else a handler throws then leaves the call in doubt.
 *
 * @param message for the model: why nothing was done.
 * @example
 * async handler({ order, cents }, { signal, idempotencyKey }) {
 *   const account = await readAccount(order, { signal }).catch((cause) => {
 *     throw nothingDone('the account could not be read', { cause });
 *   });
 *   if (signal.aborted) throw nothingDone('stopped before anything was sent');
 *   return bank.pay(account, cents, { key: idempotencyKey, signal });
 * }
 */
export function nothingDone(message: string, options: ProvenOptions = {}): ToolError {
  return Object.assign(new ToolError(message, options), { [PROVEN]: 'nothing_done' });
}

/**
 * An error that proves that this call has ended for good, although a part of its work may be done. What it gave by
 * `partial` goes with it. For work that a handler can stop and see stopped, such as a process on this machine.
 *
 * @param message for the model: how it ended.
 * @example
 * async handler({ table }, { signal, partial }) {
 *   const copy = startCopy(table, { onRow: (row) => partial(`${row}\n`) });
 *   signal.addEventListener('abort', () => copy.kill());
 *   const end = await copy.ended;
 *   if (end.killed) throw stopped(`the copy was ended after ${end.rows} rows`);
 *   return `${end.rows} rows`;
 * }
 */
export function stopped(message: string, options: ProvenOptions = {}): ToolError {
  return Object.assign(new ToolError(message, options), { [PROVEN]: 'stopped' });
}

/** What something thrown proves of its call, thrown by this or another copy of the package. */
export function provenBy(thrown: unknown): Proven | undefined {
  if (!isToolError(thrown)) return undefined;
  const proven: unknown = Reflect.get(thrown, PROVEN);
  return proven === 'nothing_done' || proven === 'stopped' ? proven : undefined;
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
  try {
    return thrown instanceof Error && Reflect.get(thrown, mark) === true;
  } catch {
    // A proxy may throw at any look; such a thing has no mark.
    return false;
  }
}

/** What node-fetch calls a body that did not come in time. */
const TYPES: readonly unknown[] = ['body-timeout', 'request-timeout'];

/** DEADLINE_EXCEEDED and UNAVAILABLE of gRPC. */
const GRPC_CODES: readonly unknown[] = [4, 14];

/** As many errors of one chain are looked at. A chain that is longer cannot be read to its end. */
const MOST_ERRORS = 32;

/**
 * Whether something thrown says, itself or by an error that it holds, that a connection broke or was given up. Never
 * throws, whatever its getters do.
 */
export function isNetworkError(thrown: unknown): boolean {
  const chain = [thrown];
  for (const error of chain) {
    if (chain.length > MOST_ERRORS || saysNetwork(error)) return true;
    chain.push(...causesOf(error).filter((cause) => !chain.includes(cause)));
  }
  return false;
}

function saysNetwork(error: unknown): boolean {
  const code = read(error, 'code');
  if (GRPC_CODES.includes(code) && isGrpc(error)) return true;
  if (TYPES.includes(read(error, 'type'))) return true;
  return saysBroken({ name: read(error, 'name'), message: read(error, 'message'), code });
}

/** A bare number may mean anything; beside it gRPC has its details or metadata, and a message that starts with both. */
function isGrpc(error: unknown): boolean {
  const hasDetails = ['details', 'metadata'].some((name) => read(error, name) !== undefined);
  return hasDetails || /^(4 DEADLINE_EXCEEDED|14 UNAVAILABLE)\b/.test(String(read(error, 'message')));
}

/**
 * Its cause, the errors of an AggregateError, which several addresses of one host lead to, and every other error that
 * it holds: clients name theirs `detail`, `raw`, `originalError` or whatever they like.
 */
function causesOf(error: unknown): unknown[] {
  const errors = read(error, 'errors');
  const held = namesIn(error).map((name) => read(error, name));
  const listed = namesIn(errors).map((name) => read(errors, name));
  return [read(error, 'cause'), ...listed, ...held.filter(isError)].filter(isObject);
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function isError(value: unknown): boolean {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

function namesIn(value: unknown): string[] {
  try {
    return isObject(value) ? Object.getOwnPropertyNames(value).slice(0, MOST_ERRORS) : [];
  } catch {
    return [];
  }
}

function read(error: unknown, name: string): unknown {
  try {
    return isObject(error) ? Reflect.get(error, name) : undefined;
  } catch {
    // What cannot be read says nothing.
    return undefined;
  }
}
