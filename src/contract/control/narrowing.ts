import { canonicalJson, digestJson } from '../digest';
import type { Json, JsonObject } from '../json';
import { utf8Bytes } from '../text/bytes';
import { BY_EQUALITY, isRunArgument } from './by-equality';

/**
 * The condition on one argument of a call that a grant allows. `equal`: this value, or the value of this digest if it
 * is long. `prefix` and `glob`: a text, looked at as a path or a URL. `range`: a number, both ends included.
 */
export type Condition =
  | { is: 'equal'; value: Json }
  | { is: 'equal'; digest: string }
  | { is: 'prefix'; prefix: string }
  | { is: 'range'; min?: number; max?: number }
  | { is: 'glob'; glob: string };

/** The condition on each argument. The call must not have other arguments. */
export type Narrowing = Readonly<Record<string, Condition>>;

/** A longer value (in characters) is kept as its digest, because all grants together have to fit one payload. */
const MOST_VALUE = 300;

/** A narrowing to the same arguments. A grant allows only these unless its giver says otherwise. */
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

/** Only this glob fits every text, even a text with line breaks or `..`. */
export const ANY = '**';
export const URL_HEAD = /^[a-z][a-z0-9+.-]*:\/\//i;
/** Characters that a handler, a server or a file system may read in more than one way. */
export const UNCLEAR = /[\u0000-\u001f\u007f-\u009f\\\u202a-\u202e\u2066-\u2069]/;
/** `.` and `..` with an escape, and signs that an escape hides. */
const ESCAPED = /%(?:2e|2f|5c|25|00)/i;
/** Whether a name keeps its end: Windows removes dots and blanks from the end of a name. */
export function isClear(part: string): boolean {
  return part === '.' || part === '' || !/[. ]$/.test(part);
}

/** The canonical form of a URL. Undefined if the text is not a URL, or hides what it means. */
export function plainUrl(value: string): string | undefined {
  const [address = '', ...rest] = value.split(/(?=[?#])/);
  const path = address.replace(URL_HEAD, '').split('/').slice(1);
  if (ESCAPED.test(address) || path.some((part) => !isClear(part) || part === '.')) return undefined;
  if (address.includes(' ') || rest.some((part) => /\s/.test(part))) return undefined;
  // We do not use `URL`: the workflow sandbox, the page and each worker would have to parse alike.
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

/** The most arguments, and the most characters of a prefix or glob. */
const MOST_NAMES = 50;
const MOST_PATTERN = 200;
export const MOST_NARROWING_BYTES = 4 * 1024;

/** The problem with a narrowing that somebody gives. Undefined: there is no problem. */
export function narrowingProblem(narrowing: Narrowing): string | undefined {
  const all = Object.entries(narrowing);
  if (all.length > MOST_NAMES) return `it names more than ${MOST_NAMES} arguments`;
  if (utf8Bytes(canonicalJson(narrowing)) > MOST_NARROWING_BYTES)
    return `it has over ${MOST_NARROWING_BYTES} bytes`;
  for (const [name, condition] of all) {
    if (condition.is === 'equal') continue;
    const why = conditionProblem(condition) ?? (isRunArgument(name) ? BY_EQUALITY : undefined);
    if (why !== undefined) return `${name}: ${why}`;
  }
  return undefined;
}

function conditionProblem(condition: Exclude<Condition, { is: 'equal' }>): string | undefined {
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
