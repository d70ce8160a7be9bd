import { z } from 'zod';
import { isObject } from '../contract/json';
import { checkSchema } from '../contract/schema';
import type { JsonSchema } from '../contract/tool';

/**
 * A copy of a schema that is plain JSON, has an object at its root, names only required parameters it has,
 * and can be interpreted: every pattern compiles and every reference leads somewhere inside it.
 *
 * @throws Error with the broken rule as its message.
 */
export function assertUsableSchema(given: unknown): JsonSchema {
  const schema = toPlainJson(given);
  if (schema['type'] !== 'object') throw new Error('the root of the schema must have `type: "object"`');
  assertRequiredExist(schema);
  assertInside(schema, schema);
  probe(schema);
  return schema;
}

function toPlainJson(given: unknown): JsonSchema {
  const parsed = z.record(z.string(), z.json()).safeParse(given);
  if (!parsed.success) throw new Error('the schema must be plain JSON (no functions, undefined or dates)');
  return parsed.data;
}

function assertRequiredExist(schema: JsonSchema): void {
  const required = schema['required'] ?? [];
  const properties = schema['properties'] ?? {};
  if (!isObject(properties)) throw new Error('`properties` of the schema must be an object');
  if (!Array.isArray(required)) throw new Error('`required` must be a list of names');
  const missing = required.filter((name) => typeof name !== 'string' || !Object.hasOwn(properties, name));
  if (missing.length > 0)
    throw new Error(`required parameter ${missing.join(', ')} is not among the parameters`);
}

/** Patterns and references are read by the validator only when arguments reach them, which is too late. */
function assertInside(node: unknown, root: JsonSchema): void {
  if (Array.isArray(node)) for (const item of node) assertInside(item, root);
  if (!isObject(node)) return;
  if (typeof node['pattern'] === 'string') assertPattern(node['pattern']);
  if (typeof node['$ref'] === 'string') assertReference(node['$ref'], root);
  for (const [key, child] of Object.entries(node)) {
    if (!DATA_KEYWORDS.has(key)) assertInside(child, root);
  }
}

/** Keywords whose values are data and not schemas. */
const DATA_KEYWORDS = new Set(['const', 'enum', 'default', 'examples']);

function assertPattern(pattern: string): void {
  try {
    new RegExp(pattern, 'u');
  } catch (error) {
    throw new Error(`the pattern ${pattern} is no regular expression with the u flag`, { cause: error });
  }
}

function assertReference(reference: string, root: JsonSchema): void {
  if (!reference.startsWith('#')) throw new Error(`$ref ${reference} leads outside the schema`);
  if (reference !== '#' && !reference.startsWith('#/')) return;
  const steps = reference.split('/').slice(1).map(decodeStep);
  let node: unknown = root;
  for (const step of steps) {
    node =
      isObject(node) || Array.isArray(node)
        ? Object.entries(node).find(([key]) => key === step)?.[1]
        : undefined;
  }
  if (node === undefined) throw new Error(`$ref ${reference} leads nowhere`);
}

function decodeStep(step: string): string {
  return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
}

function probe(schema: JsonSchema): void {
  try {
    checkSchema(structuredClone(schema), {});
  } catch (error) {
    throw new Error(`the schema cannot be interpreted: ${String(error)}`, { cause: error });
  }
}
