import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { RE2JS } from 're2js';
import { defineTool } from '../define-tool';
import { ToolError } from '../errors';
import type { Tool } from '../types';
import { type Pack, readBytes, type Root, withRegularFile } from './root';
import { normalPath, onOneLine } from './path';
import { decodeText, encodingOf, findText, isBinary, MARK } from './text';
import { walk } from './read-tools';
import { errorMessage } from '../../contract/errors';

const MOST_ENTRIES = 50_000;
const MOST_DEPTH = 40;
/** The most bytes of a searched file. Larger files are seldom written by hand, and would delay the search. */
const MOST_FILE_BYTES = 2 * 1024 * 1024;
/** The most characters of a line in the results. Matching uses the whole line. */
const LINE_CHARACTERS = 300;
/** After this time the search lets other work run, because matching runs on the worker's only thread. */
const MS_AT_ONCE = 20;
/** The most steps of a pattern. Each character of a line may take as many. */
const MOST_STEPS = 5000;
/** The most steps for one line, which take about a second on a slow machine. Nothing else runs meanwhile. */
const MOST_WORK = 25_000_000;

const parameters = z.strictObject({
  query: z
    .string()
    .min(1)
    .max(1000)
    .describe('Text to find; a regular expression (RE2) where regex is true.'),
  path: z
    .string()
    .default('.')
    .describe('Folder to search below, or one file; relative to the workspace root.'),
  glob: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('Only files that match, such as "*.ts" or "src/**/*.md".'),
  regex: z.boolean().default(false).describe('Whether the query is a regular expression.'),
  case_sensitive: z.boolean().default(true).describe('Whether case counts.'),
  max_results: z.int().min(1).max(1000).default(200).describe('The most lines to find.'),
});

/** A search: its query, and what it has skipped. */
interface Search {
  root: Root;
  query: z.output<typeof parameters>;
  signal: AbortSignal;
  line: LineMatcher;
  wanted(path: string): boolean;
  /** What was not searched, by the reason. */
  passed: Map<string, string[]>;
  /** The number of lines that were too long for the pattern. */
  long: number;
  /** Whether the folder has more entries than a search reads. */
  cut: boolean;
}

/** The tool that searches text in files. Matching takes linear time, whatever the pattern. */
export function createSearchTool(root: Root, pack: Pack): Tool {
  return defineTool({
    ...pack,
    name: 'search_files',
    description:
      'Finds lines with a text in the files below a folder. Answers one line a hit: path:line: text. Links, binary files, .git and node_modules are passed over.',
    parameters,
    outputLimit: 256 * 1024,
    handler: async (query, { signal, partial }) => {
      const wanted = query.glob === undefined ? () => true : globMatcher(query.glob);
      const line = lineMatcher(query);
      const search = { root, query, signal, line, wanted, passed: new Map(), long: 0, cut: false };
      const found: string[] = [];
      for await (const hit of hitsOf(search)) {
        if (found.length === query.max_results)
          return [...found, '(more hits; narrow the search)'].join('\n');
        found.push(hit);
        partial(`${hit}\n`);
      }
      return report(search, found);
    },
  });
}

function report({ query, passed, long, cut }: Search, found: string[]) {
  const isWhole = passed.size === 0 && long === 0 && !cut;
  const none = `${isWhole ? 'No file' : 'No file that was searched'} has "${query.query}".`;
  const lines = found.length === 0 ? [none] : found;
  // The description names these. They matter where nothing is found.
  const told = [...passed].filter(([why]) => found.length === 0 || !NAMED.includes(why));
  const notes = [
    ...told.map(([why, paths]) => `(not searched, ${why}: ${namesOf(paths)})`),
    ...(long === 0 ? [] : [`(lines too long for such a query were passed over: ${long})`]),
    ...(cut ? ['(more hits; the search ended after 50,000 names: search a folder below)'] : []),
  ];
  return [...lines, ...notes].join('\n');
}

const NAMED = ['binary', 'skipped', 'a link'];

/** The most names of skipped files and folders that are given for one reason. */
const MOST_NAMED = 10;

function namesOf(paths: readonly string[]) {
  const more = paths.length > MOST_NAMED ? ` and ${paths.length - MOST_NAMED} more` : '';
  return paths.slice(0, MOST_NAMED).map(onOneLine).join(', ') + more;
}

function pass({ passed }: Search, why: string, path: string) {
  const paths = passed.get(why) ?? [];
  paths.push(path);
  passed.set(why, paths);
}

async function* hitsOf(search: Search): AsyncGenerator<string> {
  const rest = restsOf(search.signal);
  for await (const path of filesOf(search)) {
    const lines = await linesOf(search, path);
    for (const [index, line] of lines.entries()) {
      await rest();
      if (line.length > search.line.most) search.long += 1;
      else if (search.line.matches(line)) yield `${onOneLine(path)}:${index + 1}: ${cutLine(line)}`;
    }
  }
}

/** Makes a function for a long search to call often. It lets other work run if the search has run for a while. */
export function restsOf(signal: AbortSignal): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since <= MS_AT_ONCE) return;
    await setImmediate();
    signal.throwIfAborted();
    since = performance.now();
  };
}

function cutLine(line: string) {
  return line.length <= LINE_CHARACTERS ? line : `${line.slice(0, LINE_CHARACTERS)}…`;
}

async function* filesOf(search: Search): AsyncGenerator<string> {
  const { root, query, signal, wanted } = search;
  const path = normalPath(query.path);
  if (path !== '.' && (await isFile(root, path))) return yield path;
  const limits = { entries: MOST_ENTRIES, depth: MOST_DEPTH, signal };
  // A folder is read at once, so only this lets other work run while the glob is tried on all its names.
  const rest = restsOf(signal);
  for await (const step of walk(root, path, limits)) {
    await rest();
    if (step.kind === 'file' && wanted(step.path)) yield step.path;
    else if (step.skipped !== undefined) pass(search, step.skipped, `${step.path}/`);
    else if (step.kind === 'link' && wanted(step.path)) pass(search, 'a link', step.path);
  }
  search.cut = limits.entries < 0;
}

/** Whether the path is a single file. For any other path, the walk reports the error. */
async function isFile(root: Root, path: string) {
  try {
    return await root.inParent(path, (place) => withRegularFile(place, async () => true));
  } catch (error) {
    if (error instanceof ToolError) return false;
    throw error;
  }
}

/** The lines of a file. A file that is binary, too large or gone is named as not searched. */
async function linesOf(search: Search, path: string) {
  try {
    const read = search.root.inParent(path, (place) => readBytes({ ...place, mostBytes: MOST_FILE_BYTES }));
    const { bytes } = await read;
    if (isBinary(bytes)) pass(search, 'binary', path);
    else return decodeText(bytes, encodingOf(bytes)).replace(MARK, '').split(/\r?\n/);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    pass(search, 'over 2 MiB or not readable', path);
  }
  return [];
}

/**
 * Makes a function that says whether a path (relative, with `/`) matches a glob. A glob may have `*`, `?`, `**` and
 * `{a,b}`. A glob without `/` matches the name only. Matching takes linear time.
 */
function globMatcher(glob: string): (path: string) => boolean {
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

function toRegex(glob: string) {
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

/** The text or pattern to find in a line. */
interface LineQuery {
  query: string;
  regex: boolean;
  case_sensitive: boolean;
}

/** Says whether a line matches, of the most characters that it is asked about. */
interface LineMatcher {
  matches(line: string): boolean;
  most: number;
}

/** Makes a matcher of lines. */
function lineMatcher(query: LineQuery): LineMatcher {
  if (!query.regex && query.case_sensitive)
    return { matches: (line) => findText(line, query.query) !== -1, most: Infinity };
  const { pattern, most } = compileSearch(query);
  return { matches: (line) => pattern.test(line), most };
}

/**
 * Compiles a query to a pattern of RE2, and says how many characters may be tested at once. The time that RE2 takes
 * grows with the number of characters times the size of the pattern, never faster.
 *
 * @throws ToolError if RE2 does not support the pattern, or if the pattern repeats so much that it would take long.
 */
export function compileSearch(wanted: LineQuery): { pattern: RE2JS; most: number } {
  const pattern = compileQuery(wanted);
  const steps = pattern.programSize();
  if (steps <= MOST_STEPS) return { pattern, most: MOST_WORK / steps };
  throw new ToolError(
    'The query repeats too much, such as x{1000}: write it with * or +, or with less in it.',
  );
}

function compileQuery({ query, regex, case_sensitive }: LineQuery): RE2JS {
  try {
    const flags = case_sensitive ? 0 : RE2JS.CASE_INSENSITIVE;
    return RE2JS.compile(regex ? query : RE2JS.quote(query), flags);
  } catch (error) {
    throw new ToolError(
      `The query is not a regular expression that RE2 knows (no look-around, no back-references): ${errorMessage(error)}`,
      {
        cause: error,
      },
    );
  }
}
