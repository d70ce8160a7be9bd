import { distinct, isObject, type Json, type JsonObject } from '../contract/json';
import { isSchema, partsOf } from '../contract/schema/reference';
import { guidanceIn } from '../contract/schema/standard';

/** Which subset of JSON Schema a provider takes. `flat`: no choice between schemas at the root. */
type SchemaSubset = 'flat' | 'gemini';

/**
 * A tool's schema as a provider takes it. What the provider's subset cannot say is put into words or left out: the
 * model only reads the schema, and arguments are checked by the whole one.
 */
export function schemaForProvider(schema: JsonObject, subset: SchemaSubset | undefined): JsonObject {
  const plain = translate(structuredClone(schema), subset === 'gemini' ? toGemini : (one) => one);
  return subset === undefined ? plain : withoutRootChoice(plain);
}

/** Translates a schema and each schema inside it, the innermost first. The schema itself is changed. */
function translate(schema: JsonObject, by: (schema: JsonObject) => JsonObject): JsonObject {
  const meant = guidanceIn(schema);
  const own = isSchema(meant) ? meant : schema;
  for (const { schema: part } of partsOf(own)) {
    const made = { ...translate(part, by) };
    for (const keyword of Object.keys(part)) delete part[keyword];
    Object.assign(part, made);
  }
  return by(own);
}

/** Providers refuse a choice at the root of a schema. Its properties go to the root, where all are optional. */
function withoutRootChoice(schema: JsonObject): JsonObject {
  const { anyOf, oneOf, allOf, not: _not, enum: _enum, if: _if, then, else: otherwise, ...rest } = schema;
  const together = [allOf].flatMap((list) => (Array.isArray(list) ? list : [])).filter(isSchema);
  const others = [anyOf, oneOf, [then ?? null, otherwise ?? null]];
  const branches = [...together, ...others.flatMap((list) => (Array.isArray(list) ? list : []))].filter(
    isSchema,
  );
  const properties = Object.assign({}, ...branches.map(propertiesOf), propertiesOf(schema));
  const required = [schema, ...together].flatMap((one) => namesIn(one['required']));
  return {
    ...rest,
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
  };
}

function propertiesOf({ properties }: JsonObject) {
  return isSchema(properties) ? properties : {};
}

function namesIn(value: Json | undefined) {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : [];
}

/** The formats that Gemini knows. It refuses a request with any other. */
const GEMINI_FORMATS: readonly unknown[] = ['date-time', 'enum', 'float', 'double', 'int32', 'int64'];

/** One schema, without its parts, as Gemini takes it. */
function toGemini(schema: JsonObject): JsonObject {
  const said: string[] = [];
  const { allOf, oneOf, prefixItems, format, const: only, enum: some, ...rest } = schema;
  const own: JsonObject = { ...rest };
  if (oneOf !== undefined) own['anyOf'] = own['anyOf'] ?? oneOf;
  if (Array.isArray(allOf)) for (const part of allOf.filter(isSchema)) merge(own, part);
  if (GEMINI_FORMATS.includes(format)) own['format'] = format ?? null;
  else if (typeof format === 'string') said.push(`format: ${format}`);
  const values = Array.isArray(some) ? some : only === undefined ? [] : [only];
  // Gemini lists texts only, and no empty ones.
  if (values.length > 0 && values.every((one) => typeof one === 'string' && one !== '')) own['enum'] = values;
  else if (values.length > 0) said.push(`one of: ${values.map((one) => JSON.stringify(one)).join(', ')}`);
  if (values.length > 0 && own['type'] === undefined) own['type'] = typesOf(values);
  if (Array.isArray(prefixItems)) {
    said.push(`items in this order: ${JSON.stringify(prefixItems)}`);
    own['items'] = { anyOf: distinct(prefixItems) };
  }
  if (own['type'] === 'array' && !isObject(own['items'])) own['items'] = {};
  const { additionalProperties: others, properties, required } = own;
  if (isSchema(others) && Object.keys(others).length > 0)
    said.push(`any names; each value is: ${JSON.stringify(others)}`);
  if (required !== undefined)
    own['required'] = namesIn(required).filter(
      (name) => isSchema(properties) && Object.hasOwn(properties, name),
    );
  if (said.length > 0) own['description'] = [own['description'], ...said].filter(Boolean).join('; ');
  return own;
}

function merge(own: JsonObject, part: JsonObject) {
  const properties = { ...propertiesOf(own), ...propertiesOf(part) };
  const required = [...namesIn(own['required']), ...namesIn(part['required'])];
  for (const [keyword, value] of Object.entries(part)) own[keyword] ??= value;
  if (Object.keys(properties).length > 0) own['properties'] = properties;
  if (required.length > 0) own['required'] = [...new Set(required)];
}

function typesOf(values: readonly Json[]): Json {
  const types = [...new Set(values.map((one) => (one === null ? 'null' : typeof one)))];
  return types.length === 1 ? (types[0] ?? 'string') : types;
}
