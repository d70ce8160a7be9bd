import { parseSymbolName } from '../../../src/tools/lisp/tools';

it.each([
  ['car', { name: 'CAR', package: 'CL' }],
  [' Defun ', { name: 'DEFUN', package: 'CL' }],
  ['cl-user:foo', { name: 'FOO', package: 'cl-user' }],
  ['a.b/c::*x*', { name: '*X*', package: 'a.b/c' }],
  [':key', { name: 'KEY', package: 'KEYWORD' }],
  ['|Mixed Case|', { name: 'Mixed Case', package: 'CL' }],
  ['cl-user::|x|', { name: 'x', package: 'cl-user' }],
  ['1+', { name: '1+', package: 'CL' }],
  ['%foo#bar', { name: '%FOO#BAR', package: 'CL' }],
  ['straße', { name: 'STRAßE', package: 'CL' }],
])('takes %j apart', (given, found) => {
  expect(parseSymbolName(given, 'CL')).toEqual(found);
});

it.each([
  '',
  ' ',
  '#.(sb-ext:run-program "/bin/sh" nil)',
  '#.x',
  '#:x',
  "'car",
  '(car x)',
  'car cdr',
  'car;comment',
  '"car"',
  'a:b:c',
  'a:::b',
  'cl:',
  '|a',
  'a\\b',
  '`x',
  ',x',
  'x\ny',
  'x\ud800',
])('refuses %j, which is more than a name', (given) => {
  expect(() => parseSymbolName(given, 'CL')).toThrow('is not the name of a symbol. Nothing was evaluated.');
});
