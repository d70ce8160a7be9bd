import { defined } from '../contract/defined';
import { z } from 'zod';
import { isObject, isPlainObject, type JsonObject, parseJson, pointerOf } from '../contract/json';
import { applyDefaults, schemaCheck } from '../contract/schema/schema';
import { readJson } from '../contract/read-json';
import type { Issue, JsonSchema } from '../contract/tool';
import type { Parameters, ParameterSpec, Tool } from './types';
import { leaveToZod, plainSchema } from '../contract/schema/standard';
import { toPlainJson, usableSchema } from '../contract/schema/usable-schema';
import { errorMessage } from '../contract/errors';

/** Parameters in their common form: a JSON Schema and its parser. */
export interface ResolvedParameters {
  schema: JsonSchema;
  /** The defaults that do not fit and are not in the schema, in words. */
  misfits: string[];
  /** Reads values as they are meant, applies defaults, then checks by JSON Schema, then by zod. Never throws. */
  parse(args: JsonObject): ReturnType<Tool['parse']>;
  /** Whether the parser returns JSON, for certain. */
  parsesToJson(): boolean;
}

/**
 * Brings the three forms of parameters into one form.
 * A plain list and `z.object` refuse properties that they do not name; a JSON Schema decides this itself.
 *
 * @throws Error with the broken rule as its message.
 */
export function resolveParameters(
  parameters: Parameters,
  required?: readonly string[],
  texts = false,
): ResolvedParameters {
  if (isList(parameters)) return resolved(schemaOfList(parameters, required ?? []), { texts });
  if (required !== undefined) {
    throw new Error('`required` goes with the plain list of parameters only; say it in the schema');
  }
  return isZod(parameters)
    ? resolved(plainSchema(toJsonSchema(parameters)), { texts, refinements: parameters })
    : resolved(parameters, { texts });
}

/**
 * A copy of arguments that shares nothing with them. Values that are not JSON are copied by `structuredClone`, which
 * takes five times as long.
 */
export function copyArguments<T>(value: T): T;
export function copyArguments(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item: unknown) => copyArguments(item));
  if (!isPlainObject(value)) return structuredClone(value);
  // Unlike an assignment, this also copies a property `__proto__`.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, copyArguments(item)]));
}

interface Reading {
  /** Whether a text may stand for the list or object that it is in JSON. */
  texts: boolean;
  /** Checks what the JSON Schema cannot say. */
  refinements?: z.ZodObject;
}

function resolved(given: JsonSchema, { texts, refinements }: Reading): ResolvedParameters {
  if (Object.keys(given).length === 0) throw new Error('the root of the schema must have `type: "object"`');
  const { schema, unchecked, misfits } = usableSchema(given);
  // zod checks what the schema does not. Nothing else would, and the author of a tool can change the schema.
  if (refinements === undefined && unchecked[0] !== undefined) throw new Error(unchecked[0]);
  // A change that a caller makes to `schema` must not change how arguments are checked. So we keep a copy, as text:
  // most of a thousand tools are never called.
  const text = JSON.stringify(schema);
  let first: SchemaInUse | undefined;
  return {
    schema,
    misfits,
    parsesToJson: () => refinements === undefined || returnsJson(refinements),
    parse(args) {
      try {
        const { own, check } = (first ??= inUse(text));
        // We copy the arguments, so that a handler's changes do not reach the record or the schema's defaults.
        const filled = copyArguments(applyDefaults(own, args, { readText: texts ? readJson : undefined }));
        const issues = check(filled);
        if (issues.length > 0) return { ok: false, issues };
        return refinements === undefined ? { ok: true, value: filled } : refine(refinements, filled);
      } catch (error) {
        return { ok: false, issues: [{ path: '', message: `cannot be checked: ${String(error)}` }] };
      }
    },
  };
}

/** A schema and its check of arguments. */
interface SchemaInUse {
  own: JsonSchema;
  check(value: unknown): Issue[];
}

function inUse(text: string): SchemaInUse {
  const own = toPlainJson(parseJson(text));
  return { own, check: schemaCheck(own) };
}

function refine(schema: z.ZodObject, args: JsonObject): ReturnType<Tool['parse']> {
  const parsed = schema.safeParse(args);
  if (parsed.success) return { ok: true, value: parsed.data };
  return {
    ok: false,
    issues: parsed.error.issues.map(({ path, message }) => ({
      path: pointerOf(path),
      message,
    })),
  };
}

function toJsonSchema(schema: z.ZodObject) {
  try {
    return z.toJSONSchema(schema, { io: 'input', override: leaveToZod, unrepresentable: 'any' });
  } catch (error) {
    throw new Error(`the zod schema has no JSON Schema form: ${errorMessage(error)}`, { cause: error });
  }
}

/** Whether a schema returns JSON. The value of a transform may be anything. */
function returnsJson(schema: z.ZodObject) {
  try {
    z.toJSONSchema(schema);
    return true;
  } catch {
    return false;
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
      ...defined({ description }),
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

// Checks zod's mark and not `instanceof`, because a config file may load its own copy of zod.
function isZod(parameters: z.ZodObject | JsonSchema): parameters is z.ZodObject {
  if ('_zod' in parameters && 'safeParse' in parameters) {
    if (isObject(parameters.def) && parameters.def['type'] === 'object') return true;
    throw new Error('the zod schema must be an object: z.object({ … })');
  }
  if ('_def' in parameters) throw new Error('this schema comes from zod 3; zod 4 is needed');
  return false;
}
