import type { Clause } from './clauses';
import type { Word } from './words';

/** A run of words of one clause, with what the grammar asks of it. */
export interface Phrase {
  readonly length: number;
  /** The word at this place in lower case without punctuation; undefined where it is quoted or missing. */
  keyword(index: number): string | undefined;
  slice(start: number, end?: number): Phrase;
  /** Without the given keywords at its start. */
  without(...keywords: readonly string[]): Phrase;
  /** Place of the first or last of these keywords; -1 where there is none. */
  find(...keywords: readonly string[]): number;
  findLast(...keywords: readonly string[]): number;
  /** Its text: what is inside the quotes of a single quoted word, or all of it as written. Undefined: none, or a mixture. */
  text(): string | undefined;
  /** Its one path. */
  path(): string | undefined;
  /** Its paths, listed with commas and `and`. */
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
    // Two paths in a row without a comma or an "and" are no list.
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
