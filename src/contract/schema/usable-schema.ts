import { errorMessage } from '../errors';
import { isObject, isPlainObject, type Json, type JsonObject } from '../json';
import { JSON_LEVELS } from '../limits';
import type { JsonSchema } from '../tool';
import { SchemaChecker } from './check-value';
import { assertReadable, compilePattern } from './pattern';
import { partsOf, References } from './reference';
import { defaultsBelow } from './schema';

/** A usable schema of a tool's arguments, and the parts that it lacks. */
interface UsableSchema {
  schema: JsonSchema;
  /** What cannot be checked and is not in the schema, in words with the place. */
  unchecked: string[];
  /** The defaults that do not fit and are not in the schema, in words with the place. */
  misfits: string[];
}

/**
 * A copy of a schema that can be used for the arguments of a tool: plain JSON with an object at its root, patterns that
 * compile, references that lead to a part of it, and defaults that fit. What cannot be checked is left out, with all
 * that would refuse more without it.
 *
 * @throws Error with the broken rule as its message, if the schema is not one of an object.
 */
export function usableSchema(given: unknown): UsableSchema {
  const plain = toPlainJson(given);
  const { type = 'object', ...rest } = plain;
  const isOfObjects = type === 'object' || (Array.isArray(type) && type.includes('object'));
  if (!isOfObjects) throw new Error('the root of the schema must have `type: "object"`');
  const schema: JsonSchema = { ...rest, type: 'object' };
  const unchecked = [...withoutUndeclared(schema), ...new Loosener(schema).run()];
  return { schema, unchecked, misfits: withoutMisfits(schema) };
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

function notPlain() {
  return new Error(
    `the schema must be plain JSON of at most ${JSON_LEVELS} levels (no functions, undefined or dates)`,
  );
}

/** Leaves out names that are required and that nothing declares. Returns what was left out. */
function withoutUndeclared(schema: JsonSchema) {
  const { properties = {}, required = [] } = schema;
  if (!isObject(properties)) throw new Error('`properties` of the schema must be an object');
  if (!Array.isArray(required)) throw new Error('`required` must be a list of names');
  const isDeclared = (name: Json) => typeof name === 'string' && Object.hasOwn(properties, name);
  const missing = required.filter((name) => !isDeclared(name));
  // A branch or a pattern may declare the name.
  if (missing.length === 0 || DECLARING.some((keyword) => schema[keyword] !== undefined)) return [];
  schema['required'] = required.filter(isDeclared);
  return missing.map((name) => `required parameter ${String(name)} is not among the parameters`);
}

const DECLARING = [
  ...['$ref', 'allOf', 'anyOf', 'oneOf', 'if', 'dependentSchemas', 'dependencies', 'patternProperties'],
];

/** Leaves out the defaults that do not fit their own schema. Returns what was left out. */
function withoutMisfits(root: JsonSchema): string[] {
  let checker: SchemaChecker | undefined;
  const fits = (schema: JsonObject, value: Json) => {
    try {
      return (checker ??= new SchemaChecker(root)).fitsPart(schema, defaultsBelow(schema, value));
    } catch {
      return false;
    }
  };
  const visit = (schema: JsonObject, at: string): string[] => {
    const below = partsOf(schema).flatMap((part) => visit(part.schema, at + stepOf(part)));
    const { default: value } = schema;
    if (value === undefined || fits(schema, value)) return below;
    delete schema['default'];
    return [
      ...below,
      `default ${shorten(JSON.stringify(value))} of ${at || '/'} does not fit its own schema`,
    ];
  };
  return visit(root, '');
}

/** A step to a part, in the path of the arguments where there is one. */
function stepOf({ keyword, name }: ReturnType<typeof partsOf>[number]) {
  if (keyword === 'properties' && name !== undefined) return `/${name}`;
  if (keyword === 'items' && name === undefined) return '/*';
  return name === undefined ? `/${keyword}` : `/${keyword}/${name}`;
}

/** The most characters of a keyword's value that a message repeats. */
const MOST_SHOWN = 100;

function shorten(text: string) {
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}

/** Keywords under which a looser schema may refuse more, and what has to go with them. */
const UNDER: Readonly<Record<string, readonly string[]>> = {
  not: ['not'],
  if: ['if', 'then', 'else'],
  contains: ['maxContains'],
};

/** Takes everything out of a schema that cannot be checked. The schema never refuses more than before. */
class Loosener {
  private readonly left: string[] = [];
  private readonly references: References;
  private readonly patterns: string[] = [];
  /** Whether something that references lead to has become looser. */
  private isSharedLooser = false;

  constructor(private readonly root: JsonSchema) {
    this.references = new References(root);
  }

  /** Returns what was left out, in words. */
  run(): string[] {
    // What references lead to comes first.
    const shared = partsOf(this.root).filter(({ keyword }) => SHARED.includes(keyword));
    for (const part of shared) if (this.loosen(part.schema, stepOf(part))) this.isSharedLooser = true;
    this.loosen(this.root, '');
    return this.left;
  }

  /** Returns whether the schema, or one inside it, takes more than before. */
  private loosen(schema: JsonObject, at: string): boolean {
    const own = [this.dropPatterns(schema, at), this.dropReferences(schema, at)];
    const below = partsOf(schema)
      .filter(({ keyword }) => at !== '' || !SHARED.includes(keyword))
      .map((part) => {
        const isLooser = this.loosen(part.schema, at + stepOf(part));
        if (isLooser) this.dropAbove(schema, part, at);
        return isLooser;
      });
    const isLooser = [...own, ...below].includes(true);
    if (isLooser) for (const keyword of SEEN) delete schema[keyword];
    return isLooser;
  }

  private dropPatterns(schema: JsonObject, at: string) {
    const { pattern, patternProperties } = schema;
    const before = this.left.length;
    if (typeof pattern === 'string') {
      const why = this.whyUnusable(pattern);
      if (why !== undefined) this.drop(schema, 'pattern', `${at || '/'}: ${why}`);
    }
    if (!isObject(patternProperties)) return this.left.length > before;
    for (const source of Object.keys(patternProperties)) {
      const why = this.whyUnusable(source);
      if (why === undefined) continue;
      delete patternProperties[source];
      // The names that the pattern allowed would count as unknown.
      for (const keyword of ['additionalProperties', 'unevaluatedProperties']) delete schema[keyword];
      this.left.push(`patternProperties of ${at || '/'}: ${why}`);
    }
    return this.left.length > before;
  }

  private whyUnusable(source: string): string | undefined {
    try {
      assertReadable([...this.patterns, source]);
    } catch (error) {
      return `the patterns of the schema are too large together: ${errorMessage(error)}`;
    }
    const why = whyNotPattern(source);
    if (why === undefined) this.patterns.push(source);
    return why;
  }

  private dropReferences(schema: JsonObject, at: string) {
    const before = this.left.length;
    const from = this.references.ownerOf(schema);
    for (const keyword of ['$ref', '$dynamicRef', '$recursiveRef']) {
      const reference = schema[keyword];
      if (reference === undefined) continue;
      const isFollowed = keyword !== '$recursiveRef' && typeof reference === 'string';
      if (isFollowed && this.references.find(reference, from) !== undefined) continue;
      const where = isFollowed && !reference.startsWith('#') ? 'outside the schema' : 'nowhere';
      this.drop(schema, keyword, `${at || '/'}: ${keyword} ${shorten(String(reference))} leads ${where}`);
    }
    const isLooser = this.isSharedLooser && (schema['$ref'] ?? schema['$dynamicRef']) !== undefined;
    return isLooser || this.left.length > before;
  }

  private dropAbove(schema: JsonObject, { keyword }: ReturnType<typeof partsOf>[number], at: string) {
    for (const name of UNDER[keyword] ?? [])
      if (schema[name] !== undefined) this.drop(schema, name, `${at || '/'}: a part of it is not checked`);
    const { oneOf, allOf } = schema;
    if (keyword !== 'oneOf' || !Array.isArray(oneOf)) return;
    // A looser branch may fit beside another one.
    delete schema['oneOf'];
    schema['allOf'] = [...(Array.isArray(allOf) ? allOf : []), { anyOf: oneOf }];
    this.left.push(`oneOf of ${at || '/'}: a part of it is not checked`);
  }

  private drop(schema: JsonObject, keyword: string, of: string) {
    delete schema[keyword];
    this.left.push(`${keyword} of ${of}`);
  }
}

const SHARED = ['$defs', 'definitions'];

/** Keywords that refuse what no other keyword has looked at. */
const SEEN = ['unevaluatedProperties', 'unevaluatedItems'];

/** Whether a pattern can be matched in linear time. */
export function isUsablePattern(pattern: string): boolean {
  return whyNotPattern(pattern) === undefined;
}

function whyNotPattern(pattern: string): string | undefined {
  const shown = `the pattern ${shorten(pattern)}`;
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof SyntaxError)
      return `${shown} is not a regular expression with the flag \`u\`: ${error.message}`;
    return `${shown} cannot be matched in linear time (no look-around, no back-references, few repetitions): ${errorMessage(error)}`;
  }
}
