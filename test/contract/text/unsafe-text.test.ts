import fc from 'fast-check';
import { HONEST_FROM_THE_RIGHT, HONEST_TEXTS, HOSTILE_LETTERS } from '../../support/hostile-letters';
import {
  countMarks,
  deceivingIn,
  escapeHidden,
  type Layout,
  type Segment,
  segments,
} from '../../../src/contract/text/unsafe-text';

const shown = (text: string, layout?: Layout): string =>
  segments(text, layout)
    .map((segment) => (segment.kind === 'text' ? segment.text : segment.shown))
    .join('');
const marks = (text: string, layout?: Layout): [why: string, shown: string][] =>
  segments(text, layout).flatMap((segment): [string, string][] =>
    segment.kind === 'mark' ? [[segment.why, segment.shown]] : [],
  );
const original = (parts: readonly Segment[]): string =>
  parts.map((segment) => (segment.kind === 'text' ? segment.text : segment.original)).join('');

describe('what is marked in one line, and why', () => {
  it.each<[string, string, string, string]>([
    ['an escape', '\x1b[2J', 'control', '\\x1b'],
    ['a C1 control', '\x9b', 'control', '\\x9b'],
    ['a carriage return', '\r', 'line end', '\\r'],
    ['a line feed', '\n', 'line end', '\\n'],
    ['a line separator', '\u2028', 'line end', '⟦U+2028⟧'],
    ['a tab', '\t', 'blanks', '\\t'],
    ['a right-to-left override', '\u202e', 'bidi', '⟦U+202E⟧'],
    ['an isolate', '\u2066', 'bidi', '⟦U+2066⟧'],
    ['an Arabic letter mark', '\u061c', 'bidi', '⟦U+061C⟧'],
    ['a zero-width space', '\u200b', 'invisible', '⟦U+200B⟧'],
    ['a byte order mark', '\ufeff', 'invisible', '⟦U+FEFF⟧'],
    ['a tag', '\u{e0041}', 'invisible', '⟦U+E0041⟧'],
    ['a lone surrogate', '\ud800', 'invisible', '⟦U+D800⟧'],
    ['a no-break space', '\u00a0', 'blanks', '⟦U+00A0⟧'],
    ['a wide blank beside ASCII', 'a\u3000b', 'blanks', '⟦U+3000⟧'],
    ['an object that is not there', '\ufffc', 'invisible', '⟦U+FFFC⟧'],
    ['a second dot on an i', 'i\u0307', 'combining', '⟦U+0307⟧'],
    ['a run of blanks', ' '.repeat(25), 'blanks', '⟦25 blanks⟧'],
    ['marks on marks', `e${'\u0301'.repeat(4)}`, 'combining', '⟦4 combining marks⟧'],
    ['a mark that strikes out', 'o\u0336', 'combining', '⟦U+0336⟧'],
    ['a mark on nothing', '\u0301a', 'combining', '⟦U+0301⟧'],
    ['a mark on a digit', '1\u0302', 'combining', '⟦U+0302⟧'],
    ['a Hebrew word', 'a\u05d0\u05b0\u05d1', 'right-to-left', '⟦U+05D0 U+05B0 U+05D1⟧'],
    ['an Arabic digit', '\u0661', 'right-to-left', '⟦U+0661⟧'],
    ['a Hebrew point on a Latin letter', 'a\u05b0', 'right-to-left', '⟦U+05B0⟧'],
    ['what a mark is written with', '\u27e6U+202E', 'bracket', '⟦U+27E6⟧'],
  ])('%s', (_name, text, why, sign) => {
    expect(marks(text)[0]).toEqual([why, sign]);
  });
});

describe('look-alikes', () => {
  it.each<[string, string, string]>([
    ['one Cyrillic letter', 'p\u0430ypal', 'p⟦а Cyrillic⟧ypal'],
    ['two of them', 'p\u0430yp\u0430l', 'p⟦а Cyrillic⟧yp⟦а Cyrillic⟧l'],
    ['the first letter', '\u0440ay', '⟦р Cyrillic⟧ay'],
    ['a word of nothing else', '\u0441\u043e\u0440\u0443 a b', '⟦сору Cyrillic⟧ a b'],
    ['such a word in a Russian text', 'файл \u0441\u043e\u0440\u0443', 'файл ⟦сору Cyrillic⟧'],
    ['capitals', '\u0420\u0410\u0423.txt', '⟦РАУ Cyrillic⟧.txt'],
    ['one letter on its own', 'x=\u0430', 'x=⟦а Cyrillic⟧'],
    ['a Greek letter', 'g\u03bfogle', 'g⟦ο Greek⟧ogle'],
    ['a Greek letter of a formula', '\u0394x', '⟦Δ Greek⟧x'],
    ['Hangul among Kana', 'か가나', 'か⟦가나 Hangul⟧'],
    ['two scripts without a Latin letter', '\u0416\u03a9\u0416', 'Ж⟦Ω Greek⟧Ж'],
    ['a letter with the sign of an emoji', '\u2139\ufe0fd', '⟦ℹ️ not ASCII⟧d'],
    ['a Greek word of nothing else', '\u039d\u039f', '⟦ΝΟ Greek⟧'],
    ['Armenian', 'g\u0585ogle', 'g⟦օ Armenian⟧ogle'],
    ['Cherokee', '\u13aaode', '⟦Ꭺ Cherokee⟧ode'],
    ['letters for formulae', '\u{1d5c9}\u{1d5ba}\u{1d5d2}', '⟦𝗉𝖺𝗒 not ASCII⟧'],
    ['Roman numerals', '\u217cs', '⟦ⅼ U+217C⟧s'],
    ['a division slash', 'a\u2215b', 'a⟦∕ U+2215⟧b'],
    ['a Greek question mark', 'ls\u037e', 'ls⟦\u037e U+037E⟧'],
    ['a minus sign', 'rm \u2212rf', 'rm ⟦− U+2212⟧rf'],
    ['letters of any other script in a Latin word', 'pa\u0561pal', 'pa⟦ա Armenian⟧pal'],
    ['letters of a script that is rarely seen', 'p\u1430ypal', 'p⟦ᐰ Canadian Aboriginal⟧ypal'],
    ['a Latin alpha', 'p\u0251ypal', 'p⟦ɑ U+0251⟧ypal'],
    ['an i without its dot', '\u0131nfo', '⟦ı U+0131⟧nfo'],
    [
      'full-width letters and digits',
      'ｒｍ －ｒｆ １',
      '⟦ｒｍ not ASCII⟧ ⟦－ U+FF0D⟧⟦ｒｆ not ASCII⟧ ⟦１ U+FF11⟧',
    ],
    ['a full-width sign beside ASCII', 'ls；rm', 'ls⟦； U+FF1B⟧rm'],
    ['the full stop of a host', 'evil\u3002com', '⟦evil。com evil.com⟧'],
    ['a dash for an option', 'rm \u2013rf \u2014force', 'rm ⟦– U+2013⟧rf ⟦— U+2014⟧force'],
    ['a dash in a word that is all of it', 'pay\u2013pal', 'pay⟦– U+2013⟧pal'],
    [
      'a dash in an address',
      'ask http://pay\u2014pal.com/x now',
      'ask http://⟦pay—pal.com xn--paypal-5g0c.com⟧/x now',
    ],
    ['a dash in a path', 'cat a/b\u2013c.txt now', 'cat a/b⟦– U+2013⟧c.txt now'],
    ['a host, by its name on the wire', 'https://пример.рф/x', 'https://⟦пример.рф xn--e1afmkfd.xn--p1ai⟧/x'],
    [
      'a host of letters that pass for others',
      'https://u@\u0430pple.com:80',
      'https://u@⟦аpple.com xn--pple-43d.com⟧:80',
    ],
    ['a host with full stops', 'ann@evil\u3002com', 'ann@⟦evil。com evil.com⟧'],
    ['what is no host', 'http://\u0430\u0300%/', 'http://⟦а\u0300% no host⟧/'],
  ])('%s', (_name, text, expected) => {
    expect(shown(text)).toBe(expected);
    expect(new Set(marks(text).map(([why]) => why))).toEqual(new Set(['look-alike']));
  });

  it.each([
    'Привет, мир',
    'USB-кабель',
    'Γειά Κόσμε',
    'λ = 3 m',
    'Grüße, 東京ABC 🎉',
    'дай Ё',
    'naïve – it’s fine… 5 m',
    'e\u0301',
    '中文，中文。中文！',
    'PDFを読む。次',
    '\u3000東京\u3000ABC',
    '「東京」（月）〜10〜20人',
    'Ləkə kv.m, ơi ưa, ǎ',
    'word — word, 1 – 2',
    'Kafka—the writer—said',
    'https://example.com/a?b=c ann@example.com',
  ])('leaves %j as it is', (text) => {
    expect(segments(text)).toEqual([{ kind: 'text', text }]);
  });

  it.each(['\u0663 \u0639\u0631\u0628\u0649', 'for \u05d4PDF and Gmail\u05d1'])(
    'leaves %j as it is in prose',
    (text) => {
      expect(segments(text, 'block', 'prose')).toEqual([{ kind: 'text', text }]);
      expect(marks(text).some(([why]) => why === 'right-to-left')).toBe(true);
    },
  );

  it.each(['p\u0430ypal', '\u0441\u043e\u0440\u0443', 'https://\u0430pple.com', 'rm \u2013rf'])(
    'leaves %j as it is in prose',
    (text) => {
      expect(segments(text, 'block', 'prose')).toEqual([{ kind: 'text', text }]);
    },
  );

  it('are found beside what is hidden', () => {
    expect(shown('p\u200b\u0430ypal')).toBe('p⟦U+200B⟧⟦а Cyrillic⟧ypal');
  });
});

describe.each(Object.entries(HOSTILE_LETTERS))('%s', (_what, texts) => {
  it.each(texts)('%j is marked where it runs', (text) => {
    expect(marks(text).length).toBeGreaterThan(0);
    expect(countMarks(deceivingIn({ arguments: {}, preview: { text } }))).toBeGreaterThan(0);
    expect(original(segments(text))).toBe(text);
  });

  it.each(texts)('%j is read in its order', (text) => {
    expect(shown(text)).not.toMatch(
      /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u,
    );
  });
});

/** What honest text has that passes for ASCII, or mixes scripts. It is marked where it runs. */
const ALIKE: Readonly<Record<string, string>> = {
  English: '“”²',
  French: 'œ',
  German: '“',
  Danish: 'æ',
  Greek: 'Ογια',
  Russian: 'аего',
  formulae: 'Δμ×',
};

describe('honest text', () => {
  it.each(Object.entries(HONEST_TEXTS))('of %s holds no mark in prose', (language, text) => {
    expect(segments(text, 'block', 'prose')).toEqual([{ kind: 'text', text }]);
    const marked = segments(text, 'block').flatMap((piece) => (piece.kind === 'mark' ? piece.original : []));
    expect(marked.join('')).toBe(ALIKE[language] ?? '');
  });

  it.each(['👩‍💻 ❤️', '🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣', '👨‍👩‍👧'])('leaves what joins the emoji %s', (text) => {
    expect(segments(text)).toEqual([{ kind: 'text', text }]);
  });

  it.each(['a\u200db', '👩\u200d', '👩\u200da', '\u200d👩', '🎉\ufe0e', '🏴\u{e0067}\u{e0062}'])(
    'marks what joins no emoji of Unicode in %j',
    (text) => {
      expect(marks(text).length).toBeGreaterThan(0);
      expect(original(segments(text))).toBe(text);
    },
  );

  it.each(Object.entries(HONEST_FROM_THE_RIGHT))('of %s is as it is in prose', (_language, text) => {
    expect(segments(text, 'block', 'prose')).toEqual([{ kind: 'text', text }]);
    expect(new Set(marks(text).map(([why]) => why))).toEqual(new Set(['right-to-left']));
  });
});

describe('layouts', () => {
  it.each<[string, Layout, string, string]>([
    ['lines of a block', 'block', 'a\n\tb\r\nc', 'a\n\tb\\r\nc'],
    ['empty lines of a block', 'block', `a${'\n'.repeat(40)}b`, 'a\n⟦39 empty lines⟧\nb'],
    ['empty lines with blanks in them', 'block', `a\n${' \n'.repeat(6)}b`, 'a\n⟦6 empty lines⟧\nb'],
    ['empty lines at the end', 'block', `a${'\n'.repeat(7)}`, 'a\n⟦7 empty lines⟧'],
    ['indentation', 'block', `${' '.repeat(40)}a`, `${' '.repeat(40)}a`],
    ['blanks at the end of an added line', 'diff', '+a  ', '+a··'],
    ['a tab at the end of a removed line', 'diff', '-a \t', '-a·→'],
    ['a line of blanks', 'diff', '+   ', '+···'],
    ['many blanks at the end', 'diff', `+a${' '.repeat(50)}`, '+a⟦50 blanks⟧'],
    ['blanks at the end of a kept line', 'diff', ' a  ', ' a  '],
    ['line ends of Windows', 'diff', '+a\r', '+a\\r'],
  ])('%s', (_name, layout, text, expected) => {
    expect(shown(text, layout)).toBe(expected);
  });
});

const LAYOUTS: readonly Layout[] = ['line', 'block', 'diff'];
const anyText = fc.string({
  unit: fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom(' ', '\n', '\t', '\r', 'a', 'а', 'ο', '\u202e', '\u0301', '\x1b', '+', '-', '\ud800'),
  ),
  maxLength: 120,
});

describe('whatever comes in', () => {
  it.each(LAYOUTS)('nothing is lost (%s)', (layout) => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(original(segments(text, layout))).toBe(text);
      }),
    );
  });

  it.each(LAYOUTS)('nothing dangerous is shown (%s)', (layout) => {
    const allowed = layout === 'block' ? /[\n\t]/g : layout === 'diff' ? /\t/g : /(?!)/g;
    fc.assert(
      fc.property(anyText, (text) => {
        expect(shown(text, layout).replace(allowed, '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
      }),
    );
  });

  it('long texts take no long time', () => {
    const texts = [' ', '\n', 'а', ' \n', '\u0301', 'aа'].map((unit) => unit.repeat(32 * 1024));
    for (const text of texts) {
      for (const layout of LAYOUTS) expect(original(segments(text, layout))).toHaveLength(text.length);
    }
  });
});

describe('how much would deceive', () => {
  it.each<[string, number, number, number?]>([
    ['plain text\nof two lines\twith a tab', 0, 0],
    ['\x1b[0m', 1, 0],
    ['a\u200b\u200bb', 2, 0],
    ['a\r\n', 1, 0],
    [`a${' '.repeat(100)}b`, 0, 0],
    ['a\u00a0b', 1, 0],
    ['p\u0430yp\u0430l\u200b', 1, 2],
    ['\u05d0\u05d1 1 \u05d2\u200b', 1, 0, 2],
    ['\u27e6a\u27e7', 0, 2],
  ])('%j', (text, hidden, alike, turned = 0) => {
    expect(deceivingIn({ arguments: {}, preview: { text } })).toEqual({ hidden, alike, turned });
  });
});

it('escapes in JSON what does not show', () => {
  const value = { text: 'a\u202eb\u{e0041}\ud800\x7f', n: 1 };
  const escaped = escapeHidden(JSON.stringify(value, null, 2));
  expect(JSON.parse(escaped)).toEqual(value);
  expect(escaped).toMatch(/^[\n\x20-\x7e]*$/);
});

describe('deceivingIn', () => {
  it.each([
    ['plain text', { a: 'ls -la\n\tx' }, undefined, { hidden: 0, alike: 0, turned: 0 }],
    ['values', { a: 'x\u202ey', b: ['\u200b'] }, undefined, { hidden: 2, alike: 0, turned: 0 }],
    ['names', { 'a\u200b': 1 }, undefined, { hidden: 1, alike: 0, turned: 0 }],
    ['the preview', {}, 'a\x1b[8m', { hidden: 1, alike: 0, turned: 0 }],
    ['words from right to left', { path: 'a/\u05d0/1' }, '\u0661', { hidden: 0, alike: 0, turned: 2 }],
    ['letters that pass for others', { host: 'exаmple.com' }, undefined, { hidden: 0, alike: 1, turned: 0 }],
  ])('counts in %s', (_, args, text, counts) => {
    const preview = text === undefined ? {} : { preview: { text } };
    expect(deceivingIn({ arguments: args, ...preview })).toEqual(counts);
  });

  it('counts in the hunks of a plan, not again in its text', () => {
    const hunk = { id: '1', oldStart: 1, oldLines: 0, newStart: 1, newLines: 1, lines: ['+a\u200b'] };
    const file = { path: 'a.txt', baseHash: null, encoding: 'utf8' as const, hunks: [hunk] };
    const shown = { arguments: {}, preview: { text: '+a\u200b', plan: { ...file, targetHash: 'x' } } };
    expect(deceivingIn(shown)).toEqual({ hidden: 1, alike: 0, turned: 0 });
    const moved = { ...shown.preview.plan, targetHash: '', hunks: [] };
    expect(deceivingIn({ ...shown, preview: { text: 'b\u202e', plan: moved } })).toEqual({
      hidden: 1,
      alike: 0,
      turned: 0,
    });
  });
});
