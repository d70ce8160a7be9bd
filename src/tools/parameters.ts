import { z } from 'zod';
import { isObject, type JsonObject } from '../contract/json';
import { applyDefaults, schemaCheck } from '../contract/schema';
import type { Issue, JsonSchema } from '../contract/tool';
import { assertUsableSchema } from './usable-schema';
import type { ParameterSpec, Parameters, ParsedArguments } from './types';

/** Parameters in one form: a JSON Schema, and the parser that goes with it. */
export interface ResolvedParameters {
  schema: JsonSchema;
  /** Defaults, JSON Schema, zod, in this order. Never throws. */
  parse(args: JsonObject): ParsedArguments;
}

/**
 * Brings the three ways to give parameters into one.
 * A plain list refuses properties it does not name; the other two decide that themselves.
 *
 * @throws Error with the broken rule as its message.
 */
export function resolveParameters(parameters: Parameters, required?: readonly string[]): ResolvedParameters {
  if (isList(parameters)) return resolved(schemaOfList(parameters, required ?? []));
  if (required !== undefined) {
    throw new Error('`required` goes with the plain list of parameters only; say it in the schema');
  }
  return isZod(parameters) ? resolved(schemaOfZod(parameters), parameters) : resolved(parameters);
}

function resolved(given: JsonSchema, refinements?: z.ZodObject): ResolvedParameters {
  const schema = assertUsableSchema(given);
  // The validator writes marks into the schema it is given, so it gets one of its own.
  const own = structuredClone(schema);
  const check = schemaCheck(own);
  return {
    schema,
    parse(args) {
      try {
        // A copy: what a handler does to its arguments must not reach the record, nor the schema's defaults.
        const filled = structuredClone(applyDefaults(own, args));
        const issues = check(filled);
        if (issues.length > 0) return { ok: false, issues };
        return refinements === undefined ? { ok: true, value: filled } : refine(refinements, filled);
      } catch (error) {
        return { ok: false, issues: [{ path: '', message: `cannot be checked: ${String(error)}` }] };
      }
    },
  };
}

function refine(schema: z.ZodObject, args: JsonObject): ParsedArguments {
  const parsed = schema.safeParse(args);
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, issues: parsed.error.issues.map(toIssue) };
}

function toIssue(issue: z.core.$ZodIssue): Issue {
  return { path: toPointer(issue.path), message: issue.message };
}

function toPointer(path: readonly PropertyKey[]): string {
  return path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

function schemaOfZod(schema: z.ZodObject): JsonSchema {
  const json: unknown = JSON.parse(JSON.stringify(toJsonSchema(schema)));
  const { $schema: _dialect, ...rest } = z.record(z.string(), z.json()).parse(json);
  return rest;
}

function toJsonSchema(schema: z.ZodObject) {
  try {
    return z.toJSONSchema(schema, { io: 'input' });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the zod schema has no JSON Schema form: ${reason}`, { cause: error });
  }
}

function schemaOfList(list: readonly ParameterSpec[], required: readonly string[]): JsonSchema {
  const specs = parseList(list);
  const properties: JsonObject = {};
  for (const { name, type, description } of specs) {
    if (Object.hasOwn(properties, name)) throw new Error(`parameter \`${name}\` is there twice`);
    properties[name] = {
      type,
      // Some providers refuse an array without items.
      ...(type === 'array' ? { items: {} } : {}),
      ...(description === undefined ? {} : { description }),
    };
  }
  return { type: 'object', properties, required: [...new Set(required)], additionalProperties: false };
}

function parseList(list: readonly ParameterSpec[]) {
  const parsed = z.array(parameterSpec).safeParse(list);
  if (parsed.success) return parsed.data;
  throw new Error(
    parsed.error.issues.map(({ path, message }) => `parameters.${path.join('.')} ${message}`).join('; '),
  );
}

const parameterSpec = z.strictObject({
  name: z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, 'must be a name of letters, digits, _ and -'),
  type: z.enum(['string', 'boolean', 'number', 'object', 'array']),
  description: z.string().optional(),
});

function isList(parameters: Parameters): parameters is readonly ParameterSpec[] {
  return Array.isArray(parameters);
}

// By its mark and not by `instanceof`: a config file may bring a zod of its own.
function isZod(parameters: z.ZodObject | JsonSchema): parameters is z.ZodObject {
  if ('_zod' in parameters && 'safeParse' in parameters) {
    if (isObject(parameters.def) && parameters.def['type'] === 'object') return true;
    throw new Error('the zod schema must be an object: z.object({ … })');
  }
  if ('_def' in parameters) throw new Error('this schema comes from zod 3; zod 4 is needed');
  return false;
}
