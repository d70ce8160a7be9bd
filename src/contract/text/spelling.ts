import type { Json, JsonObject } from '../json';

export const URL_HEAD = /^[a-z][a-z0-9+.-]*:\/\//i;
/** Characters that a handler, a server or a file system may read in more than one way. */
export const UNCLEAR = /[\u0000-\u001f\u007f-\u009f\\\u202a-\u202e\u2066-\u2069]/;
/** `.` and `..` with an escape, and signs that an escape hides. */
const ESCAPED = /%(?:2e|2f|5c|25|00)/i;
/** A name or an address, and a port. No user, and no dot at the end. */
export const HOST = /^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\])(?::\d{1,5})?$/;

/** Whether a name keeps its end: Windows removes dots and blanks from the end of a name. */
function isClear(part: string) {
  return part === '.' || part === '' || !/[. ]$/.test(part);
}

/** The names in a path. `.` and doubled slashes are taken out. */
export function namesIn(path: string): string[] {
  return path.split('/').filter((name) => name !== '' && name !== '.');
}

const MOST_TEXT = 4_096;

/**
 * A text in the one form in which texts are compared. In a path, `.` and doubled slashes are taken out. In a URL,
 * scheme and host are in lower case. Undefined if the text climbs with `..`, names a file with dots or blanks at the
 * end, has a user in its URL, or is unclear in another way. No prefix and no glob fits such a text.
 */
export function plainText(value: Json): string | undefined {
  if (typeof value !== 'string' || value.length > MOST_TEXT || UNCLEAR.test(value)) return undefined;
  return URL_HEAD.test(value) ? plainUrl(value) : plainPath(value);
}

function plainPath(value: string): string | undefined {
  if (!value.includes('/')) return isClear(value) ? value : undefined;
  if (!value.split('/').every(isClear)) return undefined;
  const names = namesIn(value).join('/');
  const isEmpty = names === '';
  return `${value.startsWith('/') ? '/' : ''}${names}${value.endsWith('/') && !isEmpty ? '/' : ''}`;
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

/** A URL of `URL`, in which escapes that mean nothing are taken out, and the other escapes are in upper case. */
export function plainEscapes(url: string): string {
  return url.replace(/%[0-9a-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : escape.toUpperCase();
  });
}

/** A text as a file system compares names that differ only in upper and lower case or in how accents are written. */
export function foldCase(text: string): string {
  // Some letters have two forms in lower case. Their form in upper case is the same.
  return text.normalize('NFC').toLowerCase().toUpperCase().toLowerCase();
}

/**
 * The arguments of a call in another form than the model wrote them, which rules judge as well. `isFolded`: all texts
 * are folded, because the tool's file system takes names in upper and lower case for the same.
 */
export interface JudgedForm {
  args: JsonObject;
  isFolded?: true;
}
