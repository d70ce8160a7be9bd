import { canonicalJson, digestJson } from '../digest';
import type { Json, JsonObject } from '../json';
import { utf8Bytes } from '../text/bytes';

/**
 * What one argument has to be, so that a grant allows the call. `equal`: this value, or the value of this digest where it is
 * long. `prefix` and `glob`: a text, looked at as a path or a URL. `range`: a number, both ends included.
 */
export type Condition =
  | { is: 'equal'; value: Json }
  | { is: 'equal'; digest: string }
  | { is: 'prefix'; prefix: string }
  | { is: 'range'; min?: number; max?: number }
  | { is: 'glob'; glob: string };

/** What each argument has to be. An argument that is not named must not be there. */
export type Narrowing = Readonly<Record<string, Condition>>;

/** A value of more characters stands as its digest: all grants together have to fit one payload. */
const MOST_VALUE = 300;

/** Only calls with the same arguments: what a grant allows unless its giver says otherwise. */
export function exactly(args: JsonObject): Record<string, Condition> {
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [name, equalTo(value)]));
}

function equalTo(value: Json): Condition {
  return canonicalJson(value).length <= MOST_VALUE
    ? { is: 'equal', value }
    : { is: 'equal', digest: digestJson(value) };
}

/** Whether all arguments have to be the same. */
export function isExact(narrowing: Narrowing): boolean {
  return Object.values(narrowing).every(({ is }) => is === 'equal');
}

/** Whether a call with these arguments is one that a grant allows. */
export function covers(narrowing: Narrowing, args: JsonObject): boolean {
  const names = Object.keys(narrowing);
  if (Object.keys(args).some((name) => !Object.hasOwn(narrowing, name))) return false;
  return names.every((name) => {
    const condition = narrowing[name];
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    return condition !== undefined && value !== undefined && fits(condition, value);
  });
}

function fits(condition: Condition, value: Json): boolean {
  switch (condition.is) {
    case 'equal':
      return 'digest' in condition
        ? digestJson(value) === condition.digest
        : canonicalJson(value) === canonicalJson(condition.value);
    case 'range':
      return isIn(value, condition);
    case 'prefix': {
      const text = plainText(value);
      return text !== undefined && isBelow(text, condition.prefix);
    }
    case 'glob':
      if (condition.glob === ANY) return typeof value === 'string';
      return matchesGlob(plainText(value), condition.glob);
  }
}

function isIn(value: Json, { min = -Infinity, max = Infinity }: { min?: number; max?: number }): boolean {
  return typeof value === 'number' && Number.isFinite(value) && value >= min && value <= max;
}

/** This glob alone lets any text through, also one with lines and `..`. */
const ANY = '**';
const URL_HEAD = /^[a-z][a-z0-9+.-]*:\/\//i;
/** What a handler, a server or a file system may read in more than one way. */
const UNCLEAR = /[\u0000-\u001f\u007f-\u009f\\\u202a-\u202e\u2066-\u2069]/;
/** `.` and `..` with an escape, and signs that an escape hides. */
const ESCAPED = /%(?:2e|2f|5c|25|00)/i;
const MOST_TEXT = 4_096;

/**
 * A text in the one form in which it is compared: `.` and doubled slashes of a path are taken out, and scheme and host of a
 * URL are in lower case. Undefined: it climbs with `..`, names a file with dots or blanks at the end, has a user in its URL,
 * or is otherwise not clear, so no prefix and no glob fits it.
 */
export function plainText(value: Json): string | undefined {
  if (typeof value !== 'string' || value.length > MOST_TEXT || UNCLEAR.test(value)) return undefined;
  return URL_HEAD.test(value) ? plainUrl(value) : plainPath(value);
}

function plainPath(value: string): string | undefined {
  if (!value.includes('/')) return isClear(value) ? value : undefined;
  const parts = value.split('/');
  if (!parts.every(isClear)) return undefined;
  const kept = parts.filter(
    (part, at) => part !== '.' && (part !== '' || at === 0 || at === parts.length - 1),
  );
  return kept.join('/');
}

/** Windows takes dots and blanks off the end of a name. */
function isClear(part: string): boolean {
  return part === '.' || part === '' || !/[. ]$/.test(part);
}

function plainUrl(value: string): string | undefined {
  const [address = '', ...rest] = value.split(/(?=[?#])/);
  const path = address.replace(URL_HEAD, '').split('/').slice(1);
  if (ESCAPED.test(address) || path.some((part) => !isClear(part) || part === '.')) return undefined;
  if (address.includes(' ') || rest.some((part) => /\s/.test(part))) return undefined;
  // Not by URL: the sandbox of workflows and the page would have to agree with each worker.
  const head = URL_HEAD.exec(address)?.[0].toLowerCase() ?? '';
  const after = address.slice(head.length);
  const [authority = '', ...segments] = after.split('/');
  const host = authority.toLowerCase();
  if (!HOST.test(host)) return undefined;
  const doubled = segments.slice(0, -1).includes('');
  return doubled ? undefined : `${head}${host}/${segments.join('/')}${rest.join('')}`;
}

/** A name or an address, and a port. No user, and no dot at the end. */
const HOST = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** A prefix of a URL without a path means that host alone, and not those whose names begin with it. */
function isBelow(text: string, prefix: string): boolean {
  if (!URL_HEAD.test(prefix)) return !URL_HEAD.test(text) && text.startsWith(plainHead(prefix));
  const plain = plainUrl(prefix);
  return plain !== undefined && text.startsWith(plain);
}

/** A prefix may end where no whole text could, as `src/.` does. */
function plainHead(prefix: string): string {
  return prefix.startsWith('./') ? prefix.slice(2) : prefix;
}

/**
 * Whether a text fits a glob. `*` and `?` stay within one part of a path, `**` goes through any parts; none of them takes a
 * dot at the beginning of a part. Takes time by the product of both lengths, whatever they are.
 */
function matchesGlob(text: string | undefined, glob: string): boolean {
  if (text === undefined || URL_HEAD.test(text) !== URL_HEAD.test(glob)) return false;
  const parts = text.split('/');
  const wanted = glob.split('/');
  const last = wanted.length - 1;
  // What the parts of the glob so far may have come to, as counts of parts of the text.
  let ends = new Set([0]);
  for (const [at, one] of wanted.entries()) {
    const next = new Set<number>();
    for (const from of ends) {
      if (one !== ANY) {
        if (from < parts.length && matchesPart(parts[from] ?? '', one)) next.add(from + 1);
        continue;
      }
      // The last one stands for something: `src/**` is not `src` itself.
      if (at !== last) next.add(from);
      for (let to = from; to < parts.length && isSeen(parts[to] ?? ''); to++) next.add(to + 1);
    }
    ends = next;
  }
  return ends.has(parts.length);
}

function isSeen(part: string): boolean {
  return part !== '' && !part.startsWith('.');
}

function matchesPart(part: string, glob: string): boolean {
  if (part.startsWith('.') && !glob.startsWith('.')) return false;
  let ends = new Set([0]);
  for (const sign of glob) {
    const next = new Set<number>();
    for (const from of ends) {
      if (sign === '*') for (let to = from; to <= part.length; to++) next.add(to);
      else if (from < part.length && (sign === '?' || part.startsWith(sign, from)))
        next.add(from + sign.length);
      if (sign === '*') break;
    }
    ends = next;
  }
  return ends.has(part.length);
}

/** Arguments, and characters of a prefix or glob. */
const MOST_NAMES = 50;
const MOST_PATTERN = 200;
export const MOST_NARROWING_BYTES = 4 * 1024;

/** What is wrong with a narrowing that somebody gives; undefined: nothing. */
export function narrowingProblem(narrowing: Narrowing): string | undefined {
  const all = Object.entries(narrowing);
  if (all.length > MOST_NAMES) return `it names more than ${MOST_NAMES} arguments`;
  if (utf8Bytes(canonicalJson(narrowing)) > MOST_NARROWING_BYTES)
    return `it has over ${MOST_NARROWING_BYTES} bytes`;
  for (const [name, condition] of all) {
    const why = conditionProblem(condition) ?? (isCommand(name, condition) ? BY_EQUALITY : undefined);
    if (why !== undefined) return `${name}: ${why}`;
  }
  return undefined;
}

const BY_EQUALITY = 'what a program runs is allowed by equality only';

/** A command that begins well may end badly. */
function isCommand(name: string, { is }: Condition): boolean {
  return is !== 'equal' && COMMANDS.includes(name.toLowerCase());
}

/** Arguments of these names are run. */
const COMMANDS: readonly string[] = [
  'command',
  'cmd',
  'commandline',
  'argv',
  'script',
  'shell',
  'code',
  'sql',
];

function conditionProblem(condition: Condition): string | undefined {
  if (condition.is === 'equal') return undefined;
  if (condition.is === 'range') {
    const { min, max } = condition;
    if (min === undefined && max === undefined) return 'a range has at least one end';
    return min !== undefined && max !== undefined && min > max ? 'nothing lies in this range' : undefined;
  }
  const text = condition.is === 'prefix' ? condition.prefix : condition.glob;
  if (text === '' || text.length > MOST_PATTERN) return `it has 1 to ${MOST_PATTERN} characters`;
  if (UNCLEAR.test(text)) return 'it has control characters or a backslash';
  if (/(?:^|\/)\.\.(?:\/|$)/.test(text)) return 'it climbs with ..';
  if (condition.is === 'glob' && text.split('/').some((part) => part !== ANY && part.includes(ANY)))
    return '** stands alone between slashes';
  if (!URL_HEAD.test(text)) return undefined;
  if (condition.is === 'prefix')
    return plainUrl(text) === undefined ? 'it is not a clear beginning of a URL' : undefined;
  const host = text.replace(URL_HEAD, '').split('/', 1)[0] ?? '';
  const isHost = HOST.test(host.startsWith('*.') ? host.slice(2) : host);
  return isHost ? undefined : 'its host is a name, or *. and a name, in lower case';
}

const OTHERS = 'no other argument';

/** What a narrowing lets through, in words. */
export function narrowingText(narrowing: Narrowing): string {
  const all = Object.entries(narrowing);
  if (all.length === 0) return 'without arguments';
  if (isExact(narrowing)) return 'with exactly these arguments';
  const parts = all.map(([name, condition]) => `${name} ${conditionText(condition)}`);
  return `with ${parts.join(', ')}, and ${OTHERS}`;
}

/** What one argument has to be, in words. */
export function conditionText(condition: Condition): string {
  switch (condition.is) {
    case 'equal':
      return 'digest' in condition
        ? `exactly as it was (SHA-256 ${condition.digest.slice(0, 16)})`
        : `= ${JSON.stringify(condition.value)}`;
    case 'prefix':
      return `beginning with ${JSON.stringify(condition.prefix)}`;
    case 'glob':
      return condition.glob === ANY ? 'any text' : `like ${JSON.stringify(condition.glob)}`;
    case 'range': {
      const { min, max } = condition;
      if (min === undefined) return `up to ${String(max)}`;
      return max === undefined ? `from ${min}` : `from ${min} to ${max}`;
    }
  }
}
