import fc from 'fast-check';
import {
  countLines,
  decodeText,
  encodeText,
  encodingOf,
  findText,
  fromModel,
  isBinary,
  skipLines,
  splitLines,
} from '../../../src/tools/workspace/text';
import { runs } from '../../support/properties';

it.each<[string, Buffer, string]>([
  ['ASCII', Buffer.from('a'), 'utf8'],
  ['UTF-8', Buffer.from('é'), 'utf8'],
  ['nothing', Buffer.alloc(0), 'utf8'],
  ['Latin-1', Buffer.from([0xe9]), 'latin1'],
  ['UTF-16, little-endian', Buffer.from('\ufeffa', 'utf16le'), 'utf16le'],
  ['UTF-16, big-endian', Buffer.from('\ufeffa', 'utf16le').swap16(), 'utf16be'],
  ['UTF-16 that is cut', Buffer.from([0xff, 0xfe, 0x61]), 'latin1'],
  ['UTF-32', Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), 'latin1'],
])('%s is read as %s', (_, bytes, encoding) => {
  expect(encodingOf(bytes)).toBe(encoding);
});

it('reads and writes any bytes without a change', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (array) => {
      const bytes = Buffer.from(array);
      const encoding = encodingOf(bytes);
      expect(encodeText(decodeText(bytes, encoding), encoding)).toEqual(bytes);
    }),
  );
});

it('spells text of a model as UTF-8, also in a file that is not', () => {
  expect(fromModel('é', 'utf8')).toBe('é');
  expect(encodeText(fromModel('é', 'latin1'), 'latin1')).toEqual(Buffer.from('é', 'utf8'));
});

it('refuses half a character', () => {
  expect(() => fromModel('\ud800', 'utf8')).toThrow(/half a character|surrogate/);
});

it.each<[string, Buffer, boolean]>([
  ['text', Buffer.from('a\n'), false],
  ['a NUL among the first bytes', Buffer.from('a\0b'), true],
  ['UTF-16', Buffer.from('\ufeffa', 'utf16le'), false],
  ['a NUL in UTF-16', Buffer.from('\ufeffa\0', 'utf16le').swap16(), true],
  ['a NUL far behind', Buffer.from(`${'a'.repeat(8000)}\0`), false],
])('%s is binary: %s', (_, bytes, binary) => {
  expect(isBinary(bytes)).toBe(binary);
});

describe('lines', () => {
  const text = fc
    .array(fc.constantFrom('a', '\n', '\r\n', '\r', 'bc'), { maxLength: 20 })
    .map((parts) => parts.join(''));

  it('are counted and skipped as they are split', () => {
    fc.assert(
      fc.property(text, fc.nat(8), fc.nat(8), (whole, above, count) => {
        const lines = splitLines(whole);
        expect(countLines(whole)).toBe(lines.length);
        const start = lines.slice(0, above).join('').length;
        const end = lines.slice(0, above + count).join('').length;
        const isThere = above + count <= lines.length;
        expect(skipLines(whole, start, count)).toBe(isThere || count === 0 ? end : undefined);
      }),
    );
  });
});

describe('findText', () => {
  /** Few different characters and a long piece that repeats, so that beginnings fit again and again. */
  const repeating = fc
    .array(fc.constantFrom('a', 'b', 'ab', 'a'.repeat(240), 'ab'.repeat(130)), { minLength: 1, maxLength: 8 })
    .map((parts) => parts.join(''));

  it('finds the first place from an index, as indexOf does', () => {
    fc.assert(
      fc.property(repeating, repeating, fc.nat(600), (part, wanted, from) => {
        const text = `${part}${wanted.slice(0, -1)}${wanted}${part}`;
        expect(findText(text, wanted, from)).toBe(text.indexOf(wanted, from));
        expect(findText(part, wanted, from)).toBe(part.indexOf(wanted, from));
      }),
      { numRuns: runs(500) },
    );
  });

  it('finds a long text in a longer one that nearly has it everywhere', () => {
    const text = 'a'.repeat(3_000_000);
    const wanted = `ab${'a'.repeat(60_000)}`;
    expect([findText(text, wanted), findText(text + wanted, wanted)]).toEqual([-1, text.length]);
  });
});
