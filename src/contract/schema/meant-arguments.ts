import { isObject, isSoundJson, type Json, type JsonObject, pointerOf } from '../json';
import type { JsonSchema } from '../tool';
import { SchemaChecker } from './check-value';
import { isSchema, partsOf, References } from './reference';
import { typeOf } from './values';

/** One value that counts as another than the one that was written. */
export interface Reading {
  /** JSON pointer of the value. */
  path: string;
  /** `absent`: null stands for nothing. `json`: the text of a list or an object stands for it. */
  as: 'absent' | 'json';
}

/** How arguments are read. */
interface MeantOptions {
  /** Reads a text as JSON. Absent: a text is only a text. */
  readText?: (text: string) => { ok: true; value: Json } | { ok: false };
}

/** The most schemas that are looked at for one value. Only a schema that refers to itself has more. */
const MOST_PLACES = 200;

/**
 * Arguments as they are meant. A null counts as absent if the key is optional and its schema forbids null: some
 * providers make models write a value for every key. With `readText`, a text counts as the list or object that it is in
 * JSON, if the schema wants such a value there and no text. Never throws.
 */
export function asMeant(
  schema: JsonSchema,
  value: JsonObject,
  { readText }: MeantOptions = {},
): { value: JsonObject; readings: Reading[] } {
  if (readText === undefined && !hasNull(value)) return { value, readings: [] };
  const reader = new Reader(schema, readText);
  try {
    const read = reader.read([schema], value, '');
    return isSchema(read) && isSoundJson(read)
      ? { value: read, readings: reader.readings }
      : { value, readings: [] };
  } catch {
    // The schema cannot be followed. Its check says so.
    return { value, readings: [] };
  }
}

function hasNull(value: Json): boolean {
  if (value === null || typeof value !== 'object') return false;
  return Object.values(value).some((part: Json) => part === null || hasNull(part));
}

class Reader {
  readonly readings: Reading[] = [];
  private readonly checker: SchemaChecker;
  private readonly references: References;

  constructor(
    root: JsonSchema,
    private readonly readJson: MeantOptions['readText'],
  ) {
    this.checker = new SchemaChecker(root);
    this.references = new References(root);
  }

  /** `schemas`: those that may apply to the value. */
  read(schemas: readonly JsonObject[], value: Json, path: string): Json {
    const places = this.placesOf(schemas);
    if (places.length === 0) return value;
    if (typeof value === 'string') return this.readText(places, value, path);
    if (Array.isArray(value))
      return value.map((item, at) => this.read(itemSchemas(places, at), item, `${path}/${at}`));
    if (!isSchema(value)) return value;
    const entries = Object.entries(value).flatMap(([key, item]) => {
      const below = path + pointerOf([key]);
      const forKey = keySchemas(places, key);
      if (item !== null || !this.isAbsent(places, forKey, key))
        return [[key, this.read(forKey, item, below)]];
      this.readings.push({ path: below, as: 'absent' });
      return [];
    });
    return Object.fromEntries(entries);
  }

  private isAbsent(places: readonly JsonObject[], forKey: readonly JsonObject[], key: string) {
    const isOptional = places.every(({ required }) => !Array.isArray(required) || !required.includes(key));
    const isDeclared = places.some(
      ({ properties }) => isObject(properties) && Object.hasOwn(properties, key),
    );
    return isOptional && isDeclared && !forKey.some((schema) => this.checker.fitsPart(schema, null));
  }

  private readText(places: readonly JsonObject[], text: string, path: string): Json {
    const meant = /^\s*[[{]/.test(text) ? this.readJson?.(text) : undefined;
    if (meant?.ok !== true || !places.some(({ type }) => wants(type, meant.value))) return text;
    if (places.some((schema) => this.isText(schema, text))) return text;
    this.readings.push({ path, as: 'json' });
    return this.read(places, meant.value, path);
  }

  private isText({ type, ...schema }: JsonObject, text: string) {
    return type !== undefined && wants(type, text) && this.checker.fitsPart({ type, ...schema }, text);
  }

  /** The schemas themselves, and those that they name for the same value. */
  private placesOf(schemas: readonly JsonObject[]): JsonObject[] {
    const places = new Set<JsonObject>(schemas);
    for (const schema of places) {
      if (places.size > MOST_PLACES) throw new RangeError('the schema has too many branches');
      const { $ref: reference } = schema;
      const from = this.references.ownerOf(schema);
      const found = typeof reference === 'string' ? this.references.find(reference, from)?.schema : undefined;
      if (isSchema(found)) places.add(found);
      for (const { keyword, schema: branch } of partsOf(schema))
        if (BRANCHES.includes(keyword)) places.add(branch);
    }
    return [...places];
  }
}

const BRANCHES = ['allOf', 'anyOf', 'oneOf', 'then', 'else'];

function wants(type: Json | undefined, value: Json) {
  return Array.isArray(type) ? type.includes(typeOf(value)) : type === typeOf(value);
}

function itemSchemas(places: readonly JsonObject[], at: number) {
  return places.flatMap(({ prefixItems, items }) => {
    const own = Array.isArray(prefixItems) && at < prefixItems.length ? prefixItems[at] : items;
    return isSchema(own) ? [own] : [];
  });
}

function keySchemas(places: readonly JsonObject[], key: string) {
  return places.flatMap(({ properties, additionalProperties }) => {
    const isOwn = isSchema(properties) && Object.hasOwn(properties, key);
    const own = isOwn ? properties[key] : additionalProperties;
    return isSchema(own) ? [own] : [];
  });
}
