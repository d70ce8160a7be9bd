import type { Json } from '../../contract/json';
import { COMPARISONS, type Comparison, type Condition, type Operand } from './condition';
import { readTokens, unreadable, type Token } from './tokens';

/** What a path can begin with. */
const ROOTS: readonly string[] = ['args', 'tool', 'agent', 'age', 'turn'];
const CONSTANTS: ReadonlyMap<string, Json> = new Map<string, Json>([
  ['true', true],
  ['false', false],
  ['null', null],
]);
/** Deeper conditions are no conditions that a person wrote. */
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
