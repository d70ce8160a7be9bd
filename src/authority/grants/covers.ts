import { canonicalJson, digestJson } from '../../contract/digest';
import type { Json, JsonObject } from '../../contract/json';
import { plainText, plainUrl, URL_HEAD } from '../../contract/text/spelling';
import { ANY, type Condition, type Narrowing } from './narrowing';

/**
 * Whether a grant with this narrowing allows a call with these arguments. `parsed`: what the tool makes of them, if
 * that differs. It has to fit as well, except where one value is allowed: what follows from that value was allowed too.
 */
export function covers(narrowing: Narrowing, args: JsonObject, parsed = args): boolean {
  const names = Object.keys(narrowing);
  if (Object.keys(args).some((name) => !Object.hasOwn(narrowing, name))) return false;
  return names.every((name) => {
    const condition = narrowing[name];
    const fitsIn = (all: JsonObject) => {
      const value = Object.hasOwn(all, name) ? all[name] : undefined;
      return condition !== undefined && value !== undefined && fits(condition, value);
    };
    return fitsIn(args) && (condition?.is === 'equal' || fitsIn(parsed));
  });
}

function fits(condition: Condition, value: Json) {
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

function isIn(value: Json, { min = -Infinity, max = Infinity }: { min?: number; max?: number }) {
  return typeof value === 'number' && Number.isFinite(value) && value >= min && value <= max;
}

/**
 * Whether a text begins with a prefix. A URL prefix without a path means exactly that host, not all hosts whose names
 * begin so.
 */
function isBelow(text: string, prefix: string) {
  if (!URL_HEAD.test(prefix)) return !URL_HEAD.test(text) && text.startsWith(plainHead(prefix));
  const plain = plainUrl(prefix);
  return plain !== undefined && text.startsWith(plain);
}

/**
 * A prefix without `./` at its beginning. Nothing else is taken out: unlike a whole text, a prefix may end in the
 * middle of a part, as `src/.` does.
 */
function plainHead(prefix: string) {
  return prefix.startsWith('./') ? prefix.slice(2) : prefix;
}

/**
 * Whether a text fits a glob. `*` and `?` stay within one part of a path, and `**` goes across parts. None of them
 * matches a dot at the beginning of a part. The time is at most in proportion to the product of both lengths.
 */
function matchesGlob(text: string | undefined, glob: string) {
  if (text === undefined || URL_HEAD.test(text) !== URL_HEAD.test(glob)) return false;
  const parts = text.split('/');
  const wanted = glob.split('/');
  const last = wanted.length - 1;
  // The numbers of parts of the text that the parts of the glob so far can match.
  let ends = new Set([0]);
  for (const [at, one] of wanted.entries()) {
    const next = new Set<number>();
    let reached = 0;
    for (const from of ends) {
      if (one !== ANY) {
        if (from < parts.length && matchesPart(parts[from] ?? '', one)) next.add(from + 1);
        continue;
      }
      // A `**` at the end has to match at least one part: `src/**` does not match `src` itself.
      if (at !== last) next.add(from);
      reached = Math.max(from, reached);
      while (reached < parts.length && isSeen(parts[reached] ?? '')) next.add(++reached);
    }
    ends = next;
  }
  return ends.has(parts.length);
}

function isSeen(part: string) {
  return part !== '' && !part.startsWith('.');
}

function matchesPart(part: string, glob: string) {
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
