import { isObject, type Json, type JsonObject } from '../json';
import { asMeant } from './meant-arguments';
import { SchemaChecker } from './check-value';
import { isSchema } from './reference';
import type { Issue, JsonSchema } from '../tool';

/**
 * Checks a value against a JSON Schema (2020-12). Returns at most 20 issues. Empty: the value fits. Never throws: a
 * value that is not JSON does not fit, and nothing fits a schema that cannot be followed. The time is linear in the
 * value, and bounded for any schema. The schema is interpreted, so this runs in the workflow sandbox.
 */
export function checkSchema(schema: JsonSchema, value: unknown): Issue[] {
  return schemaCheck(schema)(value);
}

/** `checkSchema` for many values of one schema. The schema is read once and must not change in between. */
export function schemaCheck(schema: JsonSchema): (value: unknown) => Issue[] {
  let checker: SchemaChecker | undefined;
  return (value) => {
    try {
      checker ??= new SchemaChecker(schema);
      return checker.issuesOf(value);
    } catch (error) {
      return [{ path: '', message: error instanceof Error ? error.message : 'it cannot be checked' }];
    }
  };
}

/** Whether values fit one schema, if nobody asks why not. The schema must not change in between. */
export function schemaFit(schema: JsonSchema): (value: unknown) => boolean {
  let checker: SchemaChecker | undefined;
  return (value) => {
    try {
      checker ??= new SchemaChecker(schema);
      return checker.fits(value);
    } catch {
      return false;
    }
  };
}

/** Keywords that judge the keys of an object together. */
const TOGETHER = [
  ...['not', 'if', 'allOf', 'anyOf', 'oneOf', 'minProperties', 'maxProperties', 'propertyNames'],
  ...['dependentRequired', 'dependentSchemas', 'dependencies'],
];

/**
 * Arguments as `asMeant` reads them, with the `default`s of the schema filled in, at every depth of its objects, lists
 * and records. It never changes a value that is there and is meant. It does not look into `anyOf` and similar keywords,
 * because only the validator knows which branch applies. If only the defaults make the arguments unfit, they are left
 * out.
 */
export function applyDefaults(
  schema: JsonSchema,
  value: JsonObject,
  options?: Parameters<typeof asMeant>[2],
): JsonObject {
  const { value: meant } = asMeant(schema, value, options);
  const filled = fillDefaults(schema, meant);
  if (!TOGETHER.some((keyword) => schema[keyword] !== undefined)) return filled;
  const fits = schemaFit(schema);
  return fits(filled) || !fits(meant) ? filled : meant;
}

function fillDefaults(schema: JsonSchema, value: JsonObject): JsonObject {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const filled: JsonObject = { ...value };
  for (const [name, property] of Object.entries(properties)) {
    if (!isSchema(property)) continue;
    const current = Object.hasOwn(filled, name) ? filled[name] : property['default'];
    if (current === undefined) continue;
    filled[name] = defaultsBelow(property, current);
  }
  const others = schema['additionalProperties'];
  if (!isSchema(others)) return filled;
  const unnamed = Object.entries(value).filter(([name]) => !Object.hasOwn(properties, name));
  const below = unnamed.map(([name, current]) => [name, defaultsBelow(others, current)] as const);
  return { ...filled, ...Object.fromEntries(below) };
}

/** `applyDefaults` for a schema that may be unknown. */
export function withDefaults(schema: JsonSchema | undefined, value: JsonObject): JsonObject {
  return schema === undefined ? value : applyDefaults(schema, value);
}

/** A value with the defaults of the objects in it. */
export function defaultsBelow(schema: JsonObject, value: Json): Json {
  const { items, prefixItems } = schema;
  if (Array.isArray(value))
    return isSchema(items) && prefixItems === undefined
      ? value.map((item) => defaultsBelow(items, item))
      : value;
  return isSchema(value) ? fillDefaults(schema, value) : value;
}
