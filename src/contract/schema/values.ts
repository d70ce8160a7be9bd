import canonicalize from 'canonicalize';
import { namesOfFields, isObject, type JsonObject } from '../json';
import { isRegularExpression } from './pattern';

/** A schema and a value, for the keywords that are about the value itself. */
interface Asserted {
  schema: JsonObject;
  value: unknown;
  result: { fail(message: string | (() => string)): void };
  /** Compiles a pattern of a schema, once for each pattern. */
  pattern: (pattern: string) => (text: string) => boolean;
  /** Counts work, and may throw to end the check. */
  spend: (work: number) => void;
}

// In the sandbox of workflows every use of a global is slow, and this one is used for every part of a value.
const { isArray } = Array;

/** The type of a value by the names of JSON Schema. Throws for a value that is not JSON. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (isArray(value)) return 'array';
  const type = typeof value;
  if (type === 'string' || type === 'number' || type === 'boolean' || type === 'object') return type;
  throw new Error(`a value of type ${type} is not JSON`);
}

/** Checks all keywords that are about the value itself and not about its parts. */
export function assertValue(asserted: Asserted): void {
  const { value } = asserted;
  assertType(asserted);
  assertMembership(asserted);
  if (typeof value === 'string') assertText(asserted, value);
  else if (typeof value === 'number') assertNumber(asserted, value);
  else if (isArray(value)) assertList(asserted, value);
  else if (isObject(value)) assertSize(asserted, value);
}

function assertType({ schema: { type }, value, result }: Asserted) {
  if (type === undefined) return;
  const actual = typeOf(value);
  const wanted = isArray(type) ? type : [type];
  const isInteger = typeof value === 'number' && value % 1 === 0;
  if (wanted.includes(actual) || (isInteger && wanted.includes('integer'))) return;
  result.fail(`Instance type "${actual}" is invalid. Expected "${wanted.join('", "')}".`);
}

function assertMembership({ schema, value, result }: Asserted) {
  const { const: only, enum: some } = schema;
  if (only !== undefined && !isSame(value, only))
    result.fail(() => `Instance does not match ${shown(only)}.`);
  if (isArray(some) && !some.some((one) => isSame(value, one)))
    result.fail(() => `Instance does not match any of ${shown(some)}.`);
}

function isSame(a: unknown, b: unknown) {
  if (a === b) return true;
  const areDeep = typeof a === 'object' && typeof b === 'object' && a !== null && b !== null;
  return areDeep && canonicalize(a) === canonicalize(b);
}

function shown(value: unknown) {
  const text = JSON.stringify(value);
  return text.length <= 1000 ? text : `${text.slice(0, 1000)}…`;
}

function assertText({ schema, result, pattern }: Asserted, text: string) {
  const { minLength, maxLength, pattern: source, format } = schema;
  if (minLength !== undefined || maxLength !== undefined) {
    const length = characters(text);
    if (isUnder(length, minLength)) result.fail(`String is too short (${length} < ${String(minLength)}).`);
    if (isUnder(maxLength, length)) result.fail(`String is too long (${length} > ${String(maxLength)}).`);
  }
  if (typeof source === 'string' && !pattern(source)(text)) result.fail('String does not match pattern.');
  if (typeof format === 'string' && fitsFormat(format, text) === false)
    result.fail(`String does not match format "${String(format)}".`);
}

/** The length of a text in code points, as JSON Schema counts it. */
function characters(text: string) {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function assertNumber({ schema, result }: Asserted, value: number) {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf } = schema;
  if (isUnder(value, minimum)) result.fail(`${value} is less than ${String(minimum)}.`);
  if (isUnder(maximum, value)) result.fail(`${value} is greater than ${String(maximum)}.`);
  if (typeof above === 'number' && value <= above) result.fail(`${value} is less than or equal to ${above}.`);
  if (typeof below === 'number' && value >= below)
    result.fail(`${value} is greater than or equal to ${below}.`);
  if (typeof multipleOf !== 'number') return;
  const rest = Math.abs(value % multipleOf);
  if (rest >= TOLERANCE && Math.abs(multipleOf - rest) >= TOLERANCE)
    result.fail(`${value} is not a multiple of ${multipleOf}.`);
}

/** The tolerance for `multipleOf`: 0.3 counts as a multiple of 0.1, although it is not one in binary numbers. */
const TOLERANCE = 1.1920929e-7;

function assertList(asserted: Asserted, list: readonly unknown[]) {
  const { schema, result } = asserted;
  const { minItems, maxItems, uniqueItems } = schema;
  if (isUnder(list.length, minItems))
    result.fail(`Array has too few items (${list.length} < ${String(minItems)}).`);
  if (isUnder(maxItems, list.length))
    result.fail(`Array has too many items (${list.length} > ${String(maxItems)}).`);
  if (uniqueItems === true) assertUnique(list, asserted);
}

function assertUnique(list: readonly unknown[], { result, spend }: Asserted) {
  const seen = new Map<string | undefined, number>();
  for (const [index, item] of list.entries()) {
    const text = canonicalize(item);
    spend((text?.length ?? 0) / 64);
    const before = seen.get(text);
    if (before !== undefined) return result.fail(`Duplicate items at indexes ${before} and ${index}.`);
    seen.set(text, index);
  }
}

function assertSize({ schema, result }: Asserted, value: Record<string, unknown>) {
  const { minProperties: least, maxProperties: most } = schema;
  if (least === undefined && most === undefined) return;
  const { length } = namesOfFields(value);
  if (isUnder(length, least)) result.fail(`Instance does not have at least ${String(least)} properties.`);
  if (isUnder(most, length)) result.fail(`Instance has more than ${String(most)} properties.`);
}

function isUnder(value: unknown, bound: unknown) {
  return typeof value === 'number' && typeof bound === 'number' && value < bound;
}

/**
 * The formats that are checked. Each check is linear in the text, because no expression here can match a text in two
 * ways. JSON Schema treats any other format as a note to the reader.
 */
export const FORMATS: readonly (readonly [string, (text: string) => boolean])[] = [
  ['date', isDate],
  ['time', (text) => isTime(text)],
  ['date-time', isDateTime],
  ['duration', (text) => text.length < 80 && DURATION.test(text)],
  ['uri', isUri],
  ['uri-reference', isUriReference],
  ['uri-template', fits(/^(?:[^\x00-\x20"'<>%\\^`{|}]|%[0-9a-f]{2}|\{[+#./;?&=,!@|]?[^{}\s]+\})*$/i)],
  ['url', isUrl],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', isIpv4],
  ['ipv6', isIpv6],
  ['regex', isRegularExpression],
  ['uuid', fits(/^(?:urn:uuid:)?[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i)],
  ['json-pointer', fits(/^(?:\/(?:[^~/]|~0|~1)*)*$/)],
  ['json-pointer-uri-fragment', fits(/^#(?:\/(?:[a-z0-9_\-.!$&'()*+,;:=@]|%[0-9a-f]{2}|~0|~1)*)*$/i)],
  ['relative-json-pointer', fits(/^(?:0|[1-9][0-9]*)(?:#|(?:\/(?:[^~/]|~0|~1)*)*)$/)],
];

/** Whether a text fits a format. Undefined for a format that is not checked. */
export function fitsFormat(format: string, text: string): boolean | undefined {
  return FORMATS.find(([name]) => name === format)?.[1](text);
}

function fits(expression: RegExp): (text: string) => boolean {
  return (text) => expression.test(text);
}

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(text: string) {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  if (year === undefined) return false;
  const isLeap = Number(year) % 4 === 0 && (Number(year) % 100 !== 0 || Number(year) % 400 === 0);
  const last = month === '02' && isLeap ? 29 : (DAYS[Number(month) - 1] ?? 0);
  return Number(day) >= 1 && Number(day) <= last;
}

/** Whether a text is a time of day. A leap second exists only at the end of a day. `zoned`: the offset is required. */
function isTime(text: string, zoned = false) {
  const match = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(z|[+-]\d\d(?::?\d\d)?)?$/i.exec(text);
  if (match === null || (zoned && match[4] === undefined)) return false;
  const [hour = 99, minute = 99, second = 99] = match.slice(1, 4).map(Number);
  if (hour === 23 && minute === 59 && second === 60) return true;
  return hour <= 23 && minute <= 59 && second <= 59;
}

function isDateTime(text: string) {
  return isDate(text.slice(0, 10)) && /^[t\s]$/i.test(text.slice(10, 11)) && isTime(text.slice(11), true);
}

const DURATION =
  /^P(?!$)(?:\d+W|(?:\d+Y)?(?:\d+M)?(?:\d+D)?(?:T(?=\d)(?:\d+H)?(?:\d+M)?(?:\d+(?:[.,]\d+)?S)?)?)$/;

const URI_CHARACTERS = /^(?:[a-z0-9\-._~:/?#[\]@!$&'()*+,;="]|%[0-9a-f]{2})*$/i;

function isUriReference(text: string) {
  if (!URI_CHARACTERS.test(text) || text.split('#', 3).length > 2) return false;
  const [, scheme, authority = '', path = ''] = /^([^:/?#]*:)?(?:\/\/([^/?#]*))?([^]*)$/.exec(text) ?? [];
  if (scheme !== undefined && !/^[a-z][a-z0-9+.-]*:$/i.test(scheme)) return false;
  return !/[[\]]/.test(path) && isAuthority(authority);
}

function isAuthority(text: string) {
  const host = text.slice(text.lastIndexOf('@') + 1);
  const [, literal, port = ''] = /^\[([^[\]]*)\](.*)$/.exec(host) ?? [];
  if (literal !== undefined)
    return /^(?::\d*)?$/.test(port) && (isIpv6(literal) || /^v[0-9a-f]+\../i.test(literal));
  return !/[[\]]/.test(text) && /^[^:]*(?::\d*)?$/.test(host);
}

function isUri(text: string) {
  return /^[a-z][a-z0-9+.-]*:[^]/i.test(text) && isUriReference(text);
}

/** Whether a text is an address on the public internet by http, https or ftp. */
function isUrl(text: string) {
  const [, authority = ''] = /^(?:https?|ftp):\/\/([^/\s]+)(?:\/\S*)?$/i.exec(text) ?? [];
  const [, host = ''] = /^([^:]+)(?::\d{2,5})?$/.exec(authority.slice(authority.lastIndexOf('@') + 1)) ?? [];
  return isIpv4(host) ? isPublic(host) : isPublicName(host);
}

function isPublicName(host: string) {
  const labels = host.split('.');
  const isLabel = (label: string) =>
    /^[a-z\u00a1-\uffff0-9-]+$/i.test(label) && !label.startsWith('-') && !label.endsWith('-');
  return labels.length > 1 && labels.every(isLabel) && /^[a-z\u00a1-\uffff]{2,}$/i.test(labels.at(-1) ?? '');
}

function isPublic(address: string) {
  const [a = 0, b = 0, , d = 0] = address.split('.').map(Number);
  const isPrivate =
    a === 10 ||
    a === 127 ||
    (a === 169 && b === 254) ||
    (a === 192 && b === 168) ||
    (a === 172 && b >= 16 && b <= 31);
  return !isPrivate && a >= 1 && a <= 223 && d >= 1 && d <= 254;
}

function isEmail(text: string) {
  const [name = '', host = '', ...rest] = text.split('@', 3);
  if (name === '' || name.length > 64 || rest.length > 0) return false;
  if (name.startsWith('.') || name.endsWith('.') || name.includes('..')) return false;
  return /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+$/i.test(name) && !host.endsWith('.') && isHostname(host);
}

function isHostname(text: string) {
  const name = text.endsWith('.') ? text.slice(0, -1) : text;
  if (name.length > 253) return false;
  return name
    .split('.')
    .every((part) => part.length <= 63 && /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$/i.test(part));
}

function isIpv4(text: string) {
  const parts = text.split('.', 5);
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}

/**
 * Whether a text is an IPv6 address. It has eight groups. `::` stands once for at least one group, and an IPv4 address
 * may stand for the last two.
 */
function isIpv6(text: string) {
  if (text.length > 45) return false;
  const [head = '', tail, ...rest] = text.split('::', 3);
  if (rest.length > 0) return false;
  const groups = [head, tail ?? ''].flatMap((side) => (side === '' ? [] : side.split(':')));
  const last = groups.at(-1) ?? '';
  const endsInIpv4 = last.includes('.');
  const hex = endsInIpv4 ? groups.slice(0, -1) : groups;
  if (endsInIpv4 && (!isIpv4(last) || tail === '')) return false;
  const count = hex.length + (endsInIpv4 ? 2 : 0);
  return (
    hex.every((group) => /^[0-9a-f]{1,4}$/i.test(group)) && (tail === undefined ? count === 8 : count < 8)
  );
}
