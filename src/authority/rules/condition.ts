import {
  celEnv,
  celFunc,
  celMethod,
  CelScalar,
  isCelError,
  parse,
  plan,
  run,
  type CelInput,
  type CelUint,
  type CelValue,
} from '@bufbuild/cel';
import { errorMessage } from '../../contract/errors';
import { isObject, type Json, type JsonObject } from '../../contract/json';
import { findReference, isSchema } from '../../contract/schema/reference';
import { foldCase } from '../../contract/text/spelling';
import type { JsonSchema } from '../../contract/tool';

/** The variables that a condition can name. */
type Variable = 'args' | 'tool' | 'agent' | 'safety' | 'effect' | 'turn' | 'age';

/** The values of the variables that are known when a condition is evaluated. */
export type ConditionFacts = Readonly<Partial<Record<Variable, CelInput>>>;

/** A condition that was read and can be evaluated. */
export interface RuleCondition {
  /**
   * The fields of `args` that the condition reads. A field that the condition only tests with `has` is not among them.
   */
  fields: readonly string[];
  /** Those of them that stand where only true or false can. */
  truths: readonly string[];
  /** The condition names no variable, so it has the same result for every call. */
  isConstant: boolean;
  /** It seems to compare a path or a URL with a text. The same path may be spelled in other ways. */
  isSpelled: boolean;
  /**
   * The result of the condition: true or false, or the reason why it could not be evaluated. `isFolded`: the texts in
   * the facts are folded, and so are those that the condition compares them with.
   */
  evaluate(facts: ConditionFacts, isFolded?: boolean): boolean | { failed: string };
}

/**
 * What a rule does with a call: `then` if the rule fits, `refuse` if its condition cannot be evaluated. Undefined if
 * the rule does not fit.
 */
export function actionBy<Action extends string>(
  outcome: ReturnType<RuleCondition['evaluate']>,
  then: Action,
): { action: Action | 'refuse'; failed?: string } | undefined {
  if (outcome === false) return undefined;
  return outcome === true ? { action: then } : { action: 'refuse', failed: outcome.failed };
}

/** A mistake in a condition, and its position in characters from 0. */
type ConditionMistake = { message: string; at: number };

const LONGEST = 2_000;
/** The most entries of a list or a map in the facts of a condition that loops over lists or maps. */
const MOST_ENTRIES = 1_000;

const { STRING, BOOL, INT, UINT, DOUBLE } = CelScalar;

/**
 * The most work that the patterns of one evaluation may be: characters of text by characters of pattern, by the largest
 * number of its repetitions. So much takes a second or two.
 */
const MOST_MATCHING = 200_000_000;

const matchesOf = plan(celEnv({}), parse('text.matches(pattern)'));
let matchingLeft = MOST_MATCHING;

/** The function `matches` of CEL. A loop may try a pattern on many texts. */
const matches = celMethod('matches', STRING, [STRING], BOOL, function (pattern) {
  const repeated = Math.max(
    1,
    ...(pattern.slice(0, LONGEST).match(/(?<=[{,])\d{1,4}(?=[,}])/g) ?? []).map(Number),
  );
  matchingLeft -= (this.length + 100) * pattern.length * repeated;
  if (pattern.length > LONGEST || matchingLeft < 0) throw new RangeError('its patterns are too much work');
  const found = matchesOf({ text: this, pattern });
  if (isCelError(found)) throw found;
  return found === true;
});

function numberOf(value: bigint | number | CelUint) {
  return Number(typeof value === 'object' ? value.value : value);
}

/** Arithmetic on two numbers of different kinds, which CEL lacks: JSON has only one kind of number. */
const MIXED = [
  ['_+_', (a: number, b: number) => a + b] as const,
  ['_-_', (a: number, b: number) => a - b] as const,
  ['_*_', (a: number, b: number) => a * b] as const,
  ['_/_', (a: number, b: number) => a / b] as const,
  ['_%_', (a: number, b: number) => a % b] as const,
].flatMap(([name, work]) => {
  const by = (a: bigint | number | CelUint, b: bigint | number | CelUint) => work(numberOf(a), numberOf(b));
  return [
    ...[celFunc(name, [INT, DOUBLE], DOUBLE, by), celFunc(name, [DOUBLE, INT], DOUBLE, by)],
    ...[celFunc(name, [UINT, DOUBLE], DOUBLE, by), celFunc(name, [DOUBLE, UINT], DOUBLE, by)],
    ...[celFunc(name, [INT, UINT], DOUBLE, by), celFunc(name, [UINT, INT], DOUBLE, by)],
    ...(name === '_%_' ? [celFunc(name, [DOUBLE, DOUBLE], DOUBLE, by)] : []),
  ];
});

const env = celEnv({ funcs: [matches, ...MIXED] });

/** Reads a condition in CEL. `known`: the variables that it may name. */
export function readCondition(
  text: string,
  known: readonly Variable[],
): { ok: true; condition: RuleCondition } | { ok: false; mistake: ConditionMistake } {
  if (text.length > LONGEST) return wrong(`a condition has at most ${LONGEST} characters`, LONGEST);
  try {
    const parsed = parse(text);
    const seen: Seen = { names: new Set(), fields: new Set(), goesThrough: false };
    const truths = new Set<string>();
    const mistake = look(parsed.expr, seen, []) ?? noTruth(parsed.expr, truths);
    if (mistake !== undefined) return wrong(mistake, 0);
    const stranger = [...seen.names].find((name) => !known.some((one) => one === name));
    if (stranger !== undefined)
      return wrong(`'${stranger}' is not known; there are ${known.join(', ')}`, text.indexOf(stranger));
    const planned = plan(env, parsed);
    let folded: typeof planned | undefined;
    const evaluate: RuleCondition['evaluate'] = (facts, isFolded = false) => {
      if (seen.goesThrough && Object.values(facts).some(isTooLong))
        return { failed: `a list has over ${MOST_ENTRIES} entries` };
      return outcomeOf(() => (isFolded ? (folded ??= planFolded(text)) : planned)(facts));
    };
    const isSpelled = COMPARES.test(text) && PATH_LIKE.test(text);
    const condition = {
      fields: [...seen.fields],
      truths: [...truths],
      isConstant: seen.names.size === 0,
      isSpelled,
      evaluate,
    };
    return { ok: true, condition };
  } catch (error) {
    const open = OPEN_TEXT.exec(text);
    return open === null
      ? wrong(shortMessage(error), offsetOf(error))
      : wrong(`the text after ${open[1]} has no end`, open[0].length - 1);
  }
}

/** All up to a quote that begins a text without an end. */
const OPEN_TEXT = /^(?:[^"']|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')*(["'])(?!.*\1)/s;

function wrong(message: string, at: number): { ok: false; mistake: ConditionMistake } {
  return { ok: false, mistake: { message, at: Math.max(0, at) } };
}

function outcomeOf(evaluate: () => unknown) {
  try {
    matchingLeft = MOST_MATCHING;
    const value = evaluate();
    if (typeof value === 'boolean') return value;
    return { failed: isCelError(value) ? value.message : 'it is neither true nor false' };
  } catch (error) {
    return { failed: errorMessage(error) };
  }
}

/**
 * The parser's message without its list of everything that could stand at the position. The text that the parser found
 * says more.
 */
function shortMessage(error: unknown) {
  const message = isObject(error) ? error['rawMessage'] : undefined;
  const text = typeof message === 'string' ? message : errorMessage(error);
  return text.replace(/ but expecting .*$/s, ' where that cannot be').replace(/^found /, 'there is ');
}

function offsetOf(error: unknown) {
  const location = isObject(error) ? error['location'] : undefined;
  const start = isObject(location) ? location['start'] : undefined;
  const offset = isObject(start) ? start['offset'] : undefined;
  return typeof offset === 'number' ? offset : 0;
}

type Expression = NonNullable<ReturnType<typeof parse>['expr']>;

type Selected = Extract<Expression['exprKind'], { case: 'selectExpr' }>['value'];

interface Seen {
  names: Set<string>;
  fields: Set<string>;
  goesThrough: boolean;
}

/** The condition for facts in which all texts are folded. Only its own texts are folded, not the names in it. */
function planFolded(text: string) {
  return plan(env, parse(text.replace(/"[^"]*"|'[^']*'/g, foldCase)));
}

const COMPARES = /==|!=|\bin\b|\.(?:startsWith|endsWith|contains|matches)\(/;
/** A field whose name sounds like a path or a URL, or a text with a slash. */
const PATH_LIKE =
  /\.\w*(?:path|file|dir|folder|cwd|ur[il]|link|href|host|domain|address|endpoint|origin)|["'][^"']*[/\\]/i;

/**
 * Checks each part of a condition once. Returns a message if a part is not allowed. `bound`: names that a loop in the
 * condition defines.
 */
function look(expression: Expression | undefined, seen: Seen, bound: readonly string[]): string | undefined {
  const kind = expression?.exprKind;
  if (kind === undefined) return undefined;
  const all = (parts: readonly (Expression | undefined)[], names = bound): string | undefined => {
    for (const part of parts) {
      const mistake = look(part, seen, names);
      if (mistake !== undefined) return mistake;
    }
    return undefined;
  };
  switch (kind.case) {
    case 'identExpr':
      if (!bound.includes(kind.value.name)) seen.names.add(kind.value.name);
      return undefined;
    case 'selectExpr': {
      const { operand, field, testOnly } = kind.value;
      if (isArgument(kind.value) && !testOnly && !bound.includes('args')) seen.fields.add(field);
      return all([operand]);
    }
    case 'callExpr': {
      const { function: name, target, args } = kind.value;
      if (!name.startsWith('@') && env.funcs.find(name) === undefined && !OPERATORS.test(name))
        return `there is no function '${name}'`;
      const parts = target === undefined ? args : [target, ...args];
      const pattern = name === 'matches' ? parts.at(-1)?.exprKind : undefined;
      if (pattern !== undefined && pattern.case !== 'constExpr')
        return 'a pattern has to stand in the condition as a text: a call may come with thousands of others';
      return all(parts);
    }
    case 'listExpr':
      return all(kind.value.elements);
    case 'structExpr':
      return all(
        kind.value.entries.flatMap(({ keyKind, value }) => [
          keyKind.case === 'mapKey' ? keyKind.value : undefined,
          value,
        ]),
      );
    case 'comprehensionExpr': {
      const { iterRange, accuInit, loopCondition, loopStep, result, iterVar, iterVar2, accuVar } = kind.value;
      if (bound.length > 0) return 'what goes through a list must not stand within another such';
      seen.goesThrough = true;
      const inner = [iterVar, iterVar2, accuVar];
      return all([iterRange, accuInit]) ?? all([loopCondition, loopStep, result], inner);
    }
    default:
      return undefined;
  }
}

/** The message about a part that is neither true nor false where only these can stand. Adds the fields of `args` there. */
function noTruth(expression: Expression | undefined, truths: Set<string>): string | undefined {
  const kind = expression?.exprKind;
  switch (kind?.case) {
    case 'identExpr':
      return `'${kind.value.name}' ${NO_TRUTH}`;
    case 'listExpr':
    case 'structExpr':
      return `a list or a map ${NO_TRUTH}`;
    case 'selectExpr':
      if (isArgument(kind.value) && !kind.value.testOnly) truths.add(kind.value.field);
      return undefined;
    case 'callExpr': {
      const { function: name, args } = kind.value;
      if (NUMBERS.test(name)) return `a number or a text ${NO_TRUTH}`;
      const parts = LOGIC.test(name) ? args : name === '_?_:_' ? args.slice(1) : [];
      return parts.map((part) => noTruth(part, truths)).find((mistake) => mistake !== undefined);
    }
    default:
      return undefined;
  }
}

/** The end of a message about what stands where only true or false can. */
export const NO_TRUTH = 'is neither true nor false: compare it with something';
const LOGIC = /^(_&&_|_\|\|_|!_)$/;
const NUMBERS = /^(_[-+*/%]_|-_|size|string|int|uint|double|bytes|duration|timestamp)$/;

function isArgument({ operand }: Selected) {
  const of = operand?.exprKind;
  return of?.case === 'identExpr' && of.value.name === 'args';
}

/** Functions that the planner itself implements. */
const OPERATORS = /^(_\?_:_|_&&_|_\|\|_|!_|_\[_\]|_\[\?_\]|_\?\._)$/;

function isTooLong(value: CelInput) {
  if (Array.isArray(value)) return value.length > MOST_ENTRIES || value.some(isTooLong);
  if (value instanceof Map) return value.size > MOST_ENTRIES || [...value.values()].some(isTooLong);
  return false;
}

/**
 * The arguments in the form that a condition reads. JSON has one kind of number, and CEL has several. A number becomes a whole number of CEL if the tool's schema says `integer`. Without a schema, each
 * number without a fraction becomes a whole number.
 */
export function conditionArguments(args: JsonObject, schema: JsonSchema | undefined): CelInput {
  return celValue(args, schema, schema);
}

function celValue(value: Json, schema: Json | undefined, root: JsonSchema | undefined): CelInput {
  const own = isSchema(schema) ? resolved(schema, root) : undefined;
  if (typeof value === 'number') return isWhole(value, own, root) ? BigInt(value) : value;
  if (Array.isArray(value)) return value.map((item, at) => celValue(item, itemSchema(own, at), root));
  if (typeof value !== 'object' || value === null) return value;
  // A map, because a field could have the name of a property that every JavaScript object has.
  return new Map(
    Object.entries(value).map(([name, item]) => [name, celValue(item, fieldSchema(own, name), root)]),
  );
}

function resolved(schema: JsonObject, root: JsonSchema | undefined): JsonObject {
  let own = schema;
  for (let n = 0; n < 8 && typeof own['$ref'] === 'string' && root !== undefined; n++) {
    const found = findReference(root, own['$ref']);
    if (!isSchema(found)) return own;
    own = found;
  }
  return own;
}

function isWhole(value: number, schema: JsonObject | undefined, root: JsonSchema | undefined): boolean {
  if (!Number.isSafeInteger(value)) return false;
  if (root === undefined) return true;
  if (schema === undefined) return false;
  const { type } = schema;
  if (type === 'integer') return true;
  if (Array.isArray(type) && type.includes('integer') && !type.includes('number')) return true;
  const ways = [schema['anyOf'], schema['oneOf'], schema['allOf']].flatMap((list) =>
    Array.isArray(list) ? list : [],
  );
  return ways.some((way) => isSchema(way) && isWhole(value, resolved(way, root), root));
}

function itemSchema(schema: JsonObject | undefined, at: number): Json | undefined {
  const first = schema?.['prefixItems'];
  return Array.isArray(first) && at < first.length ? first[at] : schema?.['items'];
}

function fieldSchema(schema: JsonObject | undefined, name: string): Json | undefined {
  const properties = schema?.['properties'];
  const isOwn = isSchema(properties) && Object.hasOwn(properties, name);
  return isOwn ? properties[name] : schema?.['additionalProperties'];
}

/** A duration as a CEL value, for conditions such as `age > duration('10m')`. */
export function celDuration(ms: number): CelValue {
  const made = run('duration(text)', { text: `${(ms / 1000).toFixed(3)}s` });
  if (isCelError(made)) throw new RangeError(`${ms} ms cannot be a duration: ${made.message}`);
  return made;
}
