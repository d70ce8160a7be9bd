import { inUrl } from '../../src/server/address';

it.each([
  ['127.0.0.1', '127.0.0.1'],
  ['inbox.example.com', 'inbox.example.com'],
  ['::1', '[::1]'],
  ['[::1]', '[::1]'],
])('writes the address %s in a URL as %s', (host, expected) => {
  expect(inUrl(host)).toBe(expected);
});
