import { inUrl, pathUnder, readBasePath } from '../../src/server/address';

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['inbox.example.com', 'inbox.example.com'],
  ['::1', '[::1]'],
  ['[::1]', '[::1]'],
])('writes the address %s in a URL as %s', (host, expected) => {
  expect(inUrl(host)).toBe(expected);
});

it.each([
  [undefined, ''],
  ['', ''],
  ['/', ''],
  ['/countersign', '/countersign'],
  ['/tools/countersign/', '/tools/countersign'],
])('reads the path %s as %j', (given, path) => {
  expect(readBasePath(given)).toBe(path);
});

it.each(['countersign', '//x', '/a b', '/a/../b', '/..', 'https://x/y', '/a?b', '/a#b'])(
  'refuses the path %s',
  (path) => {
    expect(() => readBasePath(path)).toThrow(/is not the path/);
  },
);

it.each([
  ['', '/api/inbox', '/api/inbox'],
  ['/c', '/c/api/inbox', '/api/inbox'],
  ['/c', '/c/', '/'],
  ['/c', '/api/inbox', '/api/inbox'],
  ['/c', '/cat/api', '/cat/api'],
])('under %j, %s is %s', (base, path, under) => {
  expect(pathUnder(base, path)).toBe(under);
});
