import { isObject } from '../../contract/json';

/** Longer ones are no paths. */
const PATH_CHARACTERS = 4096;

/**
 * The files that the output of a search names, in its order: `path:line: text` lines, lines that are a path with what was
 * found below, or JSON with `path` or `file`. Lines of another form are passed over.
 */
export function filesIn(output: string): string[] {
  // It quotes the query, which may look like a hit.
  if (output.startsWith('No file has ')) return [];
  const json = parse(output);
  const found = json === undefined ? output.split('\n').map(pathOfLine) : pathsOfJson(json);
  return [...new Set(found.filter((path) => path !== undefined))];
}

function pathOfLine(line: string): string | undefined {
  const path = /^(?!\s)(.{1,4096}?):\d{1,9}(?::|$|\s)/.exec(line.slice(0, PATH_CHARACTERS))?.[1];
  return path?.trim() === '' ? undefined : path;
}

function parse(output: string): unknown {
  const start = output.trimStart().charAt(0);
  if (start !== '{' && start !== '[') return undefined;
  try {
    return JSON.parse(output);
  } catch {
    // A line of text that begins with a bracket.
    return undefined;
  }
}

function pathsOfJson(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(pathsOfJson);
  if (!isObject(value)) return [];
  const own = [value['path'], value['file']].filter((path) => typeof path === 'string');
  return own.length > 0 ? own.slice(0, 1) : Object.values(value).flatMap(pathsOfJson);
}

/** How the tools and the executor mark an output that is not whole. */
const CUT = /\n\[\.\.\. \d{1,12} bytes left out \.\.\.\]\n|\n\(more hits; [^\n]{0,100}\)$/;

/** Whether an output is only a part of what there was. */
export function isCut(output: string): boolean {
  return CUT.test(output);
}
