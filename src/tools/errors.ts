import type { Json } from '../contract/json';
import { saysBroken } from '../contract/network-errors';

/** We recognise these errors by marks, not by classes: a config file may load a second copy of this module. */
const TOOL_ERROR = Symbol.for('countersign.ToolError');
const TRANSPORT_ERROR = Symbol.for('countersign.TransportError');
const PROVEN = Symbol.for('countersign.proven');

interface ToolErrorOptions {
  /** Facts for the model and the record. */
  details?: Json;
  /** Whether the same call may be tried again; has no effect on unsafe tools. @default false */
  retryable?: boolean;
  /** `conflict`: the approved state of things has changed since, and nothing was done. @default 'tool' */
  code?: 'tool' | 'conflict';
  cause?: unknown;
}

/** Thrown by a handler when the tool could not do its work. The model reads the message. */
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

interface TransportErrorOptions {
  /** True only if it is proven that nothing reached the other side: the call had no effect. @default false */
  nothingSent?: boolean;
  /** Facts for the model and the record, such as the error code of the other side. */
  details?: Json;
  /** Whether the same call may be tried again; has no effect on unsafe tools. @default true */
  retryable?: boolean;
  cause?: unknown;
}

/** Thrown by a handler when its connection broke (network, subprocess). Retried, except for unsafe tools. */
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
type Proven = 'nothing_done' | 'stopped';

/** The options of `nothingDone` and `stopped`. */
type ProvenOptions = Pick<ToolErrorOptions, 'details' | 'cause'>;

/**
 * An error that proves that this call changed nothing and never will. After its signal has aborted, only this error
 * and `stopped` say how an unsafe call ended; any other error that a handler throws then leaves the call in doubt.
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
 * An error that proves that this call has ended for good, although a part of its work may be done. The error carries
 * the output that the handler reported with `partial`. For work that a handler can stop for sure, such as a process on
 * this machine.
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

/** What a thrown value proves about its call. Recognises errors of another copy of the package too. */
export function provenBy(thrown: unknown): Proven | undefined {
  if (!isToolError(thrown)) return undefined;
  const proven: unknown = Reflect.get(thrown, PROVEN);
  return proven === 'nothing_done' || proven === 'stopped' ? proven : undefined;
}

/** Whether a thrown value is a ToolError, of this or another copy of the package. */
export function isToolError(thrown: unknown): thrown is ToolError {
  return isMarked(thrown, TOOL_ERROR);
}

/** Whether a thrown value is a TransportError, of this or another copy of the package. */
export function isTransportError(thrown: unknown): thrown is TransportError {
  return isMarked(thrown, TRANSPORT_ERROR);
}

function isMarked(thrown: unknown, mark: symbol) {
  try {
    return thrown instanceof Error && Reflect.get(thrown, mark) === true;
  } catch {
    // A proxy may throw at every access. Such a value has no mark.
    return false;
  }
}

/** The error types of node-fetch for a timeout. */
const TYPES: readonly unknown[] = ['body-timeout', 'request-timeout'];

/** DEADLINE_EXCEEDED and UNAVAILABLE of gRPC. */
const GRPC_CODES: readonly unknown[] = [4, 14];

/** The most errors of one chain that we read. A longer chain counts as a network error. */
const MOST_ERRORS = 32;

/**
 * True when a thrown value, or an error inside it, says that a connection broke or was given up. Never throws, whatever
 * the value's getters do.
 */
export function isNetworkError(thrown: unknown): boolean {
  const chain = [thrown];
  for (const error of chain) {
    if (chain.length > MOST_ERRORS || saysNetwork(error)) return true;
    chain.push(...causesOf(error).filter((cause) => !chain.includes(cause)));
  }
  return false;
}

function saysNetwork(error: unknown) {
  const code = read(error, 'code');
  if (GRPC_CODES.includes(code) && isGrpc(error)) return true;
  if (TYPES.includes(read(error, 'type'))) return true;
  return saysBroken({ name: read(error, 'name'), message: read(error, 'message'), code });
}

/** Whether an error comes from gRPC. A bare number may mean anything, so gRPC's details or metadata are required too. */
function isGrpc(error: unknown) {
  return ['details', 'metadata'].some((name) => read(error, name) !== undefined);
}

/**
 * The errors inside an error: its cause, the errors of an AggregateError (if one host has several addresses), and
 * the errors in its other properties, which clients name `detail`, `raw`, `originalError` or whatever they like.
 */
function causesOf(error: unknown): unknown[] {
  const errors = read(error, 'errors');
  const held = namesIn(error).map((name) => read(error, name));
  const listed = namesIn(errors).map((name) => read(errors, name));
  return [read(error, 'cause'), ...listed, ...held.filter(isError)].filter(isObject);
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

function isError(value: unknown) {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

function namesIn(value: unknown) {
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
    // A property that cannot be read counts as missing.
    return undefined;
  }
}
