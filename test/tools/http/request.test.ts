import fc from 'fast-check';
import { isToolError } from '../../../src/tools/errors';
import { hostList } from '../../../src/tools/http/hosts';
import { secretRules } from '../../../src/tools/http/references';
import {
  checkRequest,
  checkUrl,
  isReading,
  classifyRequest,
  parameters,
  type Rules,
} from '../../../src/tools/http/request';
import { runs } from '../../support/properties';

const rules: Rules = {
  hosts: hostList('hosts', ['api.example.com', '127.0.0.1:8080']),
  privateHosts: hostList('privateHosts', ['127.0.0.1:8080', 'intranet.localhost']),
  others: 'ask',
  safeHeaders: ['accept', 'x-version'],
  secrets: secretRules({ KEY: { hosts: ['api.example.com'], headers: ['authorization'] } }),
};

const request = (given: Record<string, unknown>) =>
  checkRequest(parameters.parse({ url: 'https://api.example.com/', ...given }), rules);

describe('a URL that is refused', () => {
  it.each<[why: string, url: string]>([
    ...[
      ...[
        'http://127.0.0.1:7233',
        'http://localhost',
        'http://localhost:8080',
        'http://[::1]',
        'http://0.0.0.0',
      ],
      ...[
        'http://169.254.169.254/latest/meta-data/',
        'http://10.1.2.3',
        'http://172.16.0.1',
        'http://192.168.1.1',
      ],
      ...[
        'http://[fc00::1]',
        'http://[fe80::1]',
        'http://100.64.0.1',
        'http://224.0.0.1',
        'http://a.localhost',
      ],
      // The same hosts, written otherwise.
      ...['http://0x7f000001', 'http://2130706433', 'http://0177.0.0.1', 'http://127.1', 'http://0'],
      ...[
        'http://[::ffff:127.0.0.1]',
        'http://[::ffff:7f00:1]',
        'http://①②⑦.0.0.1',
        'http://１２７。０。０。１',
      ],
      ...['http://%31%32%37.0.0.1', 'http://127.0.0.1.', 'http://[::127.0.0.1]', 'http://[64:ff9b::7f00:1]'],
    ].map((url): [string, string] => ['private', url]),
    ...[
      ...[
        'file:///etc/passwd',
        'gopher://example.com/1',
        'data:text/plain,a',
        'javascript:alert(1)',
        'ftp://a.example',
      ],
      ...[
        'ws://a.example',
        '//a.example',
        'a.example',
        '/path',
        '',
        'http:a.example',
        'http:/a.example',
        ' https://a.example',
      ],
      ...['blob:https://a.example/1', 'view-source:https://a.example'],
    ].map((url): [string, string] => ['starts with http:// or https://', url]),
    ['control character', 'https://a.example/\r\nHost: evil'],
    ['control character', 'https://a.example/a b'],
    ['control character', 'https://a.exa\tmple/'],
    ['control character', 'https://a.example/\0'],
    ['control character', 'https://a.example/\u200b'],
    ['control character', 'https://a.example/\u202e'],
    ['control character', 'https://a.example/ '],
    ['user or a password', 'https://user:pass@a.example/'],
    ['user or a password', 'https://user@a.example/'],
    ['user or a password', 'https://@a.example/'],
    ['user or a password', 'https://a.example:80@evil.example/'],
    ['fragment', 'https://a.example#@evil.example/'],
    ['fragment', 'https://a.example/#part'],
    ['names no host', 'https:///user:pass@evil.example/'],
    ['names no host', 'https:////evil.example/'],
    ['backslash', 'https://a.example\\@evil.example/'],
    ['backslash', 'https:\\\\a.example/'.replace('https:\\\\', 'https://\\')],
    ['cannot be read', 'https://a.example:99999/'],
    ['cannot be read', 'https:///a.example['],
    ['cannot be read', 'https://[::1/'],
    ['ends with a dot', 'https://a.example./'],
  ])('with "%s": %j', (why, url) => {
    expect(() => checkUrl(url, rules)).toThrow(why);
  });
});

it.each([
  ['https://a.example', 'https://a.example/'],
  ['HTTPS://A.EXAMPLE:443/x?y=@z', 'https://a.example/x?y=@z'],
  ['https://a.example/@scope/pkg', 'https://a.example/@scope/pkg'],
  ['https://a.example/ä', 'https://a.example/%C3%A4'],
  ['http://127.0.0.1:8080/', 'http://127.0.0.1:8080/'],
  ['http://0x7f.1:8080/', 'http://127.0.0.1:8080/'],
  ['http://intranet.localhost/', 'http://intranet.localhost/'],
])('takes %s', (text, href) => {
  expect(checkUrl(text, rules).href).toBe(href);
});

it('refuses hosts that are on no list where the configuration says so', () => {
  const strict = { ...rules, others: 'refuse' as const };
  expect(() => checkUrl('https://evil.example/', strict)).toThrow('not among the hosts');
  expect(checkUrl('https://api.example.com/', strict).host).toBe('api.example.com');
  expect(checkUrl('http://127.0.0.1:8080/', strict).host).toBe('127.0.0.1:8080');
});

it('answers any text with a URL that can only be read in one way, or with a ToolError', () => {
  const piece = fc.constantFrom(
    ...[
      'http://',
      'https://',
      '//',
      '/',
      '\\',
      '@',
      '#',
      '?',
      ':',
      '.',
      '[',
      ']',
      '::1',
      '127.0.0.1',
      '0x7f',
      'a.example',
    ],
    ...[
      '\r\n',
      '\0',
      ' ',
      '%00',
      '%0d%0a',
      '。',
      'ｅ',
      'localhost',
      'user:pw',
      '8080',
      '\u202e',
      'ß',
      '\ud800',
    ],
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), fc.boolean(), (pieces, hasScheme) => {
      const text = `${hasScheme ? 'http://' : ''}${pieces.join('')}`;
      try {
        const url = checkUrl(text, rules);
        expect({ user: url.username, password: url.password, hash: url.hash }).toEqual({
          user: '',
          password: '',
          hash: '',
        });
        expect(`${url.pathname}${url.search}`).toMatch(/^[\x21-\x7e]*$/);
        expect(new URL(url.href).host).toBe(url.host);
      } catch (error) {
        expect(isToolError(error)).toBe(true);
      }
    }),
    { numRuns: runs(2000) },
  );
});

describe('headers', () => {
  it.each<[why: string, headers: Record<string, string>]>([
    ['is set by http_request', { Host: 'evil.example' }],
    ['is set by http_request', { 'Content-Length': '0' }],
    ['is set by http_request', { 'transfer-encoding': 'chunked' }],
    ['is set by http_request', { connection: 'upgrade' }],
    ['is set by http_request', { 'Proxy-Authorization': 'x' }],
    ['is set by http_request', { expect: '100-continue' }],
    ['cannot be the name', { 'a b': 'x' }],
    ['cannot be the name', { 'a\r\nb': 'x' }],
    ['cannot be the name', { 'a:': 'x' }],
    ['cannot be the name', { '': 'x' }],
    ['holds a line end', { accept: 'a\r\nx-evil: 1' }],
    ['holds a line end', { accept: 'a\n' }],
    ['holds a line end', { accept: '\0' }],
    ['holds a line end', { accept: 'größe' }],
    ['is given twice', { Accept: 'a', accept: 'b' }],
    ['too long', { accept: 'a'.repeat(8193) }],
    ['at most 50', Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`x-${n}`, 'a']))],
  ])('are refused with "%s": %j', (why, headers) => {
    expect(() => request({ headers })).toThrow(why);
  });

  it('are sent by their names in lower case', () => {
    expect(request({ headers: { 'X-Version': 'a\tb' } }).headers).toEqual([['x-version', 'a\tb']]);
  });
});

describe('a body', () => {
  it.each([
    ['text', 'größe\n', Buffer.from('größe\n')],
    ['base64', 'AP8Q', Buffer.from([0, 255, 16])],
    ['base64', '', Buffer.alloc(0)],
  ])('as %s %j is sent as its bytes', (body_encoding, body, bytes) => {
    expect(request({ method: 'POST', body, body_encoding }).body).toEqual(bytes);
  });

  it.each(['AP8', 'AP8Q\n', 'not base64', 'AP_Q'])('in base64 as %j is refused', (body) => {
    expect(() => request({ method: 'POST', body, body_encoding: 'base64' })).toThrow('not base64');
  });

  it.each(['GET', 'HEAD'])('goes with no %s', (method) => {
    expect(() => request({ method, body: '' })).toThrow('carries no body');
  });
});

const SAFE = { safety: 'safe', effect: 'pure' };
const PURE = { effect: 'pure' };

describe('a request is', () => {
  it.each<[expected: object | undefined, why: string, given: Record<string, unknown>]>([
    [SAFE, 'GET of a listed host', {}],
    [SAFE, 'HEAD of a listed host', { method: 'HEAD' }],
    [SAFE, 'GET of a listed private host', { url: 'http://127.0.0.1:8080/' }],
    [SAFE, 'GET with a header that is listed', { headers: { Accept: 'text/plain', 'X-Version': '2' } }],
    [SAFE, 'GET with a secret where it may go', { headers: { authorization: 'Bearer {{secret:KEY}}' } }],
    [PURE, 'GET of another host', { url: 'https://evil.example/' }],
    [PURE, 'GET of another port', { url: 'https://api.example.com:8443/' }],
    [PURE, 'GET of a private host that is not listed as safe', { url: 'http://intranet.localhost/' }],
    [PURE, 'GET with a key in the URL', { url: 'https://api.example.com/?q=ghp_abcdefghijklmnopqrstuvwxyz' }],
    [PURE, 'GET with a token in the URL', { url: 'https://api.example.com/?token=abc' }],
    [
      PURE,
      'GET with a key in a listed header',
      { headers: { 'x-version': 'sk-abcdefghijklmnopqrstuvwxyz' } },
    ],
    [undefined, 'POST', { method: 'POST' }],
    [undefined, 'PUT', { method: 'PUT' }],
    [undefined, 'PATCH', { method: 'PATCH' }],
    [undefined, 'DELETE', { method: 'DELETE' }],
    [undefined, 'OPTIONS', { method: 'OPTIONS' }],
    [undefined, 'GET with another method in a header', { headers: { 'x-http-method-override': 'DELETE' } }],
    [undefined, 'GET with a key of its own', { headers: { authorization: 'Bearer abcdefgh12345678' } }],
  ])('%j: %s', (expected, _, given) => {
    expect(classifyRequest(request(given), rules)).toEqual(expected);
  });
});

it.each([
  ['GET', true],
  ['HEAD', true],
  ['POST', false],
  ['OPTIONS', false],
])('%s only reads: %j', (method, expected) => {
  expect(isReading(method)).toBe(expected);
});
