/** A piece of text whose letters pass for others, and what they are. */
export interface LookAlike {
  start: number;
  end: number;
  /** The name of their script, the code of a single sign, or what a host really is: `Cyrillic`, `U+2215`, `xn--…`. */
  name: string;
}

/** A script whose letters pass for Latin ones. */
interface Script {
  name: string;
  letter: RegExp;
  /** Its letters that look like Latin ones; absent: all of them may. */
  twins?: RegExp;
  /** The strictest of them, for whole words: only such as nobody can tell. */
  doubles?: RegExp;
}

const CYRILLIC_DOUBLES = /^[асеорхуѕіјһӏԁԛԝѵАВЕКМНОРСТУХЅІЈӀԚԜҮ]+$/u;
const GREEK_DOUBLES = /^[ονρυϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ]+$/u;

/** Greek letters like no Latin one stand in formulae and units (`Δx`, `μs`), so only its twins are marked there. */
const SCRIPTS: readonly Script[] = [
  { name: 'Cyrillic', letter: /\p{Script=Cyrillic}/u, doubles: CYRILLIC_DOUBLES },
  {
    name: 'Greek',
    letter: /\p{Script=Greek}/u,
    twins: /[αγικνορυχϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ]/u,
    doubles: GREEK_DOUBLES,
  },
  ...['Armenian', 'Cherokee', 'Coptic', 'Deseret', 'Georgian', 'Lisu', 'Osage', 'Vai'].map((name) => ({
    name,
    letter: new RegExp(`\\p{Script=${name}}`, 'u'),
  })),
];

/** Letters of every other script; those of East Asia stand beside Latin ones in ordinary text, and look like none. */
const NEIGHBOURS = [
  'Latin',
  'Common',
  'Inherited',
  'Greek',
  'Han',
  'Hiragana',
  'Katakana',
  'Hangul',
  'Bopomofo',
];
const STRANGER = new RegExp(
  `(?!${[...NEIGHBOURS, ...SCRIPTS.map(({ name }) => name)].map((name) => `\\p{Script=${name}}`).join('|')})\\p{L}`,
  'gu',
);

const OTHERS = new RegExp(SCRIPTS.map(({ letter }) => letter.source).join('|'), 'u');
const LATIN = /\p{Script=Latin}/u;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const LETTER = /\p{L}/u;

/** Letters made for formulae, and numerals that are letters by their looks. */
const STYLED = /[\u{1d400}-\u{1d7ff}]+|[\u2160-\u217f]+/gu;
/** Signs that pass for `;`, `/`, `.`, `:`, `!`, `-` and the letters a, g, i and l. */
const SIGNS =
  /[\u037e\u2044\u2215\u29f8\u2024\u2236\ua789\u01c3\u2010-\u2012\u2212\ufe58\ufe63\u0251\u0131\u0261\u01c0]/gu;

/** ASCII in the width of East Asian text: letters and digits wherever they are, signs only beside real ASCII. */
const WIDE =
  /[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]+|(?<=[!-~])[\uff01-\uff5e]|[\uff01-\uff5e](?=[!-~])/gu;
/** What a browser takes for the dot of a host; it ends sentences as well. */
const STOP = /(?<=[0-9A-Za-z])[\u3002\uff61](?=\S)|(?<=\S)[\u3002\uff61](?=[0-9A-Za-z])/gu;
/** Dashes of prose. They pass for `-` before an option, in a path, in an address, and in a text of one word. */
const DASH = /[\u2013-\u2015]/gu;
const NO_PROSE = /[\w\u2013-\u2015][./:@\\=_][\w\u2013-\u2015]/;

/** A whole word of doubles is a word like any other up to this length, where its script is plain to see. */
const SHORT = 2;

/**
 * Pieces of a text that pass for something else: letters of another script in a word with Latin ones, whole words of
 * letters that nobody can tell from Latin ones, letters made for formulae, signs that pass for those of a command line,
 * and hosts of addresses that are something else on the wire.
 */
export function lookAlikesIn(text: string): LookAlike[] {
  if (!NOT_ASCII.test(text)) return [];
  const found = [
    ...hosts(text),
    ...styled(text),
    ...wide(text),
    ...[SIGNS, STOP].flatMap((pattern) => signs(text, pattern)),
    ...dashes(text),
    ...(OTHERS.test(text) ? words(text) : []),
    ...strangersOfAll(text),
  ].sort((a, b) => a.start - b.start || b.end - a.end);
  let until = 0;
  // A finding within a host is reported with the host.
  return found.filter(({ start, end }) => {
    if (start < until) return false;
    until = end;
    return true;
  });
}

const NOT_ASCII = /[^\0-\x7f]/;

const BEFORE_HOST = /:\/\/|@/g;
/** As long as a name of the net may be. */
const HOST = /[^\s/?#:@"'`<>()[\]{},;|\\]{1,253}/y;

/** Hosts of addresses whose letters are not ASCII, with the names that are really asked for. */
function hosts(text: string): LookAlike[] {
  return [...text.matchAll(BEFORE_HOST)].flatMap(({ 0: before, index }) => {
    HOST.lastIndex = index + before.length;
    const [host = ''] = HOST.exec(text) ?? [];
    const [start, end] = [index + before.length, index + before.length + host.length];
    // What stands before an @ is a user.
    return text[end] === '@' || !NOT_ASCII.test(host) ? [] : [{ start, end, name: asciiOf(host) }];
  });
}

function asciiOf(host: string): string {
  try {
    return new URL(`http://${host}`).hostname;
  } catch {
    return 'no host';
  }
}

function wide(text: string): LookAlike[] {
  return [...text.matchAll(WIDE)].map(({ 0: run, index }) => {
    return { start: index, end: index + run.length, name: 'full-width' };
  });
}

function dashes(text: string): LookAlike[] {
  if (text.search(DASH) === -1) return [];
  return [...text.matchAll(/\S+/g)].flatMap(({ 0: word, index }) => {
    const isAlone = word.length === text.trim().length;
    const passes = (at: number): boolean =>
      /^["'([{]?$/.test(word.slice(0, at)) ? /\w/.test(word.charAt(at + 1)) : isAlone || NO_PROSE.test(word);
    return signs(word, DASH)
      .filter(({ start }) => word.length > 1 && passes(start))
      .map(({ start, end, name }) => ({ start: start + index, end: end + index, name }));
  });
}

function strangersOfAll(text: string): LookAlike[] {
  if (text.search(STRANGER) === -1) return [];
  return [...text.matchAll(WORD)].flatMap(({ 0: word, index }) =>
    LATIN.test(word)
      ? signs(word, STRANGER).map(({ start, end, name }) => ({
          start: start + index,
          end: end + index,
          name,
        }))
      : [],
  );
}

function styled(text: string): LookAlike[] {
  return [...text.matchAll(STYLED)].map((match) => {
    const name = /[\u2160-\u217f]/.test(match[0]) ? 'Roman numeral' : 'mathematical';
    return { start: match.index, end: match.index + match[0].length, name };
  });
}

function signs(text: string, pattern: RegExp): LookAlike[] {
  return [...text.matchAll(pattern)].map(({ 0: sign, index }) => {
    const code = (sign.codePointAt(0) ?? 0).toString(16).padStart(4, '0').toUpperCase();
    return { start: index, end: index + sign.length, name: `U+${code}` };
  });
}

function words(text: string): LookAlike[] {
  const plain = new Set(SCRIPTS.filter((script) => isPlainIn(text, script)).map(({ name }) => name));
  return [...text.matchAll(WORD)].flatMap(({ 0: word, index }) => {
    const mixed = LATIN.test(word);
    const found = SCRIPTS.flatMap((script) =>
      mixed ? strangers(word, script) : whole(word, script, plain.has(script.name)),
    );
    return found.map(({ start, end, name }) => ({ start: start + index, end: end + index, name }));
  });
}

/** Whether a text shows a script by letters that pass for no Latin ones. */
function isPlainIn(text: string, { letter, doubles }: Script): boolean {
  if (doubles === undefined) return false;
  return [...text].some((char) => letter.test(char) && LETTER.test(char) && !doubles.test(char));
}

/** The runs of another script's letters in a word with Latin ones. */
function strangers(word: string, { name, letter, twins = letter }: Script): LookAlike[] {
  return [...word.matchAll(new RegExp(`(?:${twins.source})+`, 'gu'))].map((match) => ({
    start: match.index,
    end: match.index + match[0].length,
    name,
  }));
}

function whole(word: string, { name, doubles }: Script, isPlain: boolean): LookAlike[] {
  const letters = [...word].filter((char) => LETTER.test(char)).join('');
  if (doubles === undefined || !doubles.test(letters)) return [];
  return isPlain && letters.length <= SHORT ? [] : [{ start: 0, end: word.length, name }];
}
