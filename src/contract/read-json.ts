import { type Json, pointerOf } from './json';
import { isWellFormed } from './text/bytes';
import type { Issue } from './tool';

/** The value of a JSON text, or all problems for which the text is refused, with their places. */
type ReadJson = { ok: true; value: Json } | { ok: false; issues: Issue[] };

/** The most levels of a value. No person would read a deeper value, and it takes recursive code to its limits. */
const MOST_LEVELS = 64;
/** The most issues that are named. More would not help anybody to correct a text. */
const MOST_ISSUES = 20;

/**
 * Reads JSON strictly: an accepted value is exactly what is written. It refuses keys that occur twice, keys named
 * `__proto__`, numbers that JavaScript would change, half characters (lone surrogates), and more than `levels` levels
 * (default 64), and says where they are. It repairs nothing and never throws. The time is in proportion to the text, in
 * the workflow sandbox too.
 */
export function readJson(text: string, levels = MOST_LEVELS): ReadJson {
  let value: Json;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : 'it cannot be read';
    return { ok: false, issues: [{ path: '', message: `this is not JSON: ${why}` }] };
  }
  const issues = findTraps(text, levels);
  return issues.length === 0 ? { ok: true, value } : { ok: false, issues };
}

/** Issues in one line with their places, at most five. */
export function describeIssues(issues: readonly Issue[]): string {
  const lines = issues
    .slice(0, 5)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return lines.join('; ') + (issues.length > 5 ? `; and ${issues.length - 5} more` : '');
}

/** The refusal of an answer with these problems. */
export function misfitText(issues: readonly Issue[]): string {
  return `the answer does not fit the question: ${describeIssues(issues)}`;
}

/**
 * Whether a number, as written, has the value that JavaScript reads. So `1.0`, `1e2` and `0.10` are exact.
 * 9007199254740993, `1e400` and 0.1000000000000000055 are not.
 */
function isExactNumber(written: string): boolean {
  if (/^-?\d{1,15}$/.test(written)) return true;
  const value = Number(written);
  if (!Number.isFinite(value)) return false;
  const kept = String(value);
  return kept === written || sameDecimal(decimalOf(written), decimalOf(kept));
}

/** Whether a person typed a number. A number may end or begin with its point. */
export function isNumberText(typed: string): boolean {
  return /^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(typed.trim());
}

/** The number that a person typed. Undefined if the text is not a number, or cannot be kept exactly as one. */
export function readNumber(typed: string): number | undefined {
  return isNumberText(typed) && isExactNumber(typed.trim()) ? Number(typed) : undefined;
}

/** A decimal number: 0.`digits` times ten to the power of `exponent`. */
interface Decimal {
  negative: boolean;
  /** The digits without zeros at either end. Empty for 0. */
  digits: string;
  exponent: number;
}

function decimalOf(written: string): Decimal {
  const [mantissa = '', power = '0'] = written.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const all = whole + fraction;
  const start = firstOther(all);
  const digits = all.slice(start, lastOther(all) + 1);
  return { negative: mantissa.startsWith('-'), digits, exponent: whole.length - start + Number(power) };
}

/**
 * The index of the first digit other than 0. A loop, as in the next function, because a pattern for zeros at an end is
 * slower.
 */
function firstOther(digits: string) {
  let at = 0;
  while (digits[at] === '0') at++;
  return at;
}

function lastOther(digits: string) {
  let at = digits.length - 1;
  while (digits[at] === '0') at--;
  return at;
}

function sameDecimal(one: Decimal, other: Decimal) {
  if (one.digits === '' || other.digits === '') return one.digits === other.digits;
  return one.digits === other.digits && one.exponent === other.exponent && one.negative === other.negative;
}

/** Where the scan is: in an object with its keys so far, or at an index of a list. */
type Level = { keys: Set<string>; key: string | undefined } | { index: number };

/** The next structural character, or the beginning of a string or a number. */
const NEXT = /["{}[\],\d-]/g;
const NUMBER = /[\d.eE+-]+/y;

/** Finds the problems that JSON.parse does not report, in one pass. The text must be one that JSON.parse accepts. */
function findTraps(text: string, most: number): Issue[] {
  const levels: Level[] = [];
  const issues: Issue[] = [];
  for (let at = nextSign(text, 0); at !== undefined;) {
    const end = endOf(text, at);
    const message = step(levels, text.slice(at, end));
    if (levels.length > most) return [{ path: '', message: `nested more than ${most} levels deep` }];
    if (message !== undefined) issues.push({ path: pointerTo(levels), message });
    if (issues.length === MOST_ISSUES) return issues;
    at = nextSign(text, end);
  }
  return issues;
}

function nextSign(text: string, from: number): number | undefined {
  NEXT.lastIndex = from;
  return NEXT.exec(text)?.index;
}

function endOf(text: string, at: number) {
  if (text[at] === '"') return endOfString(text, at);
  if (/[^\d-]/.test(text.charAt(at))) return at + 1;
  NUMBER.lastIndex = at;
  return NUMBER.test(text) ? NUMBER.lastIndex : at + 1;
}

/**
 * The index at which a string ends. Looks for quotes and counts the backslashes before each, because a pattern would
 * need more memory.
 */
function endOfString(text: string, start: number) {
  for (let quote = text.indexOf('"', start + 1); quote !== -1; quote = text.indexOf('"', quote + 1)) {
    let before = quote - 1;
    while (text[before] === '\\') before--;
    if ((quote - before) % 2 === 1) return quote + 1;
  }
  return text.length;
}

function step(levels: Level[], token: string): string | undefined {
  const level = levels.at(-1);
  switch (token[0]) {
    case '{':
      return void levels.push({ keys: new Set(), key: undefined });
    case '[':
      return void levels.push({ index: 0 });
    case '}':
    case ']':
      return void levels.pop();
    case ',':
      return nextItem(level);
    case '"':
      return isKey(level) ? takeKey(level, valueOf(token)) : tornIn(valueOf(token));
    default:
      return checkNumber(token);
  }
}

function nextItem(level: Level | undefined): undefined {
  if (level === undefined) return;
  if ('keys' in level) level.key = undefined;
  else level.index++;
}

type InObject = Extract<Level, { keys: Set<string> }>;

function isKey(level: Level | undefined): level is InObject {
  return level !== undefined && 'keys' in level && level.key === undefined;
}

function takeKey(level: InObject, key: string): string | undefined {
  const twice = level.keys.has(key);
  level.keys.add(key);
  level.key = key;
  if (twice) return 'this key is there twice';
  return key === '__proto__' ? 'this key is not allowed' : tornIn(key);
}

function valueOf(token: string) {
  return token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1);
}

function tornIn(text: string): string | undefined {
  return isWellFormed(text) ? undefined : 'this text holds half a character (a lone surrogate)';
}

function checkNumber(token: string): string | undefined {
  if (isExactNumber(token)) return undefined;
  const value = Number(token);
  if (!Number.isFinite(value)) return 'this number is too large; write it as text';
  return `this number would become ${value}; write it as text`;
}

function pointerTo(levels: readonly Level[]) {
  return pointerOf(levels.map((level) => ('keys' in level ? (level.key ?? '') : level.index)));
}
