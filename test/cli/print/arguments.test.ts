import { changeLines } from '../../../src/cli/print/arguments';
import { createStyle } from '../../../src/cli/print/screen';
import type { JsonObject } from '../../../src/contract/json';

describe('what changed', () => {
  it.each<[string, JsonObject, JsonObject, string[]]>([
    ['nothing', { a: 1 }, { a: 1 }, []],
    ['another order', { a: 1, b: 2 }, { b: 2, a: 1 }, []],
    ['a value', { a: { b: 1 }, c: 2 }, { a: { b: 3 }, c: 2 }, ['a.b: 1 → 3']],
    ['a kind', { a: 1 }, { a: '1' }, ['a: 1 → "1"']],
    ['one more, one less', { a: 1 }, { b: null }, ['a: 1 → (absent)', 'b: (absent) → null']],
    ['what does not show', { a: 'x' }, { a: 'x\u202e' }, ['a: "x" → "x⟦U+202E⟧"']],
    ['a name that does not show', {}, { 'a\u200b': 1 }, ['a⟦U+200B⟧: (absent) → 1']],
    ['an object that became empty', { a: { b: 1 } }, { a: {} }, ['a.b: 1 → (absent)', 'a: (absent) → {}']],
    [
      'lines',
      { a: 'one\ntwo\nthree\n' },
      { a: 'one\n2\nthree\n' },
      ['a:', '   one', '  -two', '  +2', '   three'],
    ],
    [
      'a blank at the end of a line',
      { a: 'one\ntwo\n' },
      { a: 'one\ntwo \n' },
      ['a:', '   one', '  -two', '  +two·'],
    ],
  ])('%s', (_name, before, after, lines) => {
    expect(changeLines(before, after, createStyle(false))).toEqual(lines);
  });
});
