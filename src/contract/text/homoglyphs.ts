import { CONFUSABLES } from './confusables';
import { codeOf, CONFUSABLE, LETTER, type LookAlike, signsIn } from './signs';

/** A script whose letters pass for Latin letters. */
interface Script {
  name: string;
  letter: RegExp;
  /** Matches runs of the script's letters. */
  runs: RegExp;
  /** Matches runs of those letters that are marked in a word with Latin letters. */
  twins: RegExp;
  /**
   * Letters that nobody can distinguish from Latin ones. They are marked as whole words in a text that shows the
   * script.
   */
  doubles?: RegExp;
}

const ONLY_CONFUSABLE = new RegExp(`^[${CONFUSABLES}]+$`, 'u');
const CYRILLIC_DOUBLES = /^[асеорхуѕіјһӏԁԛԝѵАВЕКМНОРСТУХЅІЈӀԚԜҮ]+$/u;
const GREEK_DOUBLES = /^[ονρυϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ]+$/u;

/**
 * In formulae and units (`Δx`, `μs`), most Greek letters resemble no Latin letter. So only look-alikes are marked
 * there.
 */
const GREEK_TWINS = new RegExp(`(?:(?=\\p{Script=Greek})[κχ${CONFUSABLES}])+`, 'gu');
/** Greek letters after three Latin ones, or between one and two, are part of a word, not of a unit or a formula. */
const GREEK_IN_WORD =
  /\p{Script=Latin}{3}\p{Script=Greek}|\p{Script=Latin}\p{Script=Greek}+\p{Script=Latin}{2}/u;
const SCRIPTS: readonly Script[] = [
  { ...script('Cyrillic'), doubles: CYRILLIC_DOUBLES },
  { ...script('Greek'), twins: GREEK_TWINS, doubles: GREEK_DOUBLES },
  ...['Armenian', 'Cherokee', 'Coptic', 'Deseret', 'Georgian', 'Lisu', 'Osage', 'Vai'].map(script),
];

function script(name: string): Script {
  const runs = new RegExp(`\\p{Script=${name}}+`, 'gu');
  return { name, letter: new RegExp(`\\p{Script=${name}}`, 'u'), runs, twins: runs };
}

const EAST = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Bopomofo}';
const HOME = '\\p{Script=Latin}\\p{Script=Common}\\p{Script=Inherited}';
/**
 * Letters and digits of all other scripts. East Asian ones are excepted, because ordinary text has them beside Latin
 * letters.
 */
const STRANGER = new RegExp(
  `(?![${HOME}${EAST}]|${SCRIPTS.map(({ letter }) => letter.source).join('|')})[\\p{L}\\p{N}\\p{M}]`,
  'gu',
);

const STRANGE_DIGIT = /(?!\p{Script=Common})\p{Nd}/gu;

const NOT_ASCII = /[^\0-\x7f]/;
const LATIN = /\p{Script=Latin}/u;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
/** Letters and digits of which a whole word of look-alikes may consist. */
const FOREIGN = new RegExp(`(?![${HOME}${EAST}])[\\p{L}\\p{N}]`, 'gu');

/** A whole word of `doubles` up to this length is not marked if the text shows its script. */
const SHORT = 2;

/**
 * Pieces of a text that pass for something else, by Unicode's data (UTS 39): letters of another script in a word, whole
 * words of letters that pass for Latin ones, letters made for formulae, small capitals, signs that pass for signs of a
 * command line, and hosts whose real name is different. `isProse`: nothing in the text is run, so letters and signs
 * that some language really uses pass where they stand in words.
 */
export function lookAlikesIn(text: string, isProse = false): LookAlike[] {
  if (!NOT_ASCII.test(text)) return [];
  const found = [...hosts(text), ...words(text, isProse), ...signsIn(text, isProse)].sort(
    (a, b) => a.start - b.start || b.end - a.end,
  );
  let until = 0;
  // A finding within a host is reported as part of the host.
  return found.filter(({ start, end }) => {
    if (start < until) return false;
    until = end;
    return true;
  });
}

const BEFORE_HOST = /:\/\/|@/g;
/** A host, up to the longest name that DNS allows. */
const HOST = /[^\s/?#:@"'`<>()[\]{},;|\\]{1,253}/y;
/**
 * A host without an address around it, recognized by its ending. Endings that files have too (`py`, `sh`) are left out.
 */
const BARE_HOST = new RegExp(
  '(?<![^\\s"\'`(=,])(?:[\\p{L}\\p{M}\\p{N}-]{1,63}[.。．｡]){1,9}' +
    '(?:com|net|org|edu|gov|mil|info|biz|io|dev|app|xyz|online|site|shop|store|cloud|bank|ai|eu|us|uk|de|fr|it|es|' +
    'nl|be|ch|at|dk|no|se|fi|ru|ua|gr|tr|il|ae|in|cn|jp|kr|au|ca|br|xn--[a-z0-9-]+|рф|укр|бг|中国|中國|台灣|香港|한국)' +
    '(?![\\p{L}\\p{M}\\p{N}-]|\\.[\\p{L}\\p{N}])',
  'gu',
);

/** Hosts whose letters are not ASCII, with the ASCII names that are really looked up. */
function hosts(text: string): LookAlike[] {
  const inAddresses = [...text.matchAll(BEFORE_HOST)].flatMap(({ 0: before, index }) => {
    HOST.lastIndex = index + before.length;
    const [host = ''] = HOST.exec(text) ?? [];
    const start = index + before.length;
    // A name before an @ is a user, not a host.
    return text[start + host.length] === '@' ? [] : { host, start };
  });
  const bare = [...text.matchAll(BARE_HOST)].map(({ 0: host, index }) => ({ host, start: index }));
  return [...inAddresses, ...bare]
    .filter(({ host }) => NOT_ASCII.test(host))
    .map(({ host, start }) => ({ start, end: start + host.length, name: asciiOf(host) }));
}

function asciiOf(host: string): string {
  try {
    return new URL(`http://${host}`).hostname;
  } catch {
    return 'no host';
  }
}

function words(text: string, isProse: boolean): LookAlike[] {
  const shown = scriptsShown(text);
  return [...text.matchAll(WORD)].flatMap(({ 0: word, index }) => {
    if (!NOT_ASCII.test(word)) return [];
    const found = mixed(word);
    const all = found.length > 0 || LATIN.test(word) ? found : whole(word, shown, isProse);
    return all.map(({ start, end, name }) => ({ start: start + index, end: end + index, name }));
  });
}

/**
 * The scripts that a text shows with letters that pass for no other letters. `''` stands for all scripts without an
 * entry above.
 */
function scriptsShown(text: string): ReadonlySet<string> {
  const shown = new Set<string>();
  for (const char of new Set(text.match(FOREIGN))) {
    const { name, doubles } = scriptOf(char);
    if (LETTER.test(char) && !CONFUSABLE.test(char) && doubles?.test(char) !== true) shown.add(name);
  }
  return shown;
}

const OTHER: Pick<Script, 'name' | 'doubles'> = { name: '' };

function scriptOf(char: string): Pick<Script, 'name' | 'doubles'> {
  return SCRIPTS.find(({ letter }) => letter.test(char)) ?? OTHER;
}

/** Letters of other scripts in a word with Latin letters, or in a word that is mostly in another script. */
function mixed(word: string): LookAlike[] {
  const scripts = SCRIPTS.filter(({ letter }) => letter.test(word));
  const isLatin = LATIN.test(word);
  if (!isLatin) scripts.sort((a, b) => countIn(word, b) - countIn(word, a));
  const others = isLatin ? scripts : scripts.slice(1);
  const isFormula = isLatin && !GREEK_IN_WORD.test(word);
  // A word in a script without an entry above is not marked, except for its digits beside ASCII digits.
  const isOther = !isLatin && scripts.length === 0;
  const strangers = isOther ? (/[0-9]/.test(word) ? STRANGE_DIGIT : undefined) : STRANGER;
  return [
    ...others.flatMap(({ name, twins, runs: all }) => pieces(word, isFormula ? twins : all, name)),
    ...(strangers === undefined ? [] : pieces(word, strangers)),
  ];
}

function countIn(word: string, { letter }: Script): number {
  return [...word].filter((char) => letter.test(char)).length;
}

function whole(word: string, shown: ReadonlySet<string>, isProse: boolean): LookAlike[] {
  const [first = '', ...more] = word.match(FOREIGN) ?? [];
  const letters = [first, ...more].join('');
  const { name, doubles = ONLY_CONFUSABLE } = scriptOf(first);
  if (!ONLY_CONFUSABLE.test(letters) && !doubles.test(letters)) return [];
  const isPlain = shown.has(name);
  if (isPlain && (isProse || letters.length <= SHORT || !doubles.test(letters))) return [];
  return [{ start: 0, end: word.length, name: name === '' ? codeOf(word) : name }];
}

function pieces(text: string, pattern: RegExp, name?: string): LookAlike[] {
  return [...text.matchAll(pattern)].map(({ 0: piece, index }) => ({
    start: index,
    end: index + piece.length,
    name: name ?? codeOf(piece),
  }));
}
