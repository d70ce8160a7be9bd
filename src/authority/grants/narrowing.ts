import { canonicalJson, digestJson } from '../../contract/digest';
import type { JsonObject } from '../../contract/json';
import type { Of } from '../../contract/schema/shape';
import { utf8Bytes } from '../../contract/text/bytes';
import { HOST, plainUrl, UNCLEAR, URL_HEAD } from '../../contract/text/spelling';
import { BY_EQUALITY, isRunArgument } from './by-equality';
import type { GRANT_CONDITION } from './grant-schemas';

/**
 * The condition on one argument of a call that a grant allows. `equal`: this value, or the value of this digest if it
 * is long. `prefix` and `glob`: a text, looked at as a path or a URL. `range`: a number, both ends included.
 */
export type Condition = Of<typeof GRANT_CONDITION>;

/** The condition on each argument. The call must not have other arguments. */
export type Narrowing = Readonly<Record<string, Condition>>;

/** A longer value (in characters) is kept as its digest, because all grants together have to fit one payload. */
const MOST_VALUE = 300;

/** A narrowing to the same arguments. A grant allows only these unless its giver says otherwise. */
export function exactly(args: JsonObject): Record<string, Condition> {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [
      name,
      canonicalJson(value).length <= MOST_VALUE
        ? { is: 'equal', value }
        : { is: 'equal', digest: digestJson(value) },
    ]),
  );
}

/** Whether all arguments have to be the same. */
export function isExact(narrowing: Narrowing): boolean {
  return Object.values(narrowing).every(({ is }) => is === 'equal');
}

/** Only this glob fits every text, even a text with line breaks or `..`. */
export const ANY = '**';
/** The most arguments, and the most characters of a prefix or glob. */
const MOST_NAMES = 50;
const MOST_PATTERN = 200;
const MOST_NARROWING_BYTES = 4 * 1024;

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
