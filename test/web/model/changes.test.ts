import fc from 'fast-check';
import { changesOf, wordParts } from '../../../src/web/model/changes';

const told = (before: object, after: object): string[] =>
  changesOf(JSON.parse(JSON.stringify(before)), JSON.parse(JSON.stringify(after))).map(
    ({ path, kind, parts }) =>
      `${path} ${kind}: ${parts.map(({ kind: k, text }) => `${{ same: '', removed: '-', added: '+' }[k]}${text}`).join('|')}`,
  );

it.each([
  ['nothing', { a: 1 }, { a: 1 }, []],
  ['the order of keys', { a: 1, b: 2 }, { b: 2, a: 1 }, []],
  ['a number', { a: 129.9 }, { a: 50 }, ['a changed: -129.9|+50']],
  ['a word', { t: 'pay 50 now' }, { t: 'pay 60 now' }, ['t changed: pay |-50|+60| now']],
  ['a type', { a: 1 }, { a: '1' }, ['a changed: -1|+"1"']],
  ['something new', {}, { a: 'x' }, ['a added: +x']],
  ['something gone', { a: { b: null } }, { c: 1 }, ['a.b removed: -null', 'c added: +1']],
  ['blanks only', { a: 'x  y' }, { a: 'x y' }, ['a changed: x|-  |+ |y']],
])('tells %s', (_, before, after, changes) => {
  expect(told(before, after)).toEqual(changes);
});

it('compares long texts as a whole', () => {
  const parts = wordParts('a '.repeat(20_000), 'b '.repeat(20_000));
  expect(parts.map(({ kind }) => kind)).toEqual(['removed', 'added']);
});

it('holds both texts, whatever they are', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (before, after) => {
      const parts = wordParts(before, after);
      const without = (kind: string): string =>
        parts
          .filter((part) => part.kind !== kind)
          .map(({ text }) => text)
          .join('');
      expect(without('added')).toBe(before);
      expect(without('removed')).toBe(after);
    }),
  );
});
