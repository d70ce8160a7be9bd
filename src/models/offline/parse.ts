import type { Clause } from './clauses';
import type { Intent } from './intent';
import { parseReplace } from './parse-replace';
import { parseCreate, parseInsert, parseMove, parseRun, parseWrite } from './parse-writes';
import { toPhrase, type Phrase } from './phrase';
import { ARTICLES, placeOf } from './place';

type Rule = (rest: Phrase) => Intent | undefined;

/** What follows each first word. A rule that does not fit gives undefined: nothing is guessed. */
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
};

/** What one request asks for; undefined where it is not understood. */
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
