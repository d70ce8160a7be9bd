import { CONFUSABLES } from './confusables';

/** A piece of text that passes for other letters, and the name of what it really is. */
interface LookAlike {
  start: number;
  end: number;
  /**
   * The script of the letters, the code of a single sign, or the real name of a host: `Cyrillic`, `U+2215`, `xn--…`.
   */
  name: string;
}

const NOT_ASCII = /[^\0-\x7f]/;
const NOT_ASCII_PIECES = /[^\0-\x7f]+/g;
/** Not every screen draws a letter with a U+FE0F as an emoji. */
const passing = once(() => new RegExp(`^[!-~\\ufe0f${CONFUSABLES}]+$`, 'u'));

/** East Asian letters, which ordinary text has beside wide signs. */
export const EAST =
  '[ー\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}\\p{Script=Bopomofo}]';

/** The scripts of Unicode 15. A word of a later script is marked as if it mixed scripts. */
const SCRIPTS = (
  'Latin Cyrillic Greek Han Hangul Arabic Hebrew Devanagari Thai ' +
  'Adlam Ahom Anatolian_Hieroglyphs Armenian Avestan Balinese Bamum Bassa_Vah Batak Bengali Bhaiksuki Bopomofo ' +
  'Brahmi Braille Buginese Buhid Canadian_Aboriginal Carian Caucasian_Albanian Chakma Cham Cherokee Chorasmian ' +
  'Coptic Cuneiform Cypriot Cypro_Minoan Deseret Dives_Akuru Dogra Duployan Egyptian_Hieroglyphs Elbasan Elymaic ' +
  'Ethiopic Georgian Glagolitic Gothic Grantha Gujarati Gunjala_Gondi Gurmukhi Hanifi_Rohingya Hanunoo Hatran ' +
  'Hiragana Imperial_Aramaic Inscriptional_Pahlavi Inscriptional_Parthian Javanese Kaithi Kannada Katakana Kawi ' +
  'Kayah_Li Kharoshthi Khitan_Small_Script Khmer Khojki Khudawadi Lao Lepcha Limbu Linear_A Linear_B Lisu Lycian ' +
  'Lydian Mahajani Makasar Malayalam Mandaic Manichaean Marchen Masaram_Gondi Medefaidrin Meetei_Mayek ' +
  'Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs Miao Modi Mongolian Mro Multani Myanmar Nabataean ' +
  'Nag_Mundari Nandinagari New_Tai_Lue Newa Nko Nushu Nyiakeng_Puachue_Hmong Ogham Ol_Chiki Old_Hungarian ' +
  'Old_Italic Old_North_Arabian Old_Permic Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Oriya ' +
  'Osage Osmanya Pahawh_Hmong Palmyrene Pau_Cin_Hau Phags_Pa Phoenician Psalter_Pahlavi Rejang Runic Samaritan ' +
  'Saurashtra Sharada Shavian Siddham SignWriting Sinhala Sogdian Sora_Sompeng Soyombo Sundanese Syloti_Nagri ' +
  'Syriac Tagalog Tagbanwa Tai_Le Tai_Tham Tai_Viet Takri Tamil Tangsa Tangut Telugu Thaana Tibetan Tifinagh ' +
  'Tirhuta Toto Ugaritic Vai Vithkuqi Wancho Warang_Citi Yezidi Yi Zanabazar_Square'
).split(' ');

/** Scripts that one word may mix: UTS 39's "highly restrictive". */
const TOGETHER = [
  ['Latin', 'Han', 'Hiragana', 'Katakana'],
  ['Latin', 'Han', 'Bopomofo'],
  ['Latin', 'Han', 'Hangul'],
];

const patternOf = (scripts: readonly string[]) =>
  [...scripts, 'Common', 'Inherited'].map((script) => `\\p{Script_Extensions=${script}}`).join('');

/** A value that is made at its first use. Patterns of Unicode take long to make, and many programs show no text. */
export function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

const HOMES = SCRIPTS.map((script) => ({
  script,
  letter: once(() => new RegExp(`^\\p{Script=${script}}`, 'u')),
  home: once(() => homeOf(script)),
}));

function homeOf(script: string) {
  const sets = [[script], ...TOGETHER.filter((scripts) => scripts.includes(script))].map(patternOf);
  return {
    /** The letters of the script, and of scripts that belong to it. */
    allowed: sets.map((set) => new RegExp(`^[${set}]+$`, 'u')),
    others: new RegExp(`[^${sets[0]}]+`, 'gu'),
  };
}

/** The script of a letter. Undefined if it belongs to none or to several. */
function scriptOf(char: string) {
  return HOMES.find(({ letter }) => letter().test(char));
}

/**
 * Pieces of a text that runs which pass for something else, by Unicode's data (UTS 39): letters of another script in a
 * word, words and signs that pass for ASCII, a dash where an option begins, and hosts whose real name is different.
 */
export function lookAlikesIn(text: string): LookAlike[] {
  if (!NOT_ASCII.test(text)) return [];
  const found = [...hosts(text), ...words(text), ...signs(text)].sort(
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
const bareHost = once(
  () =>
    new RegExp(
      '(?<![^\\s"\'`(=,])(?:[\\p{L}\\p{M}\\p{N}-]{1,63}[.。．｡]){1,9}' +
        '(?:com|net|org|edu|gov|mil|info|biz|io|dev|app|xyz|online|site|shop|store|cloud|bank|ai|eu|us|uk|de|fr|it|es|' +
        'nl|be|ch|at|dk|no|se|fi|ru|ua|gr|tr|il|ae|in|cn|jp|kr|au|ca|br|xn--[a-z0-9-]+|рф|укр|бг|中国|中國|台灣|香港|한국)' +
        '(?![\\p{L}\\p{M}\\p{N}-]|\\.[\\p{L}\\p{N}])',
      'gu',
    ),
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
  const bare = [...text.matchAll(bareHost())].map(({ 0: host, index }) => ({ host, start: index }));
  return [...inAddresses, ...bare]
    .filter(({ host }) => NOT_ASCII.test(host))
    .map(({ host, start }) => ({ start, end: start + host.length, name: asciiOf(host) }));
}

function asciiOf(host: string) {
  try {
    return new URL(`http://${host}`).hostname;
  } catch {
    return 'no host';
  }
}

const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*/gu;

function words(text: string) {
  return [...text.matchAll(WORD)].flatMap(({ 0: word, index }) =>
    NOT_ASCII.test(word) ? pieces(word, index, passes(word) ? NOT_ASCII_PIECES : strangersIn(word)) : [],
  );
}

/** Whether a reader takes a text for ASCII: each character, or its compatibility form. */
function passes(text: string) {
  return [...text.normalize('NFD')].every(
    (char) => passing().test(char) || passing().test(char.normalize('NFKC')),
  );
}

const letterOfOne = once(() => new RegExp(`(?![${patternOf([])}])\\p{L}`, 'u'));
const LATIN = /\p{Script=Latin}/u;

/** The pattern of the letters that a word of its script does not have. Undefined if the word mixes no scripts. */
function strangersIn(word: string): RegExp | undefined {
  const [letter] = LATIN.exec(word) ?? letterOfOne().exec(word) ?? [];
  if (letter === undefined) return undefined;
  const script = scriptOf(letter);
  if (script === undefined) return NOT_ASCII_PIECES;
  const { allowed, others } = script.home();
  return allowed.some((set) => set.test(word)) ? undefined : others;
}

function pieces(word: string, at: number, pattern: RegExp | undefined): LookAlike[] {
  if (pattern === undefined) return [];
  return [...word.matchAll(pattern)].map(({ 0: piece, index }) => {
    const script = scriptOf(piece)?.script;
    const name = script === undefined || script === 'Latin' ? codeOf(piece) : script.replaceAll('_', ' ');
    return { start: at + index, end: at + index + piece.length, name };
  });
}

const SIGNS = /[^\0-\x7f\s\p{L}\p{M}\p{N}]/gu;
/** Wide signs of East Asian text, beside its letters. */
const WIDE = '[\\u3001-\\u3003\\u3008-\\u301f\\uff01-\\uff65‘’“”]';
const inEast = once(() => new RegExp(`(?<=${EAST}${WIDE}{0,4})${WIDE}|${WIDE}(?=${WIDE}{0,4}${EAST})`, 'gu'));
/** Signs of another script after its letters, such as its full stop. */
const AFTER_ITS_LETTERS =
  /(?<=[^\0-\x7f])(?![\p{Script=Common}\p{Script=Inherited}\p{Script=Latin}])[\p{P}\p{S}]/gu;
/** An apostrophe in a word of letters, a dash between blanks, and an ellipsis by itself or behind a word. */
const TYPOGRAPHY =
  /’(?<=(?:^|\s)\p{L}{1,40}’)(?=\p{L}{1,40}[.,;:!?)]?(?:\s|$))|–(?<=\s–)(?=\s)|…(?<![^\s\p{L}]…)(?!\S)/gu;
/** A dash where an option begins. */
const OPTION = /(?<=(?:^|\s)\p{Pd}{0,2})(?!-)\p{Pd}(?=[\w\p{Pd}])/gu;

function signs(text: string): LookAlike[] {
  if (text.search(SIGNS) === -1) return [];
  const blanks = (sign: string) => ' '.repeat(sign.length);
  const rest = [inEast(), AFTER_ITS_LETTERS, TYPOGRAPHY].reduce(
    (left, ordinary) => left.replace(ordinary, blanks),
    text,
  );
  const alike = [...rest.matchAll(SIGNS)].filter(([sign]) => passes(sign));
  return [...alike, ...text.matchAll(OPTION)].map(({ 0: sign, index }) => ({
    start: index,
    end: index + sign.length,
    name: codeOf(sign),
  }));
}

/** The code of a text of one character. For a longer text `not ASCII`. */
function codeOf(text: string) {
  const [first, ...more] = [...text];
  return first === undefined || more.length > 0 ? 'not ASCII' : codePointOf(first);
}

/** A character as `U+05D0`. */
export function codePointOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0').toUpperCase()}`;
}
