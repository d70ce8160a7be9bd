import { isJsonObject, isObject } from '../json';
import type { JsonSchema } from '../tool';
import { errorMessage } from '../errors';
import { isUsablePattern } from './usable-schema';

/**
 * A schema of a library that gives its JSON Schema by Standard JSON Schema, such as `z.object({ … })` of zod 4.2 or
 * later. The code here knows only this interface, so that a workflow never loads a validation library that it does not
 * use.
 */
export interface StandardJsonSchema<Input = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: unknown };
    readonly jsonSchema: {
      readonly input: (options: {
        readonly target: 'draft-2020-12';
        readonly libraryOptions?: Record<string, unknown>;
      }) => Record<string, unknown>;
    };
  };
}

/** The type of the values that a schema takes. */
export type InputOf<S extends StandardJsonSchema> = NonNullable<S['~standard']['types']>['input'];

/** Whether a schema comes from a library. A JSON Schema does not have these keys. */
export function isFromLibrary(schema: object): schema is StandardJsonSchema {
  return '~standard' in schema || '_def' in schema;
}

/**
 * The JSON Schema of the values that a library's schema takes. Objects refuse properties that they do not name. zod
 * would drop such properties, and a person would approve what never arrives.
 *
 * @throws Error with the reason, if the schema has no JSON Schema form or its root is not an object.
 */
export function schemaOfLibrary(schema: object): JsonSchema {
  return plainSchema(convert(schema));
}

/**
 * The JSON Schema that a library made, as plain JSON: without the name of its dialect, and without patterns that cannot
 * be matched in linear time.
 *
 * @throws Error if the root of the schema is not an object.
 */
export function plainSchema(converted: object): JsonSchema {
  const json: unknown = JSON.parse(JSON.stringify(converted), withoutOwnPattern);
  if (!isJsonObject(json) || json['type'] !== 'object') throw new Error('the schema must be an object');
  const { $schema: _dialect, ...rest } = json;
  return rest;
}

function convert(schema: object) {
  if (!hasConverter(schema)) {
    throw new Error(
      'the schema has no JSON Schema form: use zod 4.2 or later (not zod/mini), or give its JSON Schema',
    );
  }
  try {
    const libraryOptions = { override: refuseOthers };
    return schema['~standard'].jsonSchema.input({ target: 'draft-2020-12', libraryOptions });
  } catch (error) {
    throw new Error(`the schema has no JSON Schema form: ${errorMessage(error)}`, { cause: error });
  }
}

function hasConverter(schema: object): schema is StandardJsonSchema {
  const standard: unknown = Reflect.get(schema, '~standard');
  const converter = isObject(standard) ? standard['jsonSchema'] : undefined;
  return isObject(converter) && typeof converter['input'] === 'function';
}

/** The branch of an `anyOf` that takes every value, because only the library can judge it. */
const LEFT = 'the tool itself checks this when the call runs';

/**
 * What a schema says to write. A schema takes every value where only the library of its tool can judge it, and says
 * beside that which values are meant.
 */
export function guidanceIn(schema: Record<string, unknown>): Record<string, unknown> {
  const { anyOf, ...rest } = schema;
  const [meant, other]: unknown[] = Array.isArray(anyOf) ? anyOf : [];
  return isObject(meant) && isObject(other) && other['$comment'] === LEFT ? { ...meant, ...rest } : schema;
}

/**
 * A callback that zod calls for each inner schema. Other libraries do not have this option. zod drops keys that an
 * object does not name, so a person would see and approve what the handler never gets. Such keys are therefore refused,
 * unless `z.looseObject` keeps them.
 */
function refuseOthers({ zodSchema, jsonSchema }: Record<string, unknown>) {
  const { type, catchall } = defOf(zodSchema);
  if (type === 'object' && catchall === undefined && isObject(jsonSchema))
    jsonSchema['additionalProperties'] = false;
}

/**
 * A callback for zod, as `refuseOthers`, where zod checks the arguments afterwards: what only zod can judge is left to
 * it.
 *
 * @throws Error for a type that no JSON can have.
 */
export function leaveToZod({ zodSchema, jsonSchema }: Record<string, unknown>): void {
  if (!isObject(jsonSchema)) return;
  refuseOthers({ zodSchema, jsonSchema });
  const def = defOf(zodSchema);
  const { type } = def;
  if (type === 'undefined') jsonSchema['not'] = {};
  if (isLeft(def)) return leaveToTool(jsonSchema, String(type));
  if (typeof type === 'string' && NO_JSON.includes(type))
    throw new Error(`no JSON is a value of z.${type}()`);
  withoutUnusable(def, jsonSchema);
}

const NO_JSON = ['bigint', 'symbol', 'void', 'date', 'map', 'set', 'nan', 'function', 'file'];

/** What to write for types that JSON lacks and that zod makes of other values. */
const WRITTEN_AS: Readonly<Record<string, object>> = {
  date: { type: 'string', format: 'date-time' },
  bigint: { type: 'integer' },
};

/** Whether zod takes values that a JSON Schema of the same type refuses. */
function isLeft(def: Record<string, unknown>) {
  const { coerce, type, in: first, format, checks } = def;
  if (coerce === true) return true;
  if (type === 'pipe') return defOf(first)['type'] === 'transform';
  if (format === 'url') return true;
  if (format === 'datetime') return def['local'] === true || typeof def['precision'] === 'number';
  if (format === 'email' && UNUSUAL_MAIL.some((text) => accepts(def['pattern'], text))) return true;
  // zod changes the text before it checks the rest.
  return Array.isArray(checks) && checks.some((check) => defOf(check)['check'] === 'overwrite');
}

const UNUSUAL_MAIL = ['\u00fc@\u00fc.de', '.a@b.de', '"a b"@b.de'];

function accepts(pattern: unknown, text: string) {
  return pattern instanceof RegExp && new RegExp(pattern).test(text);
}

function defOf(schema: unknown) {
  const inner = isObject(schema) ? schema['_zod'] : undefined;
  const def = isObject(inner) ? inner['def'] : undefined;
  return isObject(def) ? def : {};
}

function leaveToTool(jsonSchema: Record<string, unknown>, type: string) {
  const { title: _title, description: _description, default: _default, ...own } = jsonSchema;
  for (const keyword of Object.keys(own)) delete jsonSchema[keyword];
  jsonSchema['anyOf'] = [{ ...own, ...WRITTEN_AS[type] }, { $comment: LEFT }];
}

/** Leaves out the patterns that a JSON Schema cannot say: it has no flags, and some cannot be matched in linear time. */
function withoutUnusable(def: Record<string, unknown>, jsonSchema: Record<string, unknown>) {
  const checks = Array.isArray(def['checks']) ? def['checks'].map(defOf) : [];
  const flagged = [def, ...checks].flatMap(({ pattern }) =>
    pattern instanceof RegExp && /[imsv]/.test(pattern.flags) ? [pattern.source] : [],
  );
  const isUnusable = (one: unknown) => {
    const pattern = isObject(one) ? one['pattern'] : undefined;
    return typeof pattern === 'string' && (flagged.includes(pattern) || !isUsablePattern(pattern));
  };
  const { allOf } = jsonSchema;
  if (isUnusable(jsonSchema)) delete jsonSchema['pattern'];
  if (Array.isArray(allOf)) jsonSchema['allOf'] = allOf.filter((one) => !isUnusable(one));
}

/** Leaves out patterns of zod's formats that use look-around, because these cannot be matched in linear time. */
function withoutOwnPattern(_: string, node: unknown) {
  if (!isObject(node) || typeof node['format'] !== 'string' || typeof node['pattern'] !== 'string')
    return node;
  const { pattern, ...rest } = node;
  return isUsablePattern(pattern) ? node : rest;
}
