import fc from 'fast-check';
import { segments } from '../../../src/contract/text/unsafe-text';
import type { FilePlan, Hunk } from '../../../src/contract/plan';
import {
  changedWords,
  digitsOf,
  numbered,
  partnersOf,
  styled,
  unnumbered,
  type Look,
} from '../../../src/web/model/diff';

const hunkOf = (lines: string[], oldStart = 1, newStart = oldStart): Hunk => ({
  ...{ id: '1', oldStart, newStart, lines },
  oldLines: lines.filter((line) => !line.startsWith('+')).length,
  newLines: lines.filter((line) => !line.startsWith('-')).length,
});

const planOf = (...hunks: Hunk[]): FilePlan => ({
  ...{ path: 'a.ts', baseHash: 'x', targetHash: 'y', encoding: 'utf8', hunks },
});

it('counts the lines before and after', () => {
  const lines = [' a', '-b', '+c', '+d', ' e', '\\ No newline at end of file'];
  const shown = numbered(hunkOf(lines, 10, 20));
  expect(shown.map(({ kind, before, after }) => [kind, before, after])).toEqual([
    ['same', 10, 20],
    ['removed', 11, ''],
    ['added', '', 21],
    ['added', '', 22],
    ['same', 12, 23],
    ['meta', '', ''],
  ]);
});

it('tells the heads of a diff in text from its lines', () => {
  const kinds = unnumbered('--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z').map(({ kind }) => kind);
  expect(kinds).toEqual(['meta', 'meta', 'meta', 'removed', 'added', 'same']);
});

it('has columns for the widest number of all hunks', () => {
  expect(digitsOf(planOf(hunkOf([' a'], 1), hunkOf([' a', '+b'], 98)))).toBe(3);
  expect(digitsOf(planOf())).toBe(1);
});

describe('words of changed lines', () => {
  const changed = (...lines: string[]): string[] => {
    const all = numbered(hunkOf(lines));
    const partners = partnersOf(all);
    return all.flatMap((line, index) => {
      const partner = all[partners.get(index) ?? -1];
      const words = partner === undefined ? [] : changedWords(line, partner);
      return words.map(({ from, to }) => `${line.line[0]}${line.line.slice(from, to)}`);
    });
  };

  it.each([
    ['one word', ['-pay 50 now please', '+pay 60 now please'], ['-50', '+60']],
    ['lines in order', ['-let a = 1', '-let b = 2', '+let a = 3', '+let b = 4'], ['-1', '-2', '+3', '+4']],
    ['a line before it', ['-let a = 1', '+// Two.', '+let a = 2'], ['-1', '+2']],
    ['a line too many', ['-let a = 1', '+let a = 3', '+let c = 5'], ['-1', '+3']],
    ['through a missing line end', ['-let a = 1', '\\ No newline', '+let a = 2'], ['-1', '+2']],
    ['two changes apart', ['-let a = 1', '+let a = 2', ' x', '+let a = 9'], ['-1', '+2']],
    [
      'a second removal is of its own',
      ['-let a = 1', '+let a = 2', '-let a = 3', '+let a = 4'],
      ['-1', '+2', '-3', '+4'],
    ],
    ['nothing where the lines have little in common', ['-pay everybody', '+rm -rf / --no-preserve-root'], []],
    ['nothing in long lines', [`-${'a '.repeat(400)}1`, `+${'a '.repeat(400)}2`], []],
    ['nothing where lines are only added', ['+a', '+b'], []],
  ])('%s', (_, lines, words) => {
    expect(changed(...lines)).toEqual(words);
  });
});

describe('a styled line', () => {
  it('keeps marks whole and each part with all that covers it', () => {
    const pieces = segments('+ab \u202e cd', 'diff');
    const looks: Look[] = [
      { from: 1, to: 5, look: 'word' },
      { from: 2, to: 3, look: 'syn-word' },
    ];
    const shown = styled(pieces, looks).map(({ piece, look }) => [
      piece.kind === 'text' ? piece.text : piece.shown,
      look,
    ]);
    expect(shown).toEqual([
      ['+', ''],
      ['a', 'word'],
      ['b', 'word syn-word'],
      [' ', 'word'],
      ['⟦U+202E⟧', 'word'],
      [' cd', ''],
    ]);
  });

  it('is the same text, whatever its looks', () => {
    const char = fc.constantFrom('a', ' ', '\u202e', '😀', '\t', 'а', '\u0301', '(');
    const look = fc
      .tuple(fc.nat(30), fc.nat(30), fc.constantFrom('word', 'syn-word'))
      .map(([a, b, name]): Look => ({ from: Math.min(a, b), to: Math.max(a, b), look: name }));
    fc.assert(
      fc.property(fc.array(char), fc.array(look), (chars, looks) => {
        const pieces = segments(`+${chars.join('')}`, 'diff');
        const text = (all: typeof pieces): string =>
          all.map((piece) => (piece.kind === 'text' ? piece.text : `<${piece.shown}>`)).join('');
        expect(text(styled(pieces, looks).map(({ piece }) => piece))).toBe(text(pieces));
      }),
    );
  });
});
