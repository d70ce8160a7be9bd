import { RE2JS } from 're2js';
import { ToolError } from '../errors';

/**
 * Whether a path (relative, with `/`) matches a glob: `*`, `?`, `**` and `{a,b}`; anything else means itself. A glob
 * without `/` is about the name alone. Matching takes linear time.
 */
export function globMatcher(glob: string): (path: string) => boolean {
  const pattern = compile(glob);
  const byName = !glob.includes('/');
  return (path) => pattern.testExact(byName ? (path.split('/').at(-1) ?? path) : path);
}

function compile(glob: string): RE2JS {
  try {
    return RE2JS.compile(toRegex(glob.replace(/^\.\//, '')), RE2JS.DOTALL);
  } catch (error) {
    throw new ToolError(`"${glob}" is not a glob; use *, ?, ** and {a,b}.`, { cause: error });
  }
}

const TOKEN = /\*\*\/|\*\*|\*|\?|\{|\}|,|[^*?{},]+/g;

function toRegex(glob: string): string {
  let depth = 0;
  const parts = (glob.match(TOKEN) ?? []).map((token) => {
    if (token === '{') depth += 1;
    if (token === '}') depth -= 1;
    if (token === ',') return depth > 0 ? '|' : ',';
    return TRANSLATED.get(token) ?? RE2JS.quote(token);
  });
  return parts.join('');
}

const TRANSLATED: ReadonlyMap<string, string> = new Map([
  ['**/', '(?:.*/)?'],
  ['**', '.*'],
  ['*', '[^/]*'],
  ['?', '[^/]'],
  ['{', '(?:'],
  ['}', ')'],
]);
