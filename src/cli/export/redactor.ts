import { isObject } from '../../contract/json';
import type { Rewriter } from '../../history/bundle';
import { redactSecrets } from '../../tools/redact';
import { redactText } from '../../tools/redact-text';
import { createKnownSecrets, type KnownSecrets } from './known-secrets';

/** A rewriter, and how many values it changed so far. */
export interface Redactor extends Rewriter {
  taken(): number;
}

/** Keeps everything as it is. */
export const keepAll: Redactor = { value: (value) => value, text: (text) => text, taken: () => 0 };

/** Takes secrets out, by their names and by their shapes, and what `known` has learnt by any other way. */
export function createRedactor(
  known: Pick<KnownSecrets, 'hide' | 'hideText'> = createKnownSecrets(),
): Redactor {
  let taken = 0;
  const counted = <T>(before: T, after: T): T => {
    taken += countChanges(before, after);
    return after;
  };
  return {
    value: (value) => counted(value, known.hide(redactPayload(value))),
    text: (text) => counted(text, known.hideText(redactText(text))),
    taken: () => taken,
  };
}

/** Changes nothing, and learns which secrets there are. */
export function learner(known: Pick<KnownSecrets, 'learn'>): Rewriter {
  return {
    value: (value) => {
      known.learn(value, redactPayload(value));
      return value;
    },
    text: (text) => text,
  };
}

/** Where a property is called `password` its schema is no secret, and a replay needs it. */
const SCHEMAS: readonly string[] = ['schema', 'schemas'];

function redactPayload(value: unknown): unknown {
  if (!isObject(value)) return redactSecrets(value);
  const kept = Object.keys(value).filter((name) => SCHEMAS.includes(name));
  const rest = redactSecrets(value);
  if (kept.length === 0 || !isObject(rest)) return rest;
  return { ...rest, ...Object.fromEntries(kept.map((name) => [name, redactTexts(value[name])])) };
}

function redactTexts(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map(redactTexts);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redactTexts(item)]));
}

function countChanges(before: unknown, after: unknown): number {
  if (isObject(before) && isObject(after))
    return sum(Object.keys(before).map((name) => countChanges(before[name], after[name])));
  if (Array.isArray(before) && Array.isArray(after))
    return sum(before.map((item, index) => countChanges(item, after[index])));
  return before === after ? 0 : 1;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
