import { isObject } from './json';

/** Why a value that was sent cannot be read. */
interface Unreadable {
  why: string;
  /** Whether the value could be read with other settings of its worker. */
  waits: boolean;
}

/**
 * The key that holds the reason. JSON cannot hold a symbol, so nobody can send a value that passes for an unreadable
 * one.
 */
const REASON = Symbol('why a value cannot be read');

/** Marks `value`, an object, as the stand-in for a value that cannot be read. */
export function noteUnreadable<T>(value: T, reason: Unreadable): T {
  if (isObject(value)) Object.defineProperty(value, REASON, { value: reason });
  return value;
}

/** Why a value could not be read. Undefined if the value could be read. */
export function whyUnreadable(value: unknown): Unreadable | undefined {
  const reason: unknown = isObject(value) ? Reflect.get(value, REASON) : undefined;
  if (!isObject(reason)) return undefined;
  return { why: String(reason['why']), waits: reason['waits'] === true };
}
