import { foldCase, namesIn, plainEscapes, plainText } from '../../../src/contract/text/spelling';

it.each([
  ['https://a.example/%70rod/%7Ex', 'https://a.example/prod/~x'],
  ['https://a.example/a%2fb%3f?q=%e2%82%ac', 'https://a.example/a%2Fb%3F?q=%E2%82%AC'],
  ['https://a.example/100%25', 'https://a.example/100%25'],
])('writes the escapes of %s in one way', (url, plain) => {
  expect(plainEscapes(url)).toBe(plain);
  expect(plainEscapes(plain)).toBe(plain);
});

it.each([
  ['PROD/Straße', 'prod/STRASSE'],
  ['é', 'e\u0301'],
  ['ΣΑΣ', 'σας'],
])('folds %s and %s alike', (one, other) => {
  expect(foldCase(one)).toBe(foldCase(other));
});

it('takes a path apart', () => {
  expect(namesIn('.//prod/./x/')).toEqual(['prod', 'x']);
});

it.each([
  ['./', ''],
  ['//', '/'],
  ['a/./', 'a/'],
  ['src/.', 'src'],
  ['a/../b', undefined],
])('writes %s in one way', (text, plain) => {
  expect(plainText(text)).toBe(plain);
});
