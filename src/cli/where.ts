import { usageError } from '../contract/errors';
import type { JsonObject } from '../contract/json';
import type { JsonSchema } from '../contract/tool';

/** The facts for which a condition is evaluated. */
export interface WhereFacts {
  args: JsonObject;
  /** The schema of the tool, if the record has it. */
  schema?: JsonSchema | undefined;
  tool: string;
  agent: string;
  turn: string;
  /** The time that the request has waited, in milliseconds. */
  age: number;
}

/**
 * Whether a condition is true for a call. A condition that cannot be evaluated does not match, and its negation does
 * not match either. For example, a call without an amount is chosen neither by `args.amount < 50` nor by `!(args.amount
 * >= 50)`.
 */
export type Where = (facts: WhereFacts) => boolean;

/**
 * Reads a condition in CEL about one call: `args`, `tool`, `agent`, `turn`, and `age`, a duration.
 *
 * @throws CountersignError `usage`, with the place of the mistake.
 */
export async function readWhere(text: string): Promise<Where> {
  // Loaded here, so that no other command waits for CEL.
  const { celDuration, conditionArguments, readCondition } = await import('../authority/rules/condition.js');
  const read = readCondition(text, ['args', 'tool', 'agent', 'turn', 'age']);
  if (!read.ok) {
    const { message, at } = read.mistake;
    const line = text.replace(/\s/g, ' ');
    const hint = `Write conditions in CEL, such as --where 'args.amount < 50 && !args.to.contains("@evil")'.`;
    throw usageError(`--where cannot be read: ${message}\n  ${line}\n  ${' '.repeat(at)}^`, hint);
  }
  return ({ args, schema, age, ...names }) => {
    const facts = { ...names, args: conditionArguments(args, schema), age: celDuration(age) };
    return read.condition.evaluate(facts) === true;
  };
}
