import { Validator } from '@cfworker/json-schema';
import { isObject, type JsonObject } from './json';
import type { Issue, JsonSchema } from './tool';

/**
 * Checks a value against a JSON Schema (2020-12). Empty: it fits. Never throws: what is no JSON, or a schema that
 * cannot be followed, does not fit. Interprets the schema, so it runs in the workflow sandbox.
 */
export function checkSchema(schema: JsonSchema, value: unknown): Issue[] {
  return schemaCheck(schema)(value);
}

/** `checkSchema` for many values of one schema, which is read once. It must not change in between. */
export function schemaCheck(schema: JsonSchema): (value: unknown) => Issue[] {
  let validator: Validator | undefined;
  return (value) => {
    try {
      validator ??= new Validator(schema, '2020-12', false);
      const { valid, errors } = validator.validate(value);
      return valid ? [] : toIssues(errors);
    } catch (error) {
      return [{ path: '', message: error instanceof Error ? error.message : 'it cannot be checked' }];
    }
  };
}

/** Keywords that only say that something below them failed. */
const WRAPPERS = [
  'properties',
  'items',
  'prefixItems',
  '$ref',
  'allOf',
  'additionalItems',
  'additionalProperties',
];

interface SchemaError {
  keyword: string;
  instanceLocation: string;
  error: string;
}

function toIssues(errors: readonly SchemaError[]): Issue[] {
  const plain = errors.filter(({ keyword }) => !WRAPPERS.includes(keyword));
  const issues = plain.filter((error) => !isEcho(error, plain)).map(toIssue);
  return issues.length > 0 ? issues : [{ path: '', message: 'does not fit the schema' }];
}

/** The validator also reports a known property that failed as an unknown one. */
function isEcho(error: SchemaError, all: readonly SchemaError[]): boolean {
  if (error.keyword !== 'false') return false;
  return all.some(
    ({ keyword, instanceLocation }) => keyword !== 'false' && isWithin(instanceLocation, error),
  );
}

function isWithin(location: string, { instanceLocation }: SchemaError): boolean {
  return location === instanceLocation || location.startsWith(`${instanceLocation}/`);
}

function toIssue({ keyword, instanceLocation, error }: SchemaError): Issue {
  const message = keyword === 'false' ? 'is not a known property' : error;
  return { path: instanceLocation.replace(/^#/, ''), message };
}

/** Fills in the `default`s of a schema, at every depth of its objects; never changes what is there. */
export function applyDefaults(schema: JsonSchema, value: JsonObject): JsonObject {
  const properties = isObject(schema['properties']) ? schema['properties'] : {};
  const filled: JsonObject = { ...value };
  for (const [name, property] of Object.entries(properties)) {
    if (!isJsonSchema(property)) continue;
    const current = Object.hasOwn(filled, name) ? filled[name] : property['default'];
    if (current === undefined) continue;
    filled[name] = isJsonSchema(current) ? applyDefaults(property, current) : current;
  }
  return filled;
}

function isJsonSchema(value: unknown): value is JsonObject {
  return isObject(value);
}
