/** A piece of text whose letters pass for others, and what they are. */
export interface LookAlike {
  start: number;
  end: number;
  /** The name of their script, or the code of a single sign: `Cyrillic`, `U+2215`. */
  name: string;
}

/** A script whose letters pass for Latin ones. */
interface Script {
  name: string;
  letter: RegExp;
  /** Its letters that look like Latin ones; absent: none are told apart. */
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

const OTHERS = new RegExp(SCRIPTS.map(({ letter }) => letter.source).join('|'), 'u');
const LATIN = /\p{Script=Latin}/u;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;
const LETTER = /\p{L}/u;

/** Letters made for formulae, and numerals that are letters by their looks. */
const STYLED = /[\u{1d400}-\u{1d7ff}]+|[\u2160-\u217f]+/gu;
/** Signs that pass for `;`, `/`, `.`, `:`, `!`, `-` and the letters g and l. */
const SIGNS = /[\u037e\u2044\u2215\u29f8\u2024\u2236\ua789\u01c3\u2010-\u2012\u2212\u0261\u01c0]/gu;

/** A whole word of doubles is a word like any other up to this length, where its script is plain to see. */
const SHORT = 2;

/**
 * Pieces of a text that pass for something else: letters of another script in a word with Latin ones, whole words of
 * letters that nobody can tell from Latin ones, letters made for formulae, signs that pass for those of a command line.
 */
export function lookAlikesIn(text: string): LookAlike[] {
  const found = [...styled(text), ...signs(text), ...(OTHERS.test(text) ? words(text) : [])];
  return found.sort((a, b) => a.start - b.start);
}

function styled(text: string): LookAlike[] {
  return [...text.matchAll(STYLED)].map((match) => {
    const name = /[\u2160-\u217f]/.test(match[0]) ? 'Roman numeral' : 'mathematical';
    return { start: match.index, end: match.index + match[0].length, name };
  });
}

function signs(text: string): LookAlike[] {
  return [...text.matchAll(SIGNS)].map(({ 0: sign, index }) => {
    const code = sign.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase();
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
