import { defined } from '../../src/contract/defined';

test('undefined fields are left out, all others stay', () => {
  const fields = defined({ a: 1, b: undefined, c: null, d: '', e: false, f: 0 });
  expect(Object.entries(fields)).toEqual([
    ['a', 1],
    ['c', null],
    ['d', ''],
    ['e', false],
    ['f', 0],
  ]);
});

test('what was given is not changed', () => {
  const given = { a: undefined };
  expect(defined(given)).not.toBe(given);
  expect(Object.keys(given)).toEqual(['a']);
});
