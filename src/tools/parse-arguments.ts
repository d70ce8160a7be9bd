import { isObject, type JsonObject } from '../contract/json';
import { LIMITS } from '../contract/limits';
import type { Issue } from '../contract/tool';
import { findJsonTraps } from './json-traps';

/** Arguments as an object; or why the text is none. */
export type ArgumentsText = { ok: true; value: JsonObject } | { ok: false; issues: Issue[] };

/**
 * Reads the arguments of a call strictly: one JSON object and nothing else. Duplicate keys at any depth, text after it,
 * another kind of value, more than 128 KiB, more than 64 levels, a key `__proto__` and numbers that JavaScript would
 * change are errors for the model to mend; nothing is ever repaired.
 *
 * Empty text means `{}`: OpenAI-compatible servers send it for tools without parameters, and the schema still
 * refuses it where something is required.
 */
export function parseArguments(raw: string): ArgumentsText {
  if (raw === '') return { ok: true, value: {} };
  const bytes = Buffer.byteLength(raw);
  if (bytes > LIMITS.argumentsBytes) {
    return wrong(`the arguments have ${bytes} bytes; at most ${LIMITS.argumentsBytes} are allowed`);
  }
  return readObject(raw);
}

function readObject(raw: string): ArgumentsText {
  let value: unknown;
  try {
    value = JSON.parse(raw);
  } catch (error) {
    return wrong(
      `the arguments are no valid JSON: ${error instanceof Error ? error.message : 'it cannot be read'}`,
    );
  }
  if (!isJsonObject(value)) return wrong(`the arguments must be a JSON object, not ${kindOf(value)}`);
  const issues = findJsonTraps(raw);
  return issues.length > 0 ? { ok: false, issues } : { ok: true, value };
}

// JSON.parse makes nothing but JSON.
function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`;
}

function wrong(message: string): ArgumentsText {
  return { ok: false, issues: [{ path: '', message }] };
}
