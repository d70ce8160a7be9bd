import type { Intent } from './intent';
import type { Phrase } from './phrase';
import { toWords } from './words';

const BEFORE_CONTENT = ['with', 'containing', 'the', 'content', 'contents', 'text'] as const;

/** `create [a new file called] PATH [with content TEXT]`. */
export function parseCreate(rest: Phrase): Intent | undefined {
  const body = rest.without('a', 'an', 'the', 'new', 'empty', 'file', 'called', 'named');
  return fileOf(body, false);
}

/** `write TEXT to PATH`, or like `create`; a file that is there is overwritten. */
export function parseWrite(rest: Phrase): Intent | undefined {
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

/** Text to write: `\n` and `\t` inside double quotes mean what they do in code, as a command line holds no line breaks. */
function contentOf(words: Phrase): string | undefined {
  const text = words.text();
  const [only] = words.words();
  if (text === undefined || only === undefined || !only.quoted || !only.isDouble) return text;
  return text.replace(/\\([nt\\"])/g, (_, char: string) => ({ n: '\n', t: '\t' })[char] ?? char);
}

/** `insert TEXT at line N of PATH`. */
export function parseInsert(rest: Phrase): Intent | undefined {
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
export function parseMove(rest: Phrase): Intent | undefined {
  const body = rest.without('the', 'file');
  const joint = body.findLast('to', 'into', 'as');
  const from = body.slice(0, joint === -1 ? 1 : joint).path();
  const to = body.slice(joint === -1 ? 1 : joint + 1).path();
  return from === undefined || to === undefined ? undefined : { kind: 'move', from, to };
}

const NOT_WORDS = /^(?:and|\|\|?|&&?|;|[12]?>>?|<)$|;$/;

/**
 * `run COMMAND`: words as they are, or all of it in quotes. There is no shell, so its signs are not understood; nor is an
 * unquoted "and", which may begin another request.
 */
export function parseRun(rest: Phrase): Intent | undefined {
  const body = rest.without('the', 'command');
  const [only] = body.words();
  const words = body.length === 1 && only?.quoted === true ? toWords(only.text) : body.words();
  const isUnclear = words.some(({ text, quoted }) => !quoted && NOT_WORDS.test(text));
  return words.length === 0 || isUnclear ? undefined : { kind: 'run', argv: words.map(({ text }) => text) };
}
