import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, type Json, type JsonObject } from '../../src/contract/json';
import { type ResolvedParameters, resolveParameters } from '../../src/tools/parameters';
import { describeWithSuite } from '../support/suites';

/** Types as the leaderboard names them for its languages, and as JSON Schema does. */
const TYPES: Readonly<Record<string, string>> = {
  ...{ dict: 'object', HashMap: 'object', Hashtable: 'object', float: 'number', double: 'number' },
  ...{ tuple: 'array', list: 'array', Array: 'array', ArrayList: 'array', Queue: 'array', Stack: 'array' },
  ...{
    bool: 'boolean',
    Boolean: 'boolean',
    int: 'integer',
    long: 'integer',
    byte: 'integer',
    short: 'integer',
  },
  ...{ Bigint: 'integer', String: 'string', char: 'string' },
};

function toJsonSchema(node: JsonObject): JsonObject {
  const entries = Object.entries(node).flatMap(([key, value]): [string, Json][] => {
    if (key === 'type' && typeof value === 'string')
      return /^any$/i.test(value) ? [] : [[key, TYPES[value] ?? value]];
    if (key === 'properties' && isSchema(value))
      return [[key, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, below(one)]))]];
    return [[key, key === 'items' || key === 'additionalProperties' ? below(value) : value]];
  });
  return Object.fromEntries(entries);
}

function below(value: Json): Json {
  return isSchema(value) ? toJsonSchema(value) : value;
}

function isSchema(value: unknown): value is JsonObject {
  return isObject(value);
}

/** The first of the values that an answer allows, at each depth. What may be left out is left out. */
function firstOf(args: JsonObject): JsonObject {
  const entries = Object.entries(args).flatMap(([key, values]): [string, Json][] => {
    if (!Array.isArray(values)) return [[key, values]];
    const [first] = values;
    if (first === undefined || values.includes('')) return [];
    return [[key, isSchema(first) ? firstOf(first) : first]];
  });
  return Object.fromEntries(entries);
}

function linesIn(path: string): JsonObject[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').filter(Boolean);
  try {
    return lines.map((line) => JSON.parse(line)).filter(isSchema);
  } catch {
    return [];
  }
}

function objectsIn(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isSchema) : [];
}

describeWithSuite('functionCalls', 'functions and calls of a leaderboard', (folder) => {
  const counts = { functions: 0, calls: 0, refused: 0 };
  const byDefault: string[] = [];
  const files = readdirSync(folder).filter((name) => /^BFCL_v4_.*\.json$/.test(name));

  const resolvedIn = (row: JsonObject): Map<Json | undefined, ResolvedParameters> =>
    new Map(
      objectsIn(row['function']).map(({ name, parameters }) => {
        counts.functions += 1;
        return [name, resolveParameters(toJsonSchema(isSchema(parameters) ? parameters : {}))];
      }),
    );

  const judge = (tool: ResolvedParameters, args: JsonObject): void => {
    const given = firstOf(args);
    const parsed = tool.parse(given);
    counts.calls += 1;
    if (parsed.ok) return;
    counts.refused += 1;
    for (const { path, message } of parsed.issues)
      if (path !== '' && !Object.hasOwn(given, path.split('/')[1] ?? ''))
        byDefault.push(`${path}: ${message}`);
  };

  it('are all taken, and no call is refused because of a default or a null', () => {
    for (const file of files) {
      const answers = new Map(linesIn(join(folder, 'possible_answer', file)).map((row) => [row['id'], row]));
      for (const row of linesIn(join(folder, file))) {
        const tools = resolvedIn(row);
        for (const call of objectsIn(answers.get(row['id'])?.['ground_truth']))
          for (const [name, args] of Object.entries(call)) {
            const tool = tools.get(name);
            if (tool !== undefined && isSchema(args)) judge(tool, args);
          }
      }
    }
    expect(byDefault).toEqual([]);
    expect(counts.functions).toBe(8726);
    expect(counts.calls).toBeGreaterThan(3000);
    // These answers do not fit the schemas that stand beside them.
    expect(counts.refused).toBeLessThan(60);
  });
});
