import fc from 'fast-check';
import { isSymbol, lispSymbol, printSexp, readSexp, type Sexp } from '../../../src/tools/lisp/sexp';

it.each<[string, Sexp]>([
  ['(:return (:ok "a\\"b\\\\c") 7)', [{ symbol: ':return' }, [{ symbol: ':ok' }, 'a"b\\c'], 7]],
  ['nil', []],
  ['( NIL  () )', [[], []]],
  ['(1 -2 3.5 1.0d10 +4)', [1, -2, 3.5, 1e10, 4]],
  ['(a . "b")', [{ symbol: 'a' }, { symbol: '.' }, 'b']],
  ["('a '(1))", [{ symbol: 'a' }, [1]]],
  ['(swank::|A b| |x y|)', [{ symbol: 'swank::|A b|' }, { symbol: '|x y|' }]],
  ['"a\nb"', 'a\nb'],
  ['1+', { symbol: '1+' }],
])('reads %s', (text, form) => {
  expect(readSexp(text)).toEqual(form);
});

it.each([
  ['', 'it ends too early'],
  ['(1', 'it ends too early'],
  ['"a', 'a string is not closed'],
  ['"a\\', 'a string is not closed'],
  [')', 'it is more than plain data'],
  ['1 2', 'something follows the form'],
  ['#.(run)', 'it is more than plain data'],
  ['(#<THREAD 1>)', 'it is more than plain data'],
  ['`(a ,b)', 'it is more than plain data'],
  ['(a ; b\n)', 'it is more than plain data'],
  ['(|a)', 'it is more than plain data'],
  ['('.repeat(5000), 'its lists are too deep'],
  ["'".repeat(5000), 'its lists are too deep'],
])('refuses %.20s', (text, why) => {
  expect(() => readSexp(text)).toThrow(why);
});

const data = fc.letrec<{ form: Sexp }>((tie) => ({
  form: fc.oneof(
    { maxDepth: 5 },
    fc.string({ unit: 'binary' }),
    fc.maxSafeInteger(),
    fc
      .stringMatching(/^:?[a-z][a-z0-9-]{0,9}$/)
      .filter((name) => name !== 'nil')
      .map(lispSymbol),
    fc.array(tie('form'), { maxLength: 6 }),
  ),
}));

it('reads back what it printed', () => {
  fc.assert(
    fc.property(data.form, (form) => {
      expect(readSexp(printSexp(form))).toEqual(form);
    }),
  );
});

it('reads any text, or refuses it with a SyntaxError', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'()"\\|#\'`,; .:a1N\n'), maxLength: 60 }), (text) => {
      try {
        printSexp(JSON.parse(JSON.stringify(readSexp(text))) && 'read');
      } catch (error) {
        expect(error).toBeInstanceOf(SyntaxError);
      }
    }),
  );
});

it.each([lispSymbol('a b'), lispSymbol('#.(run)'), lispSymbol(''), lispSymbol('|x|'), 1.5, Number.NaN])(
  'sends no %j',
  (form) => {
    expect(() => printSexp(form)).toThrow(TypeError);
  },
);

it('knows a symbol, however it is written', () => {
  expect(
    ['ok', lispSymbol(':OK'), lispSymbol(':ok'), [], undefined].map((form) => isSymbol(form, ':ok')),
  ).toEqual([false, true, true, false, false]);
});
