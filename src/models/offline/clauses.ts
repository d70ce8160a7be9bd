import { toWords, type Word } from './words';

/** One request out of several: its words, and the source they lie in. */
export interface Clause {
  source: string;
  words: Word[];
}

/** Words that begin a clause without saying anything. */
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

/** Splits words of a person into requests: at line breaks and at an unquoted `then`. */
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

/** An `and` or a mark that only led to the next request; a full stop is a path unless it follows a quote at once. */
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
