import { isLoopback, isPlainLocal, isSecureUrl, proxyArgs } from '../../src/system/loopback';

it.each([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['localhost', true],
  ['::1', true],
  ['0.0.0.0', false],
  ['::', false],
  ['192.0.2.1', false],
  ['127.0.0.1.evil.example', false],
  ['127.evil', false],
])('%s is on this machine: %s', (host, local) => {
  expect(isLoopback(host)).toBe(local);
});

it.each([
  ['https://example.com/', true, false],
  ['https://127.0.0.1/', true, false],
  ['http://127.0.0.1:80/', true, true],
  ['http://[::1]:8080/', true, true],
  ['http://localhost/', true, true],
  ['http://example.com/', false, false],
  ['http://localhost.example.com/', false, false],
  ['ftp://127.0.0.1/', false, false],
])('nobody can listen in between to %s: %s; plain http on this machine: %s', (text, isSecure, isPlain) => {
  expect(isSecureUrl(new URL(text))).toBe(isSecure);
  expect(isPlainLocal(new URL(text))).toBe(isPlain);
});

it.each([
  ['127.0.0.1:7233', true],
  ['localhost', true],
  ['LocalHost.:7233', true],
  ['[::1]:7233', true],
  ['0.0.0.0:7233', true],
  ['temporal.example.com:7233', false],
  ['localhost.example.com:7233', false],
])('%s is reached without a proxy: %s', (address, isHere) => {
  expect(proxyArgs(address)).toEqual(isHere ? { 'grpc.enable_http_proxy': 0 } : {});
});
