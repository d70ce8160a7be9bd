import { isObject, isSoundJson, type JsonObject } from '../json';
import { JSON_LEVELS } from '../limits';
import { schemaCheck, schemaFit } from './schema';
import { shape, type Shape } from './shape';
import type { Issue, JsonSchema } from '../tool';

/** Schema of one field of a message. */
type FieldSchema =
  | {
      readonly type: 'string';
      readonly minLength?: number;
      readonly maxLength?: number;
      readonly pattern?: string;
    }
  | { readonly type: 'integer'; readonly minimum: number; readonly maximum: number }
  | { readonly type: 'array'; readonly items: FieldSchema; readonly maxItems: number }
  | MessageSchema
  | { readonly type: 'object' }
  | { readonly enum: readonly string[] }
  | { readonly const: true };

/**
 * The schema of a message that anybody may send. The schema is JSON Schema. The type of the messages is derived from
 * the schema.
 */
export interface MessageSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, FieldSchema>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

type FieldOf<F extends FieldSchema> = F extends { readonly enum: readonly (infer Word)[] }
  ? Word
  : F extends { readonly const: true }
    ? true
    : F extends { readonly type: 'string' }
      ? string
      : F extends { readonly type: 'integer' }
        ? number
        : F extends { readonly type: 'array'; readonly items: infer Item extends FieldSchema }
          ? FieldOf<Item>[]
          : F extends MessageSchema
            ? MessageOf<F>
            : JsonObject;

type Fields<S extends MessageSchema> = {
  -readonly [K in keyof S['properties']]: FieldOf<S['properties'][K]>;
};
type Flat<T> = { [K in keyof T]: T[K] };

/** The type of the values that fit a schema. */
export type MessageOf<S extends MessageSchema> = Flat<
  Pick<Fields<S>, S['required'][number] & keyof Fields<S>> & Partial<Omit<Fields<S>, S['required'][number]>>
>;

/** A message schema as plain JSON Schema, for code that checks or rewrites it. */
export function jsonSchemaOf({
  properties,
  required,
}: MessageSchema): JsonSchema & { properties: JsonObject } {
  return {
    type: 'object',
    properties: Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, jsonOf(field)])),
    required: [...required],
    additionalProperties: false,
  };
}

function jsonOf(field: FieldSchema): JsonObject {
  if ('enum' in field) return { enum: [...field.enum] };
  if ('items' in field) return { ...field, items: jsonOf(field.items) };
  return isNested(field) ? jsonSchemaOf(field) : { ...field };
}

function isNested(field: object): field is MessageSchema {
  return 'properties' in field;
}

/** A message schema as a shape. */
export function shapeOf<S extends MessageSchema>(schema: S): Shape<MessageOf<S>> {
  return shape(jsonSchemaOf(schema));
}

/**
 * Makes a check for messages of a schema, which returns the issues. Empty: the message fits. The check never throws.
 */
export function messageCheck(schema: MessageSchema): (value: unknown) => Issue[] {
  return soundCheck(jsonSchemaOf(schema));
}

/** Makes a guard that says whether a value is a message of this schema. */
export function messageGuard<S extends MessageSchema>(schema: S): (value: unknown) => value is MessageOf<S> {
  const issues = messageCheck(schema);
  return (value): value is MessageOf<S> => issues(value).length === 0;
}

/**
 * `schemaCheck` for values from any sender. A value on which later code could fail does not fit either. The check never
 * throws.
 */
export function soundCheck(schema: JsonSchema): (value: unknown) => Issue[] {
  const check = schemaCheck(schema);
  return (value) => (isSoundJson(value) ? check(value) : [unsound()]);
}

/** Makes a guard that says whether a value fits a shape, and is JSON that all our code can take. It never throws. */
export function guard<T>(shape: Shape<T>): (value: unknown) => value is T {
  const fits = schemaFit(shape);
  // Most memos lack most fields, and a check that throws for what is not JSON is slow.
  return (value): value is T => value !== undefined && isSoundJson(value) && fits(value);
}

function unsound(): Issue {
  const message = `it has a number that JSON cannot write, a key __proto__, or more than ${JSON_LEVELS} levels`;
  return { path: '', message };
}

/**
 * Makes a reader that keeps the readable fields of any value. Fields that do not fit are left out. The reader never
 * throws.
 */
export function partReader<S extends MessageSchema>(schema: S): (value: unknown) => Partial<MessageOf<S>> {
  const check = messageCheck({ ...schema, required: [] });
  const fits = (value: unknown): value is Partial<MessageOf<S>> => check(value).length === 0;
  const names = Object.keys(schema.properties);
  return (value) => {
    if (!isObject(value)) return {};
    const there = names.filter((name) => Object.hasOwn(value, name));
    const part = Object.fromEntries(
      there.map((name) => [name, value[name]]).filter((field) => fits(Object.fromEntries([field]))),
    );
    return fits(part) ? part : {};
  };
}
