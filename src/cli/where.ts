import { CountersignError } from '../contract/errors';
import { isExact } from '../contract/read-json';
import { isObject, type Json, type JsonObject } from '../contract/json';

/** Where a value of a call is: `args.edits.0.path` is `['args', 'edits', '0', 'path']`. */
type Path = readonly string[];

const COMPARISONS = ['==', '!=', '<', '<=', '>', '>=', 'contains'] as const;
type Comparison = (typeof COMPARISONS)[number];

/** One side of a comparison. */
type Operand = { value: Json } | { path: Path };

/** A condition about one call. */
export type Condition =
  | { kind: 'and' | 'or'; left: Condition; right: Condition }
  | { kind: 'not'; of: Condition }
  | { kind: 'compare'; by: Comparison; left: Operand; right: Operand }
  /** True where the value is `true`. */
  | { kind: 'is'; of: Operand };

/** What a path can begin with. */
const ROOTS: readonly string[] = ['args', 'tool', 'agent', 'age', 'turn'];
const CONSTANTS: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['true', true],
  ['false', false],
  ['null', null],
]);
/** No person writes a condition deeper than this. */
const MOST_LEVELS = 50;

/**
 * Reads a condition: paths (`args.a.b`, `args.list.0`, `args["odd name"]`, `tool`, `agent`, `turn`, `age`), text, numbers,
 * times (`10m`), `true`, `false`, `null`, comparisons, `contains`, `and`, `or`, `not` (`&&`, `||`, `!`) and parentheses.
 * `not` binds closest, then `and`, then `or`. Nothing is evaluated but comparisons.
 *
 * @throws CountersignError `usage`, with the place of what cannot be read.
 */
export function parseWhere(text: string): Condition {
  const words: Words = { text, tokens: readTokens(text), at: 0, depth: 0 };
  const condition = readOr(words);
  if (peek(words) !== undefined) throw unexpected(words, 'the end, `and` or `or`');
  return condition;
}

interface Words {
  readonly text: string;
  readonly tokens: readonly Token[];
  at: number;
  depth: number;
}

function readOr(words: Words): Condition {
  let left = readAnd(words);
  while (take(words, 'or', '||')) left = { kind: 'or', left, right: readAnd(words) };
  return left;
}

function readAnd(words: Words): Condition {
  let left = readNot(words);
  while (take(words, 'and', '&&')) left = { kind: 'and', left, right: readNot(words) };
  return left;
}

function readNot(words: Words): Condition {
  if (++words.depth > MOST_LEVELS) throw unexpected(words, 'fewer levels');
  const condition = readOne(words);
  words.depth--;
  return condition;
}

function readOne(words: Words): Condition {
  if (take(words, 'not', '!')) return { kind: 'not', of: readNot(words) };
  if (!take(words, '(')) return readComparison(words);
  const inner = readOr(words);
  if (!take(words, ')')) throw unexpected(words, '`)`');
  return inner;
}

function readComparison(words: Words): Condition {
  const left = readOperand(words);
  const by = readSign(words);
  if (by === undefined) return { kind: 'is', of: left };
  return { kind: 'compare', by, left, right: readOperand(words) };
}

function readSign(words: Words): Comparison | undefined {
  const token = peek(words);
  if (token === undefined || token.kind === 'text' || token.kind === 'number') return undefined;
  const by = COMPARISONS.find((one) => one === token.value);
  if (by !== undefined) words.at++;
  return by;
}

function readOperand(words: Words): Operand {
  const token = peek(words);
  if (token === undefined || token.kind === 'sign') throw unexpected(words, 'a path or a value');
  words.at++;
  if (token.kind !== 'name') return { value: token.value };
  const constant = CONSTANTS.get(token.value);
  if (constant !== undefined) return { value: constant };
  if (!ROOTS.includes(token.value)) {
    throw unreadable(
      words.text,
      token.at,
      `'${token.value}' is not known; paths begin with ${ROOTS.join(', ')}`,
    );
  }
  return { path: [token.value, ...readParts(words)] };
}

function readParts(words: Words): string[] {
  const parts: string[] = [];
  for (;;) {
    if (take(words, '.')) parts.push(readPart(words, ['name']));
    else if (take(words, '[')) {
      parts.push(readPart(words, ['text', 'number']));
      if (!take(words, ']')) throw unexpected(words, '`]`');
    } else return parts;
  }
}

function readPart(words: Words, kinds: readonly Token['kind'][]): string {
  const token = peek(words);
  if (token === undefined || !kinds.includes(token.kind)) throw unexpected(words, 'a part of a path');
  words.at++;
  return String(token.value);
}

function peek({ tokens, at }: Words): Token | undefined {
  return tokens[at];
}

function take(words: Words, ...wanted: string[]): boolean {
  const token = peek(words);
  const isWanted = token !== undefined && token.kind !== 'text' && wanted.includes(String(token.value));
  if (isWanted) words.at++;
  return isWanted;
}

function unexpected(words: Words, expected: string): Error {
  const token = peek(words);
  const found = token === undefined ? 'it ends' : `there is '${token.value}'`;
  return unreadable(words.text, token?.at ?? words.text.length, `${found} where ${expected} should be`);
}

/** One word of a condition, and where it stands in it (from 0). */
type Token = { at: number } & (
  | { kind: 'number'; value: number }
  | { kind: 'text'; value: string }
  | { kind: 'name'; value: string }
  | { kind: 'sign'; value: string }
);

const SPACE = /\s*/y;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(ms|s|m|h|d)?(?![\w.])/y;
const NAME = /[A-Za-z_$][\w$-]*/y;
const TEXT = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/y;
const SIGN = /==|!=|<=|>=|&&|\|\||[<>!().[\]]/y;
const PLACE = /\d+(?![\w])/y;

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * The words of a condition. Durations are numbers of milliseconds.
 *
 * @throws CountersignError `usage`, with the place of what cannot be read.
 */
function readTokens(text: string): Token[] {
  const tokens: Token[] = [];
  let at = endOf(SPACE, text, 0) ?? 0;
  while (at < text.length) {
    const { token, end } = readToken(text, at, tokens.at(-1));
    tokens.push(token);
    at = endOf(SPACE, text, end) ?? end;
  }
  return tokens;
}

function readToken(text: string, at: number, before: Token | undefined): { token: Token; end: number } {
  // After a dot comes a part of a path: a number there is a place in a list, never a fraction.
  const isPart = before?.kind === 'sign' && before.value === '.';
  const place = isPart ? endOf(PLACE, text, at) : undefined;
  if (place !== undefined) return { token: { kind: 'name', value: text.slice(at, place), at }, end: place };
  const number = endOf(NUMBER, text, at);
  if (number !== undefined)
    return { token: { kind: 'number', value: numberAt(text, at, number), at }, end: number };
  const name = endOf(NAME, text, at);
  if (name !== undefined) return { token: { kind: 'name', value: text.slice(at, name), at }, end: name };
  const quoted = endOf(TEXT, text, at);
  if (quoted !== undefined)
    return { token: { kind: 'text', value: unquoted(text.slice(at, quoted)), at }, end: quoted };
  const sign = endOf(SIGN, text, at);
  if (sign !== undefined) return { token: { kind: 'sign', value: text.slice(at, sign), at }, end: sign };
  throw unreadable(text, at, `'${[...text.slice(at)][0] ?? ''}' means nothing here`);
}

function endOf(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : undefined;
}

function numberAt(text: string, at: number, end: number): number {
  const written = text.slice(at, end);
  const unit = /[a-z]+$/.exec(written)?.[0] ?? '';
  const number = written.slice(0, written.length - unit.length);
  if (!isExact(number)) throw unreadable(text, at, `this number would become ${Number(number)}`);
  return Number(number) * (UNITS[unit] ?? 1);
}

function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/gs, '$1');
}

/** A condition that cannot be read, with a mark below the place. */
function unreadable(text: string, at: number, why: string): CountersignError {
  const line = text.replace(/\s/g, ' ');
  return new CountersignError('usage', `--where cannot be read: ${why}\n  ${line}\n  ${' '.repeat(at)}^`, {
    hint: `Write conditions such as --where 'args.amount < 50 and not args.to contains "@evil"'.`,
  });
}

/** What a condition is asked about. */
export interface Facts {
  args: JsonObject;
  tool: string;
  agent: string;
  turn: string;
  /** How long the request waits, in milliseconds. */
  age: number;
}

/** `undefined`: unknown, because a value is missing or of another type. */
type Truth = boolean | undefined;

/**
 * Whether a condition is true of a call. If it is unknown, neither it nor its opposite is true: a call
 * without an amount is chosen neither by `args.amount < 50` nor by `not args.amount >= 50`.
 */
export function isTrueOf(condition: Condition, facts: Facts): boolean {
  return evaluate(condition, { ...facts }) === true;
}

function evaluate(condition: Condition, facts: JsonObject): Truth {
  switch (condition.kind) {
    case 'not': {
      const inner = evaluate(condition.of, facts);
      return inner === undefined ? undefined : !inner;
    }
    case 'and':
      return both(evaluate(condition.left, facts), evaluate(condition.right, facts));
    case 'or':
      return either(evaluate(condition.left, facts), evaluate(condition.right, facts));
    case 'is': {
      const value = valueOf(condition.of, facts);
      return typeof value === 'boolean' ? value : undefined;
    }
    case 'compare':
      return compare(condition.by, valueOf(condition.left, facts), valueOf(condition.right, facts));
  }
}

function both(left: Truth, right: Truth): Truth {
  if (left === false || right === false) return false;
  return left === undefined || right === undefined ? undefined : true;
}

function either(left: Truth, right: Truth): Truth {
  if (left === true || right === true) return true;
  return left === undefined || right === undefined ? undefined : false;
}

function compare(by: Comparison, left: Json | undefined, right: Json | undefined): Truth {
  if (left === undefined || right === undefined) return undefined;
  if (by === 'contains') return contains(left, right);
  if (by === '==' || by === '!=') {
    if (isObject(left) || isObject(right) || Array.isArray(left) || Array.isArray(right)) return undefined;
    const isNull = left === null || right === null;
    if (!isNull && typeof left !== typeof right) return undefined;
    return (left === right) === (by === '==');
  }
  if (typeof left === 'number' && typeof right === 'number') return order(by, left - right);
  if (typeof left === 'string' && typeof right === 'string')
    return order(by, left < right ? -1 : left > right ? 1 : 0);
  return undefined;
}

function order(by: Comparison, difference: number): boolean {
  if (by === '<') return difference < 0;
  if (by === '<=') return difference <= 0;
  return by === '>' ? difference > 0 : difference >= 0;
}

function contains(whole: Json, part: Json): Truth {
  if (typeof whole === 'string' && typeof part === 'string') return whole.includes(part);
  return Array.isArray(whole) ? whole.includes(part) : undefined;
}

function valueOf(operand: Operand, facts: JsonObject): Json | undefined {
  return 'value' in operand ? operand.value : at(facts, operand.path);
}

/** Only what is the value's own: `args.constructor` is nothing. */
function at(value: Json, [name, ...rest]: Path): Json | undefined {
  if (name === undefined) return value;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  const entries = Object.entries(value);
  const found = entries.find(([key]) => key === name)?.[1];
  return found === undefined ? undefined : at(found, rest);
}
