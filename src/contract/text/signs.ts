import { CONFUSABLES } from './confusables';

/** A piece of text that passes for other letters, and the name of what it really is. */
export interface LookAlike {
  start: number;
  end: number;
  /**
   * The script of the letters, the code of a single sign, or the real name of a host: `Cyrillic`, `U+2215`, `xn--…`.
   */
  name: string;
}

export const CONFUSABLE = new RegExp(`[${CONFUSABLES}]`, 'u');
const ASCII_TEXT = /^[!-~]+$/;
/** Text that passes for ASCII. A character whose compatibility form matches this passes for ASCII, too. */
const PASSES = new RegExp(`^[!-~${CONFUSABLES}]+$`, 'u');
export const LETTER = /\p{L}/u;
/** Letters of East Asia. */
export const EAST =
  /[ー\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}]/u;

/**
 * Characters that pass for ASCII in text that runs, although Unicode's data does not say so: hooked and old letters,
 * letters in frames, dashes, brackets and connectors, stars, and signs like `|`, `;`, `%`, `&` and `$`.
 */
const RUNS_ALIKE =
  /(?![ƏƠơƯưə\u3008-\u301f])[\u0180-\u01c3\u0221\u0234-\u02af\u02cd\u0964\u2017\u204a\u204f\u2052\u2055\u2126\u212b\u214b\u22c6\u23af\u2731-\u273d\u2aff\u2e35\p{Pc}\p{Pd}\p{Pe}\p{Ps}\u{10110}\u{1f130}-\u{1f1ff}\u{1f4b2}\u{1f670}-\u{1f675}\u{1f7af}-\u{1f7bf}]/u;
/** Letters of phonetic alphabets, small capitals and a j without its dot, whatever they resemble. */
const PHONETIC =
  /[\u0237\u0262\u026a\u0274\u0280\u0281\u0299\u029b\u029c\u029f\u1d00-\u1dbf\u2c60-\u2c7f\ua720-\ua7ff\uab30-\uab6f\u{10780}-\u{107bf}\u{1d6a5}\u{1df00}-\u{1dfff}]/u;
/**
 * Letters and signs that words really use. In a path, an option, an address or a variable they pass for other
 * characters.
 */
const TYPOGRAPHY =
  /[…‥⋯♯²³¹ªº™℠№℃æÆœŒơƠŉ·•‧∙⋅・\u2070-\u207a\u207c-\u208a\u208c-\u208e\u203c\u2047-\u2049\u221e\u2460-\u24b5\u3200-\u33ff]/u;
const QUOTES = /[‘’‚‛“”„‟‹›′″‴⁗ʻʼ〝〞]/u;
const APOSTROPHE = /[’ʼʻ]/u;
/** Dashes that prose uses. They pass for `-` before an option, in a path, in an address, and in a text of one word. */
const DASH = /[\u2013-\u2015\u2e3a\u2e3b]/u;
const HYPHEN = /[\u2010-\u2012]/u;
/** Strokes that are letters, or marks of length, among letters of their own script. */
const STROKE = /[〇〱-〵丶丿丨一ノーｰヽㅡㅣᅳᅵ\u2f00-\u2f03➕➖]/u;
/** Dots at half height, which pass for a full stop between letters. Catalan has one between two letters `l`. */
const MIDDLE_DOT = /[·•‧∙⋅・᛫⸱⸳]/u;
/** Signs above the line that belong after a letter. */
const BEHIND = /[ªºŉ]/;
const FAR = 8;
const LETTER_OF_EAST = `(?!${STROKE.source})${EAST.source}`;
const IS_EAST = new RegExp(LETTER_OF_EAST, 'u');
const EAST_BEFORE = new RegExp(`${LETTER_OF_EAST}${STROKE.source}*$`, 'u');
const EAST_AFTER = new RegExp(`^${STROKE.source}*${LETTER_OF_EAST}`, 'u');
/** The frames of tables. */
const FRAME = /[─━│┃╌╍┄┅╎╏❘❙❚⎮⏐¦]/u;
/** Signs of East Asian text, and signs that end a sentence or a part of a sentence. */
const WIDE = /[\uff01-\uff60\u3001-\u3003\uff61\u3014\u3015\ufe50-\ufe6b\u30a0]/u;
const EAST_STOP = /[。｡，、：！？（）〔〕〃]/u;
const STYLES: readonly (readonly [name: string, letter: RegExp])[] = [
  ['full-width', /[\uff01-\uff5e]/u],
  ['mathematical', /[\u{1d400}-\u{1d7ff}]/u],
  ['Roman numeral', /[\u2160-\u217f]/u],
];

/** Facts about a line. They are worked out once, and only if a check asks for them. */
interface Line {
  isProse: boolean;
  isSentence(): boolean;
  isEast(): boolean;
  isFramed(): boolean;
}

interface Word {
  line: Line;
  text: string;
  /** Whether the word is a path, an option, an address, a variable or the like. */
  isTechnical(): boolean;
  /** The same question for dashes, which ordinary words have, too. A word that fills its whole line also counts. */
  isOneName(): boolean;
  isEast(): boolean;
}

/** A character that is not ASCII, and its place in its word. */
interface Place {
  char: string;
  at: number;
  before: string;
  after: string;
  word: Word;
}

/**
 * Characters that pass for ASCII where they stand, apart from letters of other scripts. Neighbours are joined to one
 * finding.
 */
export function signsIn(text: string, isProse: boolean): LookAlike[] {
  const found: LookAlike[] = [];
  for (const { 0: whole, index: from } of text.matchAll(/[^\n]*[^\0-\x7f][^\n]*/g)) {
    const line = lineOf(whole, isProse);
    for (const { 0: part, index } of whole.matchAll(/\S+/g)) {
      if (ASCII_TEXT.test(part)) continue;
      for (const place of placesIn(wordOf(part, whole, line))) {
        if (passes(place)) add(found, place.char, from + index + place.at);
      }
    }
  }
  return found;
}

/** The code of a text of one character. For a longer text `not ASCII`. */
export function codeOf(text: string): string {
  const [first, ...more] = [...text];
  if (first === undefined || more.length > 0) return MANY;
  return codePointOf(first);
}

/** A character as `U+05D0`. */
export function codePointOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).padStart(4, '0').toUpperCase()}`;
}

const MANY = 'not ASCII';

function add(found: LookAlike[], char: string, start: number): void {
  const end = start + char.length;
  const style = STYLES.find(([, letter]) => letter.test(char))?.[0];
  const name = style ?? codeOf(char);
  const last = found.at(-1);
  const isNext = last?.end === start && (last.name === style || (style === undefined && isCode(last.name)));
  if (last !== undefined && isNext) found[found.length - 1] = { start: last.start, end, name: style ?? MANY };
  else found.push({ start, end, name });
}

function isCode(name: string): boolean {
  return name === MANY || name.startsWith('U+');
}

const SHELL = /(?:^|\s)--?[A-Za-z]|[|&]{2}|\s\|\s|\$[A-Za-z_({]|`/;
/** A line with fewer words may also be a name or a command, not a sentence. */
const FEW_WORDS = 4;
/** East Asian text has no blanks between words. */
const WORDS = new RegExp(`${EAST.source}|\\p{L}+|\\p{N}+`, 'gu');

function lineOf(text: string, isProse: boolean): Line {
  return {
    isProse,
    isSentence: once(() => !SHELL.test(text) && (text.match(WORDS) ?? []).length >= FEW_WORDS),
    isEast: once(() => IS_EAST.test(text)),
    isFramed: once(() => /^\s*[\u2500-\u257f]/.test(text)),
  };
}

const TECHNICAL = /[\\/$|<>{}`#*=_@~^]|[\w\p{L}\p{N}][.:][\w\p{L}\p{N}]/u;
const NO_PROSE = /[\w\u2010-\u2015][./:@\\=_][\w\u2010-\u2015]/;

function wordOf(text: string, whole: string, line: Line): Word {
  return {
    line,
    text,
    isTechnical: once(() => TECHNICAL.test(text)),
    isOneName: once(() => text.length === whole.trim().length || NO_PROSE.test(text)),
    isEast: once(() => EAST.test(text)),
  };
}

function once(ask: () => boolean): () => boolean {
  let answer: boolean | undefined;
  return () => (answer ??= ask());
}

function* placesIn(word: Word): Generator<Place> {
  let before = '';
  for (const { 0: char, index } of word.text.matchAll(/[^]/gu)) {
    const next = word.text.codePointAt(index + char.length);
    const after = next === undefined ? '' : String.fromCodePoint(next);
    if (char > '\x7f') yield { char, at: index, before, after, word };
    before = char;
  }
}

/** Whether a character that is not ASCII passes for ASCII where it stands. */
function passes(place: Place): boolean {
  const { char, before, after, word } = place;
  const { isProse, isFramed } = word.line;
  if (STROKE.test(char)) return isStroke(place);
  if (char === '×') return /[A-Za-z]/.test(before + after) || word.isTechnical();
  if (FRAME.test(char)) return !isProse && !isFramed();
  if (DASH.test(char) || (isProse && HYPHEN.test(char))) return isDash(place);
  // A text that was cut ends like this.
  if (char === '…' && before !== '' && after === '') return false;
  if (isMisplaced(place)) return true;
  if (TYPOGRAPHY.test(char) || (isProse && char === 'ı')) return word.isTechnical() && !isAmongEast(place);
  if (QUOTES.test(char)) return isQuote(place);
  if (WIDE.test(char)) return isWide(place);
  if (PHONETIC.test(char)) return true;
  const isAlike = CONFUSABLE.test(char) || (!isProse && RUNS_ALIKE.test(char));
  if (!isAlike && !PASSES.test(char.normalize('NFKC'))) return false;
  if (char !== '।' && /[\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]/u.test(char)) return true;
  // A sign of another script passes after letters of that script. The letters themselves are checked word by word.
  return /[\p{P}\p{S}]/u.test(char) && (before === '' || isAscii(before));
}

function isMisplaced({ char, before, after, word }: Place): boolean {
  if (word.line.isProse) return false;
  if (BEHIND.test(char)) return LETTER.test(after);
  if (char === '〜') return before === '' && isAscii(after);
  return MIDDLE_DOT.test(char) && /[a-z]{2}/i.test(before + after) && !/^ll$/i.test(before + after);
}

function isBeside({ before, after }: Place): boolean {
  return isAscii(before) || isAscii(after);
}

/** Whether a character stands beside East Asian text. Strokes between them do not count. */
function isAmongEast({ char, at, word: { text } }: Place): boolean {
  const until = at + char.length;
  return (
    EAST_BEFORE.test(text.slice(Math.max(0, at - FAR), at)) || EAST_AFTER.test(text.slice(until, until + FAR))
  );
}

function isStroke(place: Place): boolean {
  if (isAmongEast(place)) return false;
  const { before, after, word } = place;
  return isBeside(place) || (before + after === '' && !word.line.isProse && !word.line.isEast());
}

function isAscii(char: string): boolean {
  return /^[!-~]$/.test(char);
}

function isDash({ at, after, word: { text, line, isOneName } }: Place): boolean {
  if (at === 0 && after === '') return false;
  if (at < 2 && /^["'([{=\u2010-\u2015-]?$/.test(text.slice(0, at)))
    return /[\w/~.$\u2010-\u2015-]/.test(after);
  return isOneName() || (!line.isProse && !line.isSentence());
}

function isQuote(place: Place): boolean {
  const { char, before, after, word } = place;
  const { line, isTechnical } = word;
  if (isAmongEast(place)) return false;
  if (isTechnical()) return true;
  if (line.isProse) return false;
  if (APOSTROPHE.test(char) && LETTER.test(before) && LETTER.test(after)) return false;
  return !line.isSentence();
}

function isWide(place: Place): boolean {
  const { char, before, after, word } = place;
  if (isAscii(before) && isAscii(after)) return true;
  if (EAST_STOP.test(char)) return !word.line.isEast();
  return !word.isEast() || isBeside(place);
}
