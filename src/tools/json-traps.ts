import type { Issue } from '../contract/tool';

/** Deeper arguments would not be read by a person, and take recursive code to its limits. */
const MOST_LEVELS = 64;

/** Where the scan is: an object knows its keys so far, a list its place. */
type Level = { keys: Set<string>; key: string | undefined } | { index: number };

/** Strings, numbers and the signs that give structure; all else is whitespace, `true`, `false`, `null`. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[{}[\],:]/g;

/**
 * What JSON.parse passes over in silence: duplicate keys, keys named `__proto__`, numbers it cannot hold, and depth.
 * Only for text that JSON.parse has accepted; one pass.
 */
export function findJsonTraps(text: string): Issue[] {
  const levels: Level[] = [];
  const issues: Issue[] = [];
  for (const [token] of text.matchAll(TOKEN)) {
    if (levels.length > MOST_LEVELS)
      return [{ path: '', message: `nested more than ${MOST_LEVELS} levels deep` }];
    const message = step(levels, token);
    if (message !== undefined) issues.push({ path: pointerTo(levels), message });
  }
  return issues;
}

function step(levels: Level[], token: string): string | undefined {
  const level = levels.at(-1);
  if (token === '{') levels.push({ keys: new Set(), key: undefined });
  else if (token === '[') levels.push({ index: 0 });
  else if (token === '}' || token === ']') levels.pop();
  else if (token === ',') nextItem(level);
  else if (token.startsWith('"'))
    return level !== undefined && 'keys' in level ? takeString(level, token) : undefined;
  else if (token !== ':') return checkNumber(token);
  return undefined;
}

function nextItem(level: Level | undefined): void {
  if (level === undefined) return;
  if ('keys' in level) level.key = undefined;
  else level.index++;
}

function takeString(
  level: { keys: Set<string>; key: string | undefined },
  token: string,
): string | undefined {
  if (level.key !== undefined) return undefined;
  const key = String(JSON.parse(token));
  const twice = level.keys.has(key);
  level.keys.add(key);
  level.key = key;
  if (twice) return 'this key is there twice';
  return key === '__proto__' ? 'this key is not allowed' : undefined;
}

function checkNumber(token: string): string | undefined {
  const value = Number(token);
  if (!Number.isFinite(value)) return 'this number is too large';
  // Kept is what is written again the same, or stands for the same whole number.
  const changed = /^-?\d+$/.test(token) && String(value) !== token && BigInt(token) !== BigInt(value);
  return changed ? 'this number has more digits than can be kept; write it as text' : undefined;
}

function pointerTo(levels: readonly Level[]): string {
  const steps = levels.map((level) => ('keys' in level ? (level.key ?? '') : String(level.index)));
  return steps.map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
