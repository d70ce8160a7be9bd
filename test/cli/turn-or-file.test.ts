import { isFile } from '../../src/cli/turn-or-file';

it.each<[string, string, boolean]>([
  ['an id', 'turn-01j9', false],
  ['a name that ends as files do', 'turn-01j9.json', true],
  ['a path from here', './turn-01j9', true],
  ['a path from above', '../turn-01j9', true],
  ['a whole path', '/tmp/turn-01j9', true],
  ['a call', 'turn-01j9/1.1', false],
  ['a call whose name begins a file', 'src/testing.ts', false],
  ['an id that is also a file here', 'LICENSE', false],
])('%s', (_, named, expected) => {
  expect(isFile(named)).toBe(expected);
});
