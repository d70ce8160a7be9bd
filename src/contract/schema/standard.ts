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
    readonly types?: { readonly input: Input; readonly output: unknown } | undefined;
    readonly jsonSchema: {
      readonly input: (options: {
        readonly target: 'draft-2020-12';
        readonly libraryOptions?: Record<string, unknown> | undefined;
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

function convert(schema: object): Record<string, unknown> {
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

/**
 * A callback that zod calls for each inner schema. Other libraries do not have this option. zod drops keys that an
 * object does not name, so a person would see and approve what the handler never gets. Such keys are therefore refused,
 * unless `z.looseObject` keeps them.
 */
export function refuseOthers({ zodSchema, jsonSchema }: Record<string, unknown>): void {
  const inner = isObject(zodSchema) ? zodSchema['_zod'] : undefined;
  const def = isObject(inner) ? inner['def'] : undefined;
  if (!isObject(def) || !isObject(jsonSchema)) return;
  if (def['type'] === 'object' && def['catchall'] === undefined) jsonSchema['additionalProperties'] = false;
}

/** Leaves out patterns of zod's formats that use look-around, because these cannot be matched in linear time. */
function withoutOwnPattern(_: string, node: unknown): unknown {
  if (!isObject(node) || typeof node['format'] !== 'string' || typeof node['pattern'] !== 'string')
    return node;
  const { pattern, ...rest } = node;
  return isUsablePattern(pattern) ? node : rest;
}
