import { defined } from '../../contract/defined';
import { isObject, type JsonObject, parseJson } from '../../contract/json';
import { TOOL_ERROR_CODES, type ToolErrorCode } from '../../contract/result';
import { DROPPED_OUTPUT } from '../../contract/transcript';
import type { ModelMessage } from '../model';
import type { ReplaceIntent } from './parse';

/** A call to ask for. */
export interface PlannedCall {
  tool: string;
  arguments: JsonObject;
}

/** The outcome of one request, in lines. `failed`: nothing was done, so the requests after it are not tried. */
export interface OfflineReport {
  lines: string[];
  failed: boolean;
}

/**
 * A request as a generator: it yields the calls of a step and receives their outcomes. The generator runs from its
 * beginning at every step, with the outcomes that the conversation holds. So it keeps no state and must not depend on
 * anything else.
 */
export type Plan = Generator<PlannedCall[], OfflineReport, Round>;

/** The names of the tools that a step may ask for. */
export type Toolbox = ReadonlySet<string>;

/** The most calls in one step: few enough for a person to look through. */
export const CALLS_PER_STEP = 16;

/** Asks for calls in steps of at most `CALLS_PER_STEP`. An outcome is undefined if history does not hold it. */
export function* askAll(
  calls: readonly PlannedCall[],
): Generator<PlannedCall[], (Outcome | undefined)[], Round> {
  const outcomes: (Outcome | undefined)[] = [];
  for (let start = 0; start < calls.length; start += CALLS_PER_STEP) {
    const step = calls.slice(start, start + CALLS_PER_STEP);
    const round = yield step;
    outcomes.push(...step.map((_, index) => round[index]));
  }
  return outcomes;
}

/** A report that a tool is missing. */
export function lacking(...tools: readonly string[]): OfflineReport {
  return { lines: [`Not done: this agent has no tool ${tools.join(' or ')}.`], failed: true };
}

/** One call of an earlier step and its outcome. */
interface Outcome {
  tool: string;
  /** The tool's output, or why it failed; without the note. */
  text: string;
  /** Absent: the call succeeded. */
  failure?: ToolErrorCode;
  /** The reason that a person gave, or a note about the change that a person made. */
  note?: string;
  /** Whether the output was left out to keep the transcript within its limit. */
  dropped: boolean;
}

/** The outcomes of one step in the transcript, in the order of the calls. */
export type Round = readonly Outcome[];

/** The user's last message, and the steps since. */
export function sinceLastWords(messages: readonly ModelMessage[]): { words: string; rounds: Round[] } {
  const start = messages.findLastIndex(({ role }) => role === 'user');
  const words = messages[start];
  const rounds: Outcome[][] = [];
  for (const message of messages.slice(start + 1)) {
    if (message.role === 'assistant') rounds.push([]);
    else if (message.role === 'tool') rounds.at(-1)?.push(toOutcome(message.toolName, message.content));
  }
  return { words: words?.content ?? '', rounds };
}

/** The beginning of a person's note. An empty line and the result follow the note. */
const NOTE = /^\[[^\n]{1,5000}? (?:changed the arguments of this call before it ran|approved this call)\./;
const ERROR = /^Error \[([a-z_]{1,30})\]: /;

function toOutcome(tool: string, content: string): Outcome {
  const end = NOTE.test(content) ? content.indexOf(']\n\n') : -1;
  const note = end === -1 ? {} : { note: content.slice(1, end) };
  const text = end === -1 ? content : content.slice(end + 3);
  const code = ERROR.exec(text)?.[1];
  const failure = TOOL_ERROR_CODES.find((known) => known === code);
  const dropped = content === DROPPED_OUTPUT;
  if (failure === undefined) return { tool, text, ...note, dropped };
  return { tool, text: text.slice(`Error [${failure}]: `.length), failure, ...note, dropped };
}

/** Examples of requests that the planner understands. They are shown when it does not understand a request. */
export const EXAMPLES: readonly string[] = [
  'list files in src, show tree',
  'read README.md, info about README.md',
  "search for 'colour' in src",
  "replace 'colour' with 'color' in all files",
  "replace 'colour' with 'color' in docs/guide.md",
  "create notes.txt with content 'hello', write 'hello' to notes.txt",
  "insert 'hello' at line 3 of notes.txt",
  'delete notes.txt',
  'move notes.txt to docs/notes.txt',
  'run npm test',
  'what does the function defun do',
  "evaluate '(+ 1 2)'",
];

/** The most characters of an output that an answer shows. The timeline shows the whole output. */
const SHOWN_CHARACTERS = 4000;
const CHANGE_CHARACTERS = 500;

const FAILURES: Partial<Record<ToolErrorCode, string>> = {
  denied: 'denied by a person',
  expired: 'nobody decided or started it in time',
  conflict: 'the file is not what was approved',
  refused: 'refused by policy',
  in_doubt: 'nobody knows whether it happened',
  cancelled: 'cancelled',
  timeout: 'it ran out of time',
};

/** The output of a command or of a call that only reads. */
export function describeRead(call: PlannedCall, outcome: Outcome | undefined): string {
  return describe(call, outcome, SHOWN_CHARACTERS);
}

/** The outcome of a call that changes something, in the tool's own words. */
export function describeChange(call: PlannedCall, outcome: Outcome | undefined): string {
  return describe(call, outcome, CHANGE_CHARACTERS);
}

function describe(call: PlannedCall, outcome: Outcome | undefined, characters: number): string {
  const name = nameOf(call);
  if (outcome === undefined) return `${name}: no result is known.`;
  const note = outcome.note === undefined ? '' : `\n  ${outcome.note.split('\n').join('\n  ')}`;
  if (outcome.failure !== undefined) {
    const why = FAILURES[outcome.failure] ?? outcome.failure;
    return `${name}: not done, ${why}.${note}\n${indent(cut(outcome.text, CHANGE_CHARACTERS))}`;
  }
  return `${name}: done.${note}\n${indent(cut(outcome.text, characters))}`.trimEnd();
}

/** The name of a tool and the subject of its call, such as `delete_file a.txt`. */
function nameOf({ tool, arguments: args }: PlannedCall): string {
  const { path, from, to, query, argv } = args;
  const words = [
    path ?? from,
    ...(to === undefined ? [] : ['to', to]),
    query,
    ...(Array.isArray(argv) ? argv : []),
  ];
  const target = words.filter((word) => typeof word === 'string').join(' ');
  return cut(target === '' ? tool : `${tool} ${target}`, 200);
}

/** The start of a text, with a mark where it was cut. */
export function cut(text: string, characters: number): string {
  if (text.length <= characters) return text;
  return `${text.slice(0, characters)}… (${text.length - characters} characters more)`;
}

/** A text indented by two spaces. */
function indent(text: string): string {
  return text
    .trimEnd()
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
}

/** Tools that can write the change, best first: exact texts are easier to look through than a whole new file. */
const EDITORS = ['edit_file', 'propose_file_edit', 'write_file'] as const;
type Editor = (typeof EDITORS)[number];

type Steps<T> = Generator<PlannedCall[], T, Round>;

/** Finds the files, reads them, and asks for one edit of each file that has the text. */
export function* planReplace(intent: ReplaceIntent, tools: Toolbox): Plan {
  const editor = EDITORS.find((name) => tools.has(name));
  if (editor === undefined) return lacking(...EDITORS);
  if (editor !== 'edit_file' && !tools.has('read_file')) return lacking('edit_file', 'read_file');
  if (intent.from === intent.to) return nothing('the two texts are the same');
  const found = yield* findFiles(intent, tools);
  if ('report' in found) return found.report;
  const read = yield* readFiles({ intent, editor, tools, paths: found.paths });
  const outcomes = yield* askAll(read.edits);
  return summarise(intent, read, { outcomes, cut: found.cut });
}

function nothing(why: string): OfflineReport {
  return { lines: [`Nothing to replace: ${why}.`], failed: true };
}

/**
 * The report if the list of files is no longer in the transcript. The report cannot name the files, although some edits
 * may have been made.
 */
function forgotten(): OfflineReport {
  const why =
    'The list of files left the transcript, which is too long. What was done so far is in the timeline.';
  return { lines: [`${why} Ask again for fewer files at once.`], failed: true };
}

/** Files that may have the text, or the report for the case that they are not known. `cut`: there may be more files. */
type Found = { paths: string[]; cut: boolean } | { report: OfflineReport };

function* findFiles({ from, paths, under }: ReplaceIntent, tools: Toolbox): Steps<Found> {
  if (paths !== undefined) return { paths, cut: false };
  if (!tools.has('search_files')) return { report: lacking('search_files; name the files') };
  if (/[\r\n]/.test(from)) return { report: nothing('text of several lines needs the name of its file') };
  const call = {
    tool: 'search_files',
    arguments: { query: from, ...defined({ path: under }) },
  };
  const [outcome] = yield [call];
  if (outcome?.dropped === true) return { report: forgotten() };
  if (outcome === undefined || outcome.failure !== undefined) {
    return { report: { lines: [describeRead(call, outcome)], failed: true } };
  }
  const found = filesIn(outcome.text);
  if (found.length === 0) return { report: nothing(`no file contains ${quote(from)}`) };
  return { paths: found, cut: isCut(outcome.text) };
}

interface Reading {
  intent: ReplaceIntent;
  editor: Editor;
  tools: Toolbox;
  paths: readonly string[];
}

/** The edits to ask for, and the reasons why the other files get no edit. */
interface Read {
  edits: PlannedCall[];
  skipped: string[];
}

/**
 * If a search names more files than this, the files are not read again to check them, because the search has already
 * found the text in them.
 */
const FILES_READ = 8;

function* readFiles({ intent, editor, tools, paths }: Reading): Steps<Read> {
  const isNeeded = editor !== 'edit_file' || intent.paths !== undefined || paths.length <= FILES_READ;
  const isRead = isNeeded && tools.has('read_file');
  const calls = isRead ? paths.map((path) => ({ tool: 'read_file', arguments: { path } })) : [];
  const outcomes = yield* askAll(calls);
  const read: Read = { edits: [], skipped: [] };
  for (const [index, path] of paths.entries()) {
    const outcome = outcomes[index];
    const why = whyNot({ intent, editor }, path, outcome);
    if (why === undefined) read.edits.push(toEdit({ intent, editor }, path, outcome?.text ?? ''));
    else read.skipped.push(why);
  }
  return read;
}

type Edit = Pick<Reading, 'intent' | 'editor'>;

function whyNot({ intent, editor }: Edit, path: string, outcome: Outcome | undefined): string | undefined {
  if (outcome?.failure !== undefined)
    return describeRead({ tool: 'read_file', arguments: { path } }, outcome);
  const whole = outcome !== undefined && !outcome.dropped && !isCut(outcome.text);
  if (whole && !outcome.text.includes(intent.from)) return `${path} does not contain ${quote(intent.from)}.`;
  if (whole || editor === 'edit_file') return undefined;
  return `${path} is too long to rewrite without the tool edit_file.`;
}

function toEdit({ intent: { from, to }, editor }: Edit, path: string, text: string): PlannedCall {
  if (editor === 'edit_file') {
    return {
      tool: editor,
      arguments: { path, edits: [{ old_text: from, new_text: to }], replace_all: true },
    };
  }
  const replaced = text.split(from).join(to);
  return editor === 'propose_file_edit'
    ? { tool: editor, arguments: { path, new_content: replaced } }
    : { tool: editor, arguments: { path, content: replaced } };
}

function summarise(
  { from, to }: ReplaceIntent,
  { edits, skipped }: Read,
  asked: { outcomes: readonly (Outcome | undefined)[]; cut: boolean },
): OfflineReport {
  const done = asked.outcomes.filter(
    (outcome) => outcome !== undefined && outcome.failure === undefined,
  ).length;
  const files = edits.length + skipped.length;
  const head = `${quote(from)} with ${quote(to)}: an edit was made in ${done} of ${files} files.`;
  const changes = edits.map((call, index) => describeChange(call, asked.outcomes[index]));
  const more = asked.cut ? ['The list of files was cut; ask again for the rest.'] : [];
  return { lines: [head, ...changes, ...skipped, ...more], failed: done === 0 };
}

function quote(text: string): string {
  return `'${cut(text, 80)}'`;
}

/** A longer text is not a path. */
const PATH_CHARACTERS = 4096;

/**
 * The files that the output of a search names, in its order. The output has `path:line: text` lines, lines that are a
 * path with the hits below it, or JSON with `path` or `file`. Other lines are skipped.
 */
function filesIn(output: string): string[] {
  // This output quotes the query, which may look like a hit.
  if (output.startsWith('No file has ')) return [];
  const json = /^\s*[{[]/.test(output) ? parseJson(output) : undefined;
  const found = json === undefined ? output.split('\n').map(pathOfLine) : pathsOfJson(json);
  return [...new Set(found.filter((path) => path !== undefined))];
}

function pathOfLine(line: string): string | undefined {
  const path = /^(?!\s)(.{1,4096}?):\d{1,9}(?::|$|\s)/.exec(line.slice(0, PATH_CHARACTERS))?.[1];
  return path?.trim() === '' ? undefined : path;
}

function pathsOfJson(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(pathsOfJson);
  if (!isObject(value)) return [];
  const own = [value['path'], value['file']].filter((path) => typeof path === 'string');
  return own.length > 0 ? own.slice(0, 1) : Object.values(value).flatMap(pathsOfJson);
}

/** The marks of the tools and the executor for an output that was cut. */
const CUT = /\n\[\.\.\. \d{1,12} bytes left out \.\.\.\]\n|\n\(more hits; [^\n]{0,100}\)$/;

/** Whether an output was cut. */
function isCut(output: string): boolean {
  return CUT.test(output);
}
