import {
  escapeText,
  escapeJson,
  escapeJsonLine,
  escapeDiffLine,
  escapeProse,
  escapeLines,
} from '../../../src/contract/text/escape';
import { deceivingIn } from '../../../src/contract/text/unsafe-text';

/** What no output may ever hold, whatever comes in. */

const DANGEROUS =
  /[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/u;

const HOSTILE: [name: string, text: string, shown: string][] = [
  ['clear the screen', '\x1b[2J', '\\x1b[2J'],
  ['hidden text', '\x1b[8msecret\x1b[0m', '\\x1b[8msecret\\x1b[0m'],
  ['clipboard (OSC 52)', '\x1b]52;c;ZXZpbA==\x07', '\\x1b]52;c;ZXZpbA==\\x07'],
  [
    'a link (OSC 8)',
    '\x1b]8;;http://evil\x1b\\ok\x1b]8;;\x1b\\',
    '\\x1b]8;;http://evil\\x1b\\ok\\x1b]8;;\\x1b\\',
  ],
  ['carriage return over the line', 'rm -rf /\rls', 'rm -rf /\\rls'],
  ['bell', 'a\x07b', 'a\\x07b'],
  ['backspaces', 'ab\b\bxy', 'ab\\x08\\x08xy'],
  ['a CSI of C1', '\x9b31m', '\\x9b31m'],
  ['NUL and DEL', '\0\x7f', '\\x00\\x7f'],
  ['right-to-left override', 'photo\u202egnp.exe', 'photo⟦U+202E⟧gnp.exe'],
  ['bidi isolates', '\u2066a\u2069', '⟦U+2066⟧a⟦U+2069⟧'],
  ['zero-width space', 'pay\u200bpal', 'pay⟦U+200B⟧pal'],
  ['byte order mark', '\ufeffa', '⟦U+FEFF⟧a'],
  ['word joiner', 'a\u2060b', 'a⟦U+2060⟧b'],
  ['tag characters', 'a\u{e0041}\u{e007f}', 'a⟦U+E0041⟧⟦U+E007F⟧'],
  ['variation selector', 'a\ufe0f', 'a⟦U+FE0F⟧'],
  ['supplementary variation selector', 'a\u{e0100}', 'a⟦U+E0100⟧'],
  ['Hangul filler', '\u3164', '⟦U+3164⟧'],
  ['grapheme joiner', 'a\u034fb', 'a⟦U+034F⟧b'],
  ['braille blank', '\u2800', '⟦U+2800⟧'],
  ['no-break space', 'a\u00a0b', 'a⟦U+00A0⟧b'],
  ['soft hyphen', 'a\u00adb', 'a⟦U+00AD⟧b'],
  ['line and paragraph separators', 'a\u2028b\u2029c', 'a⟦U+2028⟧b⟦U+2029⟧c'],
  ['lone surrogate', 'a\ud800b', 'a⟦U+D800⟧b'],
  ['private use', '\ue0b0', '⟦U+E0B0⟧'],
];

describe('text of others in one line', () => {
  it.each(HOSTILE)('shows %s', (_name, text, shown) => {
    expect(escapeText(text)).toBe(shown);
    expect(escapeText(text)).not.toMatch(DANGEROUS);
  });

  it.each([
    ['a newline', 'a\nb', 'a\\nb'],
    ['a tab', 'a\tb', 'a\\tb'],
    ['200 blanks before the payload', `ls${' '.repeat(200)}; rm -rf`, 'ls⟦200 blanks⟧; rm -rf'],
    ['200 newlines before the payload', `ls${'\n'.repeat(200)}; rm -rf`, 'ls⟦200 blanks⟧; rm -rf'],
    ['blanks of all kinds', `ls${' \u3000\n\t'.repeat(10)}x`, 'ls⟦40 blanks⟧x'],
    ['marks that climb over the lines around', `e${'\u0301'.repeat(50)}`, 'e⟦50 combining marks⟧'],
  ])('keeps %s in one line', (_name, text, shown) => {
    expect(escapeText(text)).toBe(shown);
  });

  it.each(['plain', 'Grüße, 東京 🎉', 'e\u0301', 'a  b', '\\x1b', '東\u3000京'])(
    'leaves %j as it is',
    (text) => {
      expect(escapeText(text)).toBe(text);
    },
  );

  it('marks what it changed', () => {
    expect(escapeText('a\x1bb', (text) => `<${text}>`)).toBe('a<\\x1b>b');
  });
});

describe('text of several lines', () => {
  it.each(HOSTILE)('shows %s', (_name, text, shown) => {
    expect(escapeLines(`x\n${text}`)).toEqual(['x', shown]);
  });

  it.each<[string, string, string[]]>([
    ['line ends of Windows', 'a\r\nb', ['a\\r', 'b']],
    ['tabs', 'a\tb\n\tc', ['a       b', '        c']],
    ['some indentation', `${' '.repeat(30)}a`, [`${' '.repeat(30)}a`]],
    ['blanks that push text away', `a${' '.repeat(100)}b`, ['a⟦100 blanks⟧b']],
    ['few empty lines', 'a\n\n\nb', ['a', '', '', 'b']],
    ['many empty lines', `a${'\n'.repeat(40)}b`, ['a', '⟦39 empty lines⟧', 'b']],
  ])('shows %s', (_name, text, lines) => {
    expect(escapeLines(text)).toEqual(lines);
  });

  it('keeps a line a line', () => {
    expect(escapeDiffLine('a\u2028b')).toBe('a⟦U+2028⟧b');
  });
});

describe('letters from right to left', () => {
  const text = 'pay \u05d0\u05d1 100 900 EUR';

  it('are code points in what runs', () => {
    expect(escapeText(text)).toBe('pay ⟦U+05D0 U+05D1⟧ 100 900 EUR');
    expect(escapeLines(`x\n${text}`)).toEqual(['x', 'pay ⟦U+05D0 U+05D1⟧ 100 900 EUR']);
    expect(escapeDiffLine(`+${text}`)).toBe('+pay ⟦U+05D0 U+05D1⟧ 100 900 EUR');
    expect(escapeJson({ text })).toContain('pay \\u05d0\\u05d1 100 900 EUR');
  });

  it('stay letters in what people and models say', () => {
    expect(escapeProse(text)).toBe(text);
    expect(escapeLines(text, undefined, 'prose')).toEqual([text]);
    expect(escapeProse('a\u202e\n\x1b')).toBe('a⟦U+202E⟧\\n\\x1b');
  });

  it('typed marks are no marks', () => {
    expect(escapeText('⟦U+202E⟧')).toBe('⟦U+27E6⟧U+202E⟦U+27E7⟧');
    expect(escapeProse('⟦U+202E⟧')).toBe('⟦U+27E6⟧U+202E⟦U+27E7⟧');
  });
});

describe('how much is hidden', () => {
  it.each([
    ['plain text\nof two lines\twith a tab', 0],
    ['\x1b[0m', 1],
    ['a\u200b\u200bb', 2],
    ['\u{e0041}', 1],
    ['a\r\n', 1],
  ])('counts %j as %d', (text, count) => {
    const { hidden, alike } = deceivingIn({ arguments: {}, preview: { text } });
    expect(hidden + alike).toBe(count);
  });
});

describe('JSON', () => {
  const value = { text: HOSTILE.map(([, text]) => text).join('|'), list: [1, null, 'ü'] };

  it.each([
    ['indented', escapeJson],
    ['in a line', escapeJsonLine],
  ])('%s means the same and is safe to print', (_name, print) => {
    const text = print(value);
    expect(JSON.parse(text)).toEqual(value);
    expect(text).not.toMatch(DANGEROUS);
  });

  it('has a form for what JSON has none for', () => {
    expect(escapeJson(undefined)).toBe('null');
  });
});
