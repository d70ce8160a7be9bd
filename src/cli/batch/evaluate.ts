import { isObject, type Json, type JsonObject } from '../../contract/json';
import type { Comparison, Condition, Operand, Path } from './condition';

/** What a condition is asked about. */
export interface Facts {
  args: JsonObject;
  tool: string;
  agent: string;
  turn: string;
  /** How long the request waits, in milliseconds. */
  age: number;
}

/** `undefined`: it cannot be told, because something is missing or of another kind. */
type Truth = boolean | undefined;

/**
 * Whether a condition is true of a call. What cannot be told is not true, and its opposite is not true either: a call
 * without an amount is chosen neither by `args.amount < 50` nor by `not args.amount >= 50`.
 */
export function isTrueOf(condition: Condition, facts: Facts): boolean {
  return evaluate(condition, { ...facts }) === true;
}

function evaluate(condition: Condition, facts: JsonObject): Truth {
  switch (condition.kind) {
    case 'not': {
      const inner = evaluate(condition.of, facts);
      return inner === undefined ? undefined : !inner;
    }
    case 'and':
      return both(evaluate(condition.left, facts), evaluate(condition.right, facts));
    case 'or':
      return either(evaluate(condition.left, facts), evaluate(condition.right, facts));
    case 'is': {
      const value = valueOf(condition.of, facts);
      return typeof value === 'boolean' ? value : undefined;
    }
    case 'compare':
      return compare(condition.by, valueOf(condition.left, facts), valueOf(condition.right, facts));
  }
}

function both(left: Truth, right: Truth): Truth {
  if (left === false || right === false) return false;
  return left === undefined || right === undefined ? undefined : true;
}

function either(left: Truth, right: Truth): Truth {
  if (left === true || right === true) return true;
  return left === undefined || right === undefined ? undefined : false;
}

function compare(by: Comparison, left: Json | undefined, right: Json | undefined): Truth {
  if (left === undefined || right === undefined) return undefined;
  if (by === 'contains') return contains(left, right);
  if (by === '==' || by === '!=') {
    if (isObject(left) || isObject(right) || Array.isArray(left) || Array.isArray(right)) return undefined;
    const isNull = left === null || right === null;
    if (!isNull && typeof left !== typeof right) return undefined;
    return (left === right) === (by === '==');
  }
  if (typeof left === 'number' && typeof right === 'number') return order(by, left - right);
  if (typeof left === 'string' && typeof right === 'string')
    return order(by, left < right ? -1 : left > right ? 1 : 0);
  return undefined;
}

function order(by: Comparison, difference: number): boolean {
  if (by === '<') return difference < 0;
  if (by === '<=') return difference <= 0;
  return by === '>' ? difference > 0 : difference >= 0;
}

function contains(whole: Json, part: Json): Truth {
  if (typeof whole === 'string' && typeof part === 'string') return whole.includes(part);
  return Array.isArray(whole) ? whole.includes(part) : undefined;
}

function valueOf(operand: Operand, facts: JsonObject): Json | undefined {
  return 'value' in operand ? operand.value : at(facts, operand.path);
}

/** Only what is the value's own: `args.constructor` is nothing. */
function at(value: Json, [name, ...rest]: Path): Json | undefined {
  if (name === undefined) return value;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  const entries = Object.entries(value);
  const found = entries.find(([key]) => key === name)?.[1];
  return found === undefined ? undefined : at(found, rest);
}
