import { cut, describeChange, describeRead } from './describe';
import { filesIn, isCut } from './hits';
import type { ReplaceIntent } from './intent';
import type { Outcome, Round } from './outcome';
import { askAll, lacking, type Plan, type PlannedCall, type Report, type Toolbox } from './plan';

/** Tools that can write the change, best first: exact texts are easier to look through than a whole new file. */
const EDITORS = ['edit_file', 'propose_file_edit', 'write_file'] as const;
type Editor = (typeof EDITORS)[number];

type Steps<T> = Generator<PlannedCall[], T, Round>;

/** Finds the files, reads them, and asks for one edit a file that has the text. */
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

function nothing(why: string): Report {
  return { lines: [`Nothing to replace: ${why}.`], failed: true };
}

/** Without the list of files nothing can be told of them, though some edits may have been made. */
function forgotten(): Report {
  const why =
    'The list of files left the transcript, which is too long. What was done so far is in the timeline.';
  return { lines: [`${why} Ask again for fewer files at once.`], failed: true };
}

/** `cut`: there may be more files than these. */
type Found = { paths: string[]; cut: boolean } | { report: Report };

function* findFiles({ from, paths, under }: ReplaceIntent, tools: Toolbox): Steps<Found> {
  if (paths !== undefined) return { paths, cut: false };
  if (!tools.has('search_files')) return { report: lacking('search_files; name the files') };
  if (/[\r\n]/.test(from)) return { report: nothing('text of several lines needs the name of its file') };
  const call = {
    tool: 'search_files',
    arguments: { query: from, ...(under === undefined ? {} : { path: under }) },
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

/** The edits to ask for, and why the other files get none. */
interface Read {
  edits: PlannedCall[];
  skipped: string[];
}

/** A search has shown that they contain the text: more files than this are not read only to see it again. */
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
  return `${path} is too long to be written anew without the tool edit_file.`;
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
): Report {
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
