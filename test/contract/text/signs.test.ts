import { codeOf, codePointOf, signsIn } from '../../../src/contract/text/signs';

const found = (text: string, isProse = false): [piece: string, name: string][] =>
  signsIn(text, isProse).map(({ start, end, name }) => [text.slice(start, end), name]);

describe('signs that depend on where they stand', () => {
  it.each<[string, string, string, string]>([
    ['an ellipsis', 'cd …/x', 'wait … and then go on', '…'],
    ['an ellipsis at the end', '…/x', 'path=src/a.ts old=co…', '…'],
    ['a ligature', 'cœur.sh', 'le cœur', 'œ'],
    ['a raised digit', 'x²=1', '5 m²', '²'],
    ['a times sign', 'e×ec', '3 × 4', '×'],
    ['an apostrophe', 'o’brien/x', 'Conan O’Brien', '’'],
    ['a quotation mark', 'sh -c “id”', 'she said “yes” and went away', '“'],
    ['a dash', 'rm –rf', 'one – two', '–'],
    ['a pair of dashes', 'rm ––force', 'one – two – three', '–'],
    ['a stroke on its own', 'ls 丿', '丿 字 典', '丿'],
    ['two long vowels', 'rm ーーforce', 'スーーパー', 'ー'],
    ['a dot at half height', 'x·sh', 'col·lecció', '·'],
    ['an ordinal sign', 'ªdmin', '1ª', 'ª'],
    ['a danda', 'a । sh', 'करें।', '।'],
    ['a long vowel', 'rm ーrf', 'サーバー', 'ー'],
    ['a Katakana no', 'ls ノetc', 'ノート', 'ノ'],
    ['a full stop', 'x。sh', '終わり。次はAPIです。', '。'],
    ['a comma', 'a，b', '使用PDF，然后', '，'],
    ['wide digits', '１００ EUR', '２０２４年', '１'],
    ['a frame', 'curl x │ sh', '│ a │ b │', '│'],
    ['a circled digit', '①.sh', '① first ② second', '①'],
  ])('%s', (_name, hostile, honest, sign) => {
    expect(found(hostile).map(([piece]) => piece.charAt(0))).toContain(sign);
    expect(found(honest)).toEqual([]);
  });

  it.each([
    ['Turkish', 'kapıyı açın', 'ı'],
    ['a hooked letter', 'ɓata', 'ɓ'],
    ['a flag', 'from 🇺🇸 there', '🇺'],
    ['a star', '✱ needed', '✱'],
    ['soft hyphens', 'an end‑to‑end test of all that', '‑'],
  ])('%s passes in prose and not where it runs', (_name, text, sign) => {
    expect(found(text, true)).toEqual([]);
    expect(found(text).map(([piece]) => piece.slice(0, sign.length))).toContain(sign);
  });
});

describe('names', () => {
  it.each<[string, [string, string][]]>([
    ['a∕b', [['∕', 'U+2215']]],
    ['ᴀᴅᴍɪɴ', [['ᴀᴅᴍɪɴ', 'not ASCII']]],
    ['ｒｍ', [['ｒｍ', 'full-width']]],
    ['𝗉𝖺𝗒', [['𝗉𝖺𝗒', 'mathematical']]],
    [
      'ⅷｘ',
      [
        ['ⅷ', 'Roman numeral'],
        ['ｘ', 'full-width'],
      ],
    ],
  ])('%s', (text, expected) => {
    expect(found(text)).toEqual(expected);
  });

  it('is a code for one character', () => {
    expect(codeOf('\u{1d7cf}')).toBe('U+1D7CF');
    expect(codePointOf('\ud800')).toBe('U+D800');
    expect(codeOf('ab')).toBe('not ASCII');
  });
});
