/** One word of a request, or a line break (`text` is then `'\n'` and `quoted` false). */
interface Word {
  /** The text of the word without its quotes. */
  text: string;
  quoted: boolean;
  /** Whether the word is in straight double quotes, which may hold `\n`. */
  isDouble?: boolean;
  /** The position in the source, quotes included. */
  start: number;
  end: number;
}

const CLOSING: Readonly<Record<string, string>> = {
  "'": "'",
  '"': '"',
  '`': '`',
  '“': '”',
  '‘': '’',
  '«': '»',
};
const SPACE = /\s/;

/**
 * Splits a request into words. Quotes open at the start of a word and close before a blank, punctuation or the end, so that
 * `don't` is one word; a quote that never closes is an ordinary character. Takes time linear in the length.
 */
export function toWords(source: string): Word[] {
  const lastClose = lastCloses(source);
  const words: Word[] = [];
  for (let at = 0; at < source.length;) {
    const word = breakAt(source, at) ?? quotedAt(source, at, lastClose) ?? plainAt(source, at);
    if (word.text !== '' || word.quoted) words.push(word);
    at = word.end;
  }
  return words;
}

function breakAt(source: string, start: number): Word | undefined {
  const char = source.charAt(start);
  if (!SPACE.test(char)) return undefined;
  return { text: char === '\n' ? '\n' : '', quoted: false, start, end: start + 1 };
}

function quotedAt(source: string, start: number, lastClose: ReadonlyMap<string, number>): Word | undefined {
  const close = CLOSING[source.charAt(start)];
  // Without this check a request of nothing but opening quotes would take quadratic time.
  if (close === undefined || (lastClose.get(close) ?? -1) <= start) return undefined;
  let end = start + 1;
  while (!closesAt(source, end, close)) end++;
  return { text: source.slice(start + 1, end), quoted: true, isDouble: close === '"', start, end: end + 1 };
}

function plainAt(source: string, start: number): Word {
  let end = start + 1;
  while (end < source.length && !SPACE.test(source.charAt(end))) end++;
  return { text: source.slice(start, end), quoted: false, start, end };
}

function lastCloses(source: string): Map<string, number> {
  const last = new Map<string, number>();
  for (let at = 1; at < source.length; at++) {
    const char = source.charAt(at);
    if (closesAt(source, at, char)) last.set(char, at);
  }
  return last;
}

function closesAt(source: string, at: number, close: string): boolean {
  return source.charAt(at) === close && /^[\s.,;:!?)]?$/.test(source.charAt(at + 1));
}

/** One request out of several: its words, and the text that they come from. */
export interface Clause {
  source: string;
  words: Word[];
}

/** Words at the start of a clause that mean nothing. */
const FILLERS = [
  'please',
  'first',
  'now',
  'next',
  'finally',
  'also',
  'and',
  'then',
  'can',
  'could',
  'you',
  'so',
  'just',
];

/** Splits a user's message into requests: at line breaks and at an unquoted `then`. */
export function toClauses(source: string): Clause[] {
  const groups: Word[][] = [[]];
  for (const word of toWords(source)) {
    if (isBreak(word)) groups.push([]);
    else groups.at(-1)?.push(word);
  }
  return groups.map((words) => ({ source, words: trim(words) })).filter(({ words }) => words.length > 0);
}

function isBreak({ text, quoted }: Word): boolean {
  return !quoted && (text === '\n' || /^,?then,?$/i.test(text));
}

function trim(words: readonly Word[]): Word[] {
  const start = words.findIndex((word) => !isFiller(word));
  if (start === -1) return [];
  let end = words.length;
  while (end > start && isJoint(words[end - 1], words[end - 2])) end--;
  return words
    .slice(start, end)
    .flatMap((word, index, all) => (index === all.length - 1 ? withoutStop(word) : [word]));
}

function isFiller({ text, quoted }: Word): boolean {
  return (
    !quoted &&
    (FILLERS.includes(text.toLowerCase().replace(/,$/, '')) || /^(?:[-*•]|\d{1,3}[.)])$/.test(text))
  );
}

/**
 * Whether a word is an `and` or a punctuation mark that only joins two requests. A full stop is a path, unless the full
 * stop follows a quote directly.
 */
function isJoint(word: Word | undefined, before: Word | undefined): boolean {
  if (word === undefined || word.quoted) return false;
  if (word.text === '.') return before?.quoted === true && before.end === word.start;
  return /^(?:and|[,;:!?])$/i.test(word.text);
}

/** The last word without the full stop of its sentence; `.`, `..` and `./.` are paths. */
function withoutStop(word: Word): Word[] {
  if (word.quoted || /^\.+$|\/\.+$/.test(word.text)) return [word];
  const text = word.text.replace(/[.,;:!?]{1,3}$/, '');
  return text === '' ? [] : [{ ...word, text, end: word.start + text.length }];
}

/** Consecutive words of one clause, with the tests that the grammar needs. */
export interface Phrase {
  readonly length: number;
  /** The word at this place in lower case without punctuation. Undefined if the word is quoted or missing. */
  keyword(index: number): string | undefined;
  slice(start: number, end?: number): Phrase;
  /** The phrase without the given keywords at its start. */
  without(...keywords: readonly string[]): Phrase;
  /** The position of the first or last of these keywords. -1 if there is none. */
  find(...keywords: readonly string[]): number;
  findLast(...keywords: readonly string[]): number;
  /**
   * The text of the phrase: the content of a single quoted word, or the whole text of an unquoted phrase as written.
   * Undefined if the phrase is empty or mixes both.
   */
  text(): string | undefined;
  /** The only path in the phrase. */
  path(): string | undefined;
  /** The paths in the phrase, listed with commas and `and`. */
  paths(): string[] | undefined;
  words(): readonly Word[];
}

/** The phrase of a whole clause. */
export function toPhrase({ source, words }: Clause): Phrase {
  const keyword = (index: number): string | undefined => {
    const word = words[index];
    return word === undefined || word.quoted ? undefined : word.text.toLowerCase().replace(/[,:;]$/, '');
  };
  const isOneOf = (keywords: readonly string[], index: number): boolean =>
    keywords.includes(keyword(index) ?? '');
  const places = words.map((_, index) => index);
  const slice = (start: number, end?: number): Phrase => toPhrase({ source, words: words.slice(start, end) });
  return {
    length: words.length,
    keyword,
    slice,
    without(...keywords) {
      const start = places.findIndex((index) => !isOneOf(keywords, index));
      return slice(start === -1 ? words.length : start);
    },
    find: (...keywords) => places.findIndex((index) => isOneOf(keywords, index)),
    findLast: (...keywords) => places.findLastIndex((index) => isOneOf(keywords, index)),
    text: () => textOf(source, words),
    path: () => (words.length === 1 ? pathOf(words[0]) : undefined),
    paths: () => pathsOf(words),
    words: () => words,
  };
}

function textOf(source: string, words: readonly Word[]): string | undefined {
  const [first] = words;
  const last = words.at(-1);
  if (first === undefined || last === undefined) return undefined;
  if (words.length === 1) return first.text;
  return words.some(({ quoted }) => quoted) ? undefined : source.slice(first.start, last.end);
}

function pathsOf(words: readonly Word[]): string[] | undefined {
  const paths: string[] = [];
  for (const [index, word] of words.entries()) {
    if (!word.quoted && /^(?:and|,|and,)$/i.test(word.text)) continue;
    const path = pathOf(word);
    // Two paths in a row without a comma or an "and" are not a list.
    if (path === undefined || (index > 0 && !isListed(words[index - 1]))) return undefined;
    paths.push(path);
  }
  return paths.length === 0 ? undefined : [...new Set(paths)];
}

function isListed(before: Word | undefined): boolean {
  return before !== undefined && !before.quoted && (/^and$/i.test(before.text) || before.text.endsWith(','));
}

function pathOf(word: Word | undefined): string | undefined {
  const path = word === undefined || word.quoted ? word?.text : word.text.replace(/,$/, '');
  return path === '' ? undefined : path;
}
