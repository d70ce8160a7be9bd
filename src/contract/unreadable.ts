import { isObject } from './json';

/** Why a value that was sent cannot be read. */
export interface Unreadable {
  why: string;
  /** With other settings of its worker it could be read. */
  waits: boolean;
}

/** No JSON can hold it, so nobody can send a value that passes for an unreadable one. */
const REASON = Symbol('why a value cannot be read');

/** Notes that `value`, an object, stands for something that cannot be read. */
export function noteUnreadable<T>(value: T, reason: Unreadable): T {
  if (isObject(value)) Object.defineProperty(value, REASON, { value: reason });
  return value;
}

/** Why there is nothing but an empty object; undefined where a value could be read. */
export function whyUnreadable(value: unknown): Unreadable | undefined {
  const reason: unknown = isObject(value) ? Reflect.get(value, REASON) : undefined;
  if (!isObject(reason)) return undefined;
  return { why: String(reason['why']), waits: reason['waits'] === true };
}
