/**
 * S-expressions as data, as far as Swank's messages need them: lists, strings, numbers and symbols. Nothing is
 * evaluated, and a text with any other syntax is refused.
 */
export type Sexp = string | number | LispSymbol | readonly Sexp[];

/** A symbol or keyword, in its written form. */
interface LispSymbol {
  readonly symbol: string;
}

/** Whether a form is a list. */
export function isList(form: Sexp | undefined): form is readonly Sexp[] {
  return Array.isArray(form);
}

/** Makes a symbol for a message. */
export function lispSymbol(symbol: string): LispSymbol {
  return { symbol };
}

/** Whether a form is the symbol with this lower-case name. The case of the form does not count. */
export function isSymbol(form: Sexp | undefined, name: string): boolean {
  return typeof form === 'object' && !isList(form) && form.symbol.toLowerCase() === name;
}

/** The symbols that we send. They have no character with a special meaning to Lisp's reader. */
const OWN_SYMBOL = /^[a-z0-9:*./+-]+$/;

/**
 * Writes a form as text that Lisp reads back as the same data.
 *
 * @throws TypeError for a number that is not whole, or a symbol that is more than a name.
 */
export function printSexp(form: Sexp): string {
  if (typeof form === 'string') return `"${form.replace(/["\\]/g, '\\$&')}"`;
  if (typeof form === 'number') return printNumber(form);
  return isList(form) ? `(${form.map(printSexp).join(' ')})` : printSymbol(form);
}

function printNumber(number: number) {
  if (Number.isSafeInteger(number)) return String(number);
  throw new TypeError(`${number} is not a whole number`);
}

function printSymbol({ symbol }: LispSymbol) {
  if (OWN_SYMBOL.test(symbol)) return symbol;
  throw new TypeError(`${JSON.stringify(symbol)} is not a symbol to send`);
}

/** The deepest nesting of lists. Deeper lists can only be an attack or a mistake. */
const MOST_DEPTH = 100;

/** A text and the position of the reader in it. */
interface Reader {
  readonly text: string;
  at: number;
}

/**
 * Reads the one form of a text. `nil` is the empty list; the dot of a pair is a symbol.
 *
 * @throws SyntaxError for anything that is not plain data, or goes on after the form.
 */
export function readSexp(text: string): Sexp {
  const reader = { text, at: 0 };
  const form = readForm(reader, 0);
  skipBlanks(reader);
  if (reader.at < text.length) throw unreadable(reader, 'something follows the form');
  return form;
}

function readForm(reader: Reader, depth: number): Sexp {
  if (depth > MOST_DEPTH) throw unreadable(reader, 'its lists are too deep');
  skipBlanks(reader);
  const character = reader.text[reader.at];
  if (character === undefined) throw unreadable(reader, 'it ends too early');
  if (character === '"') return readString(reader);
  if (character === '(') return readList(reader, depth + 1);
  // We read data only, so we skip a quote character.
  if (character === "'") return readForm(skipOne(reader), depth + 1);
  return readAtom(reader);
}

function skipOne(reader: Reader): Reader {
  reader.at += 1;
  return reader;
}

function readList(reader: Reader, depth: number): Sexp[] {
  const items: Sexp[] = [];
  for (skipOne(reader); ; items.push(readForm(reader, depth))) {
    skipBlanks(reader);
    if (reader.text[reader.at] === ')') {
      skipOne(reader);
      return items;
    }
  }
}

function readString(reader: Reader) {
  const parts: string[] = [];
  for (let at = reader.at + 1; ;) {
    const end = nextOf(reader.text, at);
    if (end === undefined) throw unreadable(reader, 'a string is not closed');
    parts.push(reader.text.slice(at, end));
    if (reader.text[end] === '"') {
      reader.at = end + 1;
      return parts.join('');
    }
    parts.push(reader.text.slice(end + 1, end + 2));
    at = end + 2;
  }
}

const QUOTE_OR_ESCAPE = /["\\]/g;

function nextOf(text: string, from: number): number | undefined {
  QUOTE_OR_ESCAPE.lastIndex = from;
  return QUOTE_OR_ESCAPE.exec(text)?.index;
}

/** An atom without characters that end it or that only Lisp's reader understands. Vertical bars quote a name. */
const ATOM = /(?:\|[^|\\]*\||[^\s()"';`,#|\\])(?:\|[^|\\]*\||[^\s()"';`,|\\])*/y;
const NUMBER = /^[+-]?\d+(?:\.\d+(?:[esfdl][+-]?\d+)?)?$/i;

function readAtom(reader: Reader): Sexp {
  ATOM.lastIndex = reader.at;
  const [atom] = ATOM.exec(reader.text) ?? [];
  if (atom === undefined) throw unreadable(reader, 'it is more than plain data');
  reader.at += atom.length;
  if (NUMBER.test(atom)) return Number(atom.replace(/[sfdl]/i, 'e'));
  return atom.toLowerCase() === 'nil' ? [] : { symbol: atom };
}

const BLANKS = /\s*/y;

function skipBlanks(reader: Reader) {
  BLANKS.lastIndex = reader.at;
  BLANKS.exec(reader.text);
  reader.at = BLANKS.lastIndex;
}

function unreadable({ at }: Reader, why: string) {
  return new SyntaxError(`a message of Swank cannot be read at character ${at + 1}: ${why}`);
}
