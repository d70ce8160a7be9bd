import { CONFUSABLES } from '../../../src/contract/text/confusables';
import { segments } from '../../../src/contract/text/unsafe-text';

const points = [...CONFUSABLES.matchAll(/\\u\{([0-9a-f]+)\}/g)].map(([, code = '']) => parseInt(code, 16));
/** These two are an o and a horn before anything is compared, so no skeleton has them. */
const HORNED = /[Ơơ]/;
const signs = points.map((point) => String.fromCodePoint(point)).filter((sign) => !HORNED.test(sign));
const isMarked = (text: string, sign: string): boolean =>
  segments(text).some((part) => part.kind === 'mark' && part.original.includes(sign));

it('holds what Unicode takes for ASCII, and no ASCII', () => {
  expect(points).toHaveLength(813);
  expect(points).toEqual(expect.arrayContaining([0x131, 0x1d0f, 0x430, 0x3bf, 0x2215, 0x5d5]));
  expect(Math.min(...points)).toBeGreaterThan(0x7f);
});

it.each([
  ['in the name of a file', (sign: string) => `a${sign}b.sh`],
  ['before a path', (sign: string) => `${sign}/etc`],
  ['in a variable', (sign: string) => `x=${sign}1`],
])('each of them is marked %s', (_where, put) => {
  expect(signs.filter((sign) => !isMarked(put(sign), sign))).toEqual([]);
});

it('each of them is marked in a word of Latin letters, but for its apostrophe', () => {
  expect(signs.filter((sign) => !isMarked(`a${sign}b`, sign))).toEqual(['’']);
});

it('each character that normalizes to ASCII is marked in the name of a file', () => {
  const alike = Array.from({ length: 0x1ffff }, (_, point) => point)
    .filter((point) => point > 0x7f && (point < 0xd800 || point > 0xdfff))
    .map((point) => String.fromCodePoint(point))
    .filter((sign) => /^[!-~]+$/.test(sign.normalize('NFKC')));
  expect(alike.length).toBeGreaterThan(1_000);
  expect(alike.filter((sign) => !isMarked(`a${sign}b.sh`, sign))).toEqual([]);
});
