import { type Clause, type Phrase, toPhrase, toWords } from './words';

/** The action that a request asks for. Paths are as the user wrote them. */
export type Intent =
  | { kind: 'list'; path: string; tree: boolean }
  | { kind: 'read'; paths: string[] }
  | { kind: 'info'; path: string }
  | SearchIntent
  | ReplaceIntent
  | { kind: 'create'; path: string; content: string; overwrite: boolean }
  | { kind: 'insert'; path: string; line: number; text: string }
  | { kind: 'delete'; paths: string[] }
  | { kind: 'move'; from: string; to: string }
  | { kind: 'run'; argv: string[] }
  | { kind: 'describe'; symbol: string }
  | { kind: 'evaluate'; form: string };

export interface SearchIntent {
  kind: 'search';
  query: string;
  /** A folder or a file. Absent: everywhere. */
  path?: string;
}

export interface ReplaceIntent {
  kind: 'replace';
  from: string;
  to: string;
  /** The files that the request names. Absent: all files, or the files under `under`. */
  paths?: string[];
  under?: string;
}

type Rule = (rest: Phrase) => Intent | undefined;

/** The rule for each first word. A rule that does not fit returns undefined: nothing is guessed. */
const RULES: Readonly<Record<string, Rule>> = {
  list: parseList,
  ls: parseList,
  tree: (rest) => parseTree(rest),
  show: parseShow,
  display: parseShow,
  read: parseRead,
  open: parseRead,
  cat: parseRead,
  print: parseRead,
  view: parseRead,
  info: parseInfo,
  stat: parseInfo,
  search: parseSearch,
  find: parseSearch,
  grep: parseSearch,
  look: parseSearch,
  replace: parseReplace,
  change: parseReplace,
  create: parseCreate,
  write: parseWrite,
  insert: parseInsert,
  delete: parseDelete,
  remove: parseDelete,
  rm: parseDelete,
  move: parseMove,
  rename: parseMove,
  mv: parseMove,
  run: parseRun,
  execute: parseRun,
  describe: parseDescribe,
  what: parseWhat,
  evaluate: parseEvaluate,
  eval: parseEvaluate,
};

/** The intent of one request. Undefined if it is not understood. */
export function parseClause(clause: Clause): Intent | undefined {
  const phrase = toPhrase(clause);
  const verb = phrase.keyword(0);
  const rule = verb !== undefined && Object.hasOwn(RULES, verb) ? RULES[verb] : undefined;
  return rule?.(phrase.slice(1));
}

const FILE_NOUNS = ['files', 'entries', 'everything', 'contents', 'content', 'directory', 'folder'] as const;

function parseList(rest: Phrase): Intent | undefined {
  const subject = rest.without(...ARTICLES);
  if (subject.keyword(0) === 'tree') return parseTree(subject.slice(1));
  const path = placeOf(subject.without(...FILE_NOUNS, 'of'));
  return path === undefined ? undefined : { kind: 'list', path, tree: false };
}

function parseTree(rest: Phrase): Intent | undefined {
  const path = placeOf(rest);
  return path === undefined ? undefined : { kind: 'list', path, tree: true };
}

function parseShow(rest: Phrase): Intent | undefined {
  const subject = rest.without(...ARTICLES);
  const noun = subject.keyword(0);
  if (noun === 'tree') return parseTree(subject.slice(1));
  if (noun === 'directory' && subject.keyword(1) === 'tree') return parseTree(subject.slice(2));
  if (noun === 'info') return parseInfo(subject.slice(1));
  return noun === 'files' || noun === 'directory' || noun === 'folder' ? parseList(rest) : parseRead(rest);
}

function parseRead(rest: Phrase): Intent | undefined {
  const paths = rest.without(...ARTICLES, 'contents', 'content', 'file', 'files').paths();
  return paths === undefined ? undefined : { kind: 'read', paths };
}

function parseInfo(rest: Phrase): Intent | undefined {
  const path = rest.without('about', 'on', 'for', 'file', ...ARTICLES).path();
  return path === undefined ? undefined : { kind: 'info', path };
}

function parseDelete(rest: Phrase): Intent | undefined {
  const paths = rest.without('the', 'file', 'files').paths();
  return paths === undefined ? undefined : { kind: 'delete', paths };
}

/** `for X`, `for X in PATH`, `in PATH for X`, `X`. */
function parseSearch(rest: Phrase): Intent | undefined {
  const first = rest.keyword(0);
  if (first === 'in' || first === 'through') {
    const at = rest.find('for');
    return at === -1 ? undefined : searchOf(rest.slice(at + 1), placeOf(rest.slice(1, at)));
  }
  const body = rest.without('for', 'text', 'files', 'containing');
  const at = body.findLast('in', 'under', 'inside');
  return at <= 0 ? searchOf(body, '.') : searchOf(body.slice(0, at), placeOf(body.slice(at)));
}

function searchOf(words: Phrase, path: string | undefined): Intent | undefined {
  const query = words.text();
  if (query === undefined || query === '' || path === undefined) return undefined;
  return { kind: 'search', query, ...(path === '.' ? {} : { path }) };
}

/** Words before a noun that mean nothing here. */
const ARTICLES = ['the', 'a', 'an', 'me', 'all', 'every', 'each', 'of'] as const;

/** Words that mean the whole workspace, or that only name the kind of the place that follows. */
const PLACES = [
  'workspace',
  'project',
  'root',
  'here',
  'everywhere',
  'files',
  'directory',
  'folder',
  'file',
] as const;

/**
 * A directory after optional words such as `in the folder`; `.` if none is named, undefined if the words do not name
 * one.
 */
function placeOf(words: Phrase): string | undefined {
  const path = words.without('in', 'under', 'inside', 'from', ...PLACES, ...ARTICLES);
  return path.length === 0 ? '.' : path.path();
}

/** Where to replace: the files named, or every file under a directory. */
type Where = { paths: string[] } | { under: string } | { all: true };

/**
 * Reads `in a.txt and b.txt`, `in files under src`, `in src/`, `everywhere`. Undefined if the words do not name a
 * place.
 */
function whereOf(words: Phrase): Where | undefined {
  const named = words.without('in', 'under', 'inside', ...ARTICLES);
  const noun = named.keyword(0) ?? '';
  const isFiles = noun === 'files' || noun === 'file';
  const isBelow = isFiles && ['in', 'under', 'inside', 'of'].includes(named.keyword(1) ?? '');
  if (isFiles && named.length > 1 && !isBelow) return files(named.slice(1));
  const place = placeOf(words);
  if (place === '.') return { all: true };
  const isDirectory = isBelow || words.keyword(0) === 'under' || noun === 'directory' || noun === 'folder';
  if (place !== undefined && (isDirectory || place.endsWith('/'))) return { under: place };
  return files(named);
}

function files(words: Phrase): Where | undefined {
  const paths = words.paths();
  return paths === undefined ? undefined : { paths };
}

/** A text and the place behind it. */
interface LocatedText {
  text: string;
  /** Undefined: no place was named. */
  where: Where | undefined;
}

/**
 * `X with Y in PLACE` or `X in PLACE with Y`; without a place, in all files. A place begins at the first unquoted "in", so
 * a text with an "in" needs quotes: a wrong guess would be written to files.
 */
function parseReplace(rest: Phrase): Intent | undefined {
  const body = rest.without('all', 'every', 'each', 'occurrences', 'occurrence', 'of', 'the', 'text', 'word');
  const joint = body.find('with', 'by', 'to');
  const from = joint < 1 ? undefined : locatedTextOf(body.slice(0, joint));
  const to = joint < 1 ? undefined : locatedTextOf(body.slice(joint + 1));
  if (from === undefined || to === undefined || from.text === '') return undefined;
  if (from.where !== undefined && to.where !== undefined) return undefined;
  const where = from.where ?? to.where ?? { all: true };
  return { kind: 'replace', from: from.text, to: to.text, ...('all' in where ? {} : where) };
}

function locatedTextOf(words: Phrase): LocatedText | undefined {
  const at = words.find('in', 'under', 'inside', 'everywhere');
  const text = (at === -1 ? words : words.slice(0, at)).text();
  const where = at === -1 ? undefined : whereOf(words.slice(at));
  if (text === undefined || (at !== -1 && where === undefined)) return undefined;
  return { text, where };
}

const BEFORE_CONTENT = ['with', 'containing', 'the', 'content', 'contents', 'text'] as const;

/** `create [a new file called] PATH [with content TEXT]`. */
function parseCreate(rest: Phrase): Intent | undefined {
  const body = rest.without('a', 'an', 'the', 'new', 'empty', 'file', 'called', 'named');
  return fileOf(body, false);
}

/** `write TEXT to PATH`, or like `create`; a file that is there is overwritten. */
function parseWrite(rest: Phrase): Intent | undefined {
  const body = rest.without('the', 'file', 'text');
  const joint = body.findLast('to', 'into');
  const content = joint < 1 ? undefined : contentOf(body.slice(0, joint));
  const path =
    joint < 1
      ? undefined
      : body
          .slice(joint + 1)
          .without('the', 'file')
          .path();
  if (content !== undefined && path !== undefined) return { kind: 'create', path, content, overwrite: true };
  return fileOf(body, true);
}

function fileOf(body: Phrase, overwrite: boolean): Intent | undefined {
  const path = body.slice(0, 1).path();
  if (path === undefined) return undefined;
  if (body.length === 1) return overwrite ? undefined : { kind: 'create', path, content: '', overwrite };
  if (!['with', 'containing', 'content'].includes(body.keyword(1) ?? '')) return undefined;
  const content = contentOf(body.slice(1).without(...BEFORE_CONTENT));
  return content === undefined ? undefined : { kind: 'create', path, content, overwrite };
}

/**
 * The text to write. Inside double quotes, `\n` and `\t` stand for a line break and a tab, because a command line
 * cannot hold line breaks.
 */
function contentOf(words: Phrase): string | undefined {
  const text = words.text();
  const [only] = words.words();
  if (text === undefined || only === undefined || !only.quoted || !only.isDouble) return text;
  return text.replace(/\\([nt\\"])/g, (_, char: string) => ({ n: '\n', t: '\t' })[char] ?? char);
}

/** `insert TEXT at line N of PATH`. */
function parseInsert(rest: Phrase): Intent | undefined {
  const at = rest.findLast('line');
  const line = Number(rest.keyword(at + 1));
  const before = rest.keyword(at - 1) === 'at' || rest.keyword(at - 1) === 'on' ? at - 1 : at;
  if (at < 1 || !Number.isSafeInteger(line) || line < 1) return undefined;
  const text = contentOf(rest.slice(0, before));
  const path = rest
    .slice(at + 2)
    .without('of', 'in', 'into', 'the', 'file')
    .path();
  return text === undefined || path === undefined ? undefined : { kind: 'insert', path, line, text };
}

/** `move A to B`, `mv A B`. */
function parseMove(rest: Phrase): Intent | undefined {
  const body = rest.without('the', 'file');
  const joint = body.findLast('to', 'into', 'as');
  const from = body.slice(0, joint === -1 ? 1 : joint).path();
  const to = body.slice(joint === -1 ? 1 : joint + 1).path();
  return from === undefined || to === undefined ? undefined : { kind: 'move', from, to };
}

const NOT_WORDS = /^(?:and|\|\|?|&&?|;|[12]?>>?|<)$|;$/;

/**
 * `run COMMAND`: words as they are, or all of it in quotes. There is no shell, so shell operators are not understood.
 * An unquoted "and" is not understood either, because it may begin another request.
 */
function parseRun(rest: Phrase): Intent | undefined {
  const body = rest.without('the', 'command');
  const [only] = body.words();
  const words = body.length === 1 && only?.quoted === true ? toWords(only.text) : body.words();
  const isUnclear = words.some(({ text, quoted }) => !quoted && NOT_WORDS.test(text));
  return words.length === 0 || isUnclear ? undefined : { kind: 'run', argv: words.map(({ text }) => text) };
}

const SYMBOL_NOUNS = ['symbol', 'function', 'macro', 'variable', 'class', 'special', 'operator'] as const;

/** `describe the function X`: one name of a Lisp program or of code. */
function parseDescribe(rest: Phrase): Intent | undefined {
  const subject = rest.without(...ARTICLES, ...SYMBOL_NOUNS);
  const symbol = subject.length === 1 ? subject.text() : undefined;
  return symbol === undefined ? undefined : { kind: 'describe', symbol };
}

/** `what does the function X do`, `what is X`. */
function parseWhat(rest: Phrase): Intent | undefined {
  const verb = rest.keyword(0);
  if (verb === 'is') return parseDescribe(rest.slice(1));
  const ends = ['do', 'mean'].includes(rest.keyword(rest.length - 1) ?? '');
  return verb === 'does' && ends ? parseDescribe(rest.slice(1, -1)) : undefined;
}

/** `evaluate FORM`, in quotes or as it is. */
function parseEvaluate(rest: Phrase): Intent | undefined {
  const form = rest.text();
  return form === undefined || form === '' ? undefined : { kind: 'evaluate', form };
}
