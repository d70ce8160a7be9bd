import { errorMessage } from '../errors';
import { isObject, isPlainObject, type Json } from '../json';
import { JSON_LEVELS } from '../limits';
import type { JsonSchema } from '../tool';
import { assertReadable, compilePattern } from './pattern';
import { DATA_KEYWORDS, findReference } from './reference';

/**
 * Checks that a schema can be used for the arguments of a tool, and returns a copy of it. Such a schema is plain JSON
 * and has an object at its root. It requires only parameters that it has. Each of its patterns compiles, and each of
 * its references leads to a part of the schema.
 *
 * @throws Error with the broken rule as its message.
 */
export function assertUsableSchema(given: unknown): JsonSchema {
  const schema = toPlainJson(given);
  if (schema['type'] !== 'object') throw new Error('the root of the schema must have `type: "object"`');
  assertRequiredExist(schema);
  assertPatterns(schema);
  assertInside(schema, schema);
  return schema;
}

/** A copy of a schema that shares nothing with the original. @throws Error if the schema is not plain JSON. */
export function toPlainJson(given: unknown): JsonSchema {
  const copy = isObject(given) ? plainCopy(given, JSON_LEVELS) : undefined;
  if (isObject(copy)) return copy;
  throw notPlain();
}

/** A copy of plain JSON. Not made with zod, which needs a second for a thousand schemas. */
function plainCopy(value: unknown, levels: number): Json {
  if (levels === 0) throw notPlain();
  if (Array.isArray(value)) return Array.from(value, (item: unknown) => plainCopy(item, levels - 1));
  if (isPlainObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, below]) => [key, plainCopy(below, levels - 1)]),
    );
  const isLeaf = value === null || typeof value === 'string' || typeof value === 'boolean';
  if (isLeaf || (typeof value === 'number' && Number.isFinite(value))) return value;
  throw notPlain();
}

function notPlain(): Error {
  return new Error(
    `the schema must be plain JSON of at most ${JSON_LEVELS} levels (no functions, undefined or dates)`,
  );
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

/** The largest `maxItems` that a list with `uniqueItems` may have. */
const MOST_UNIQUE = 1000;

/** The most characters of a pattern that a message repeats. */
const MOST_SHOWN = 100;

/** Checks patterns now. The validator compiles them only when arguments reach them, which is too late. */
function assertPatterns(schema: JsonSchema): void {
  const patterns = patternsIn(schema);
  try {
    assertReadable(patterns);
  } catch (error) {
    throw new Error(`the patterns of the schema are too large together: ${errorMessage(error)}`, {
      cause: error,
    });
  }
  patterns.forEach(assertPattern);
}

function patternsIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(patternsIn);
  if (!isObject(node)) return [];
  const { pattern, patternProperties } = node;
  const below = Object.entries(node).filter(([key]) => !DATA_KEYWORDS.includes(key));
  return [
    ...(typeof pattern === 'string' ? [pattern] : []),
    ...(isObject(patternProperties) ? Object.keys(patternProperties) : []),
    ...below.flatMap(([, child]) => patternsIn(child)),
  ];
}

/** Checks references and lists now, for the same reason. */
function assertInside(node: unknown, root: JsonSchema): void {
  if (Array.isArray(node)) for (const item of node) assertInside(item, root);
  if (!isObject(node)) return;
  if (typeof node['$ref'] === 'string') assertReference(node['$ref'], root);
  if (node['uniqueItems'] === true) assertShort(node['maxItems']);
  for (const [key, child] of Object.entries(node)) {
    if (!DATA_KEYWORDS.includes(key)) assertInside(child, root);
  }
}

/** Whether a pattern can be matched in linear time. */
export function isUsablePattern(pattern: string): boolean {
  try {
    compilePattern(pattern);
    return true;
  } catch {
    return false;
  }
}

function assertPattern(pattern: string): void {
  try {
    compilePattern(pattern);
  } catch (error) {
    const shown = pattern.length > MOST_SHOWN ? `${pattern.slice(0, MOST_SHOWN)}…` : pattern;
    throw new Error(
      `the pattern ${shown} is not one that can be matched in linear time (no look-around, no back-references, few repetitions): ${errorMessage(error)}`,
      { cause: error },
    );
  }
}

function assertShort(maxItems: unknown): void {
  if (typeof maxItems === 'number' && maxItems <= MOST_UNIQUE) return;
  throw new Error(`\`uniqueItems\` needs \`maxItems\` of at most ${MOST_UNIQUE} beside it`);
}

function assertReference(reference: string, root: JsonSchema): void {
  if (!reference.startsWith('#')) throw new Error(`$ref ${reference} leads outside the schema`);
  if (findReference(root, reference) === undefined) throw new Error(`$ref ${reference} leads nowhere`);
}
