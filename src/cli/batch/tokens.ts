import { CountersignError } from '../../contract/errors';

/** One word of a condition, and where it stands in it (from 0). */
export type Token = { at: number } & (
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
export function readTokens(text: string): Token[] {
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
    return { token: { kind: 'number', value: numberOf(text.slice(at, number)), at }, end: number };
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

function numberOf(text: string): number {
  const unit = /[a-z]+$/.exec(text)?.[0] ?? '';
  const factor = UNITS[unit];
  return factor === undefined ? Number(text) : Number(text.slice(0, -unit.length)) * factor;
}

function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/gs, '$1');
}

/** A condition that cannot be read, with a mark below the place. */
export function unreadable(text: string, at: number, why: string): CountersignError {
  const line = text.replace(/\s/g, ' ');
  return new CountersignError('usage', `--where cannot be read: ${why}\n  ${line}\n  ${' '.repeat(at)}^`, {
    hint: `Write conditions such as --where 'args.amount < 50 and not args.to contains "@evil"'.`,
  });
}
