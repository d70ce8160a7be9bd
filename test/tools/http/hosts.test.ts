import fc from 'fast-check';
import { hostList, portOf } from '../../../src/tools/http/hosts';

describe('a list', () => {
  it.each<[entry: string, url: string, expected: boolean]>([
    ['api.example.com', 'https://api.example.com/a', true],
    ['api.example.com', 'http://api.example.com/', true],
    ['api.example.com', 'https://API.Example.COM/', true],
    ['API.example.com', 'https://api.example.com:443/', true],
    ['api.example.com', 'https://api.example.com:8443/', false],
    ['api.example.com', 'http://api.example.com:443/', false],
    ['api.example.com', 'https://example.com/', false],
    ['api.example.com', 'https://x.api.example.com/', false],
    ['api.example.com', 'https://api.example.com.evil.example/', false],
    ['api.example.com', 'https://evilapi.example.com/', false],
    ['api.example.com:8443', 'https://api.example.com:8443/', true],
    ['api.example.com:8443', 'https://api.example.com/', false],
    ['api.example.com:443', 'https://api.example.com/', true],
    ['api.example.com:443', 'http://api.example.com/', false],
    ['api.example.com:80', 'http://api.example.com/', true],
    ['münchen.example', 'https://xn--mnchen-3ya.example/', true],
    ['xn--mnchen-3ya.example', 'https://münchen.example/', true],
    ['10.0.0.7', 'http://10.7/', true],
    ['127.0.0.1:8080', 'http://0x7f000001:8080/', true],
    ['[fd00::7]:8080', 'http://[FD00:0::7]:8080/', true],
    ['[::1]', 'http://[::1]/', true],
    ['*.example.com', 'https://a.example.com/', true],
    ['*.example.com', 'https://a.b.example.com/', false],
    ['*.example.com', 'https://example.com/', false],
    ['*.example.com', 'https://aexample.com/', false],
    ['*.example.com:8443', 'https://a.example.com:8443/', true],
    ['*.example.com:8443', 'https://a.example.com/', false],
    ['*.a.example.co.uk', 'https://b.a.example.co.uk/', true],
  ])('with %s on %s: %j', (entry, url, expected) => {
    expect(hostList('hosts', ['other.example', entry])(new URL(url))).toBe(expected);
  });

  it('that is empty names no host', () => {
    expect(hostList('hosts', [])(new URL('https://example.com'))).toBe(false);
  });
});

describe('an entry that is refused', () => {
  it.each([
    ...['', ' ', '*', '*.', '**.example.com', 'a.*.example.com', 'exa*mple.com', 'https://example.com'],
    ...['example.com/', 'example.com/path', 'a@example.com', 'example.com?', 'example.com#x', 'a b.example'],
    ...[
      'example.com.',
      'example.com:0',
      'example.com:99999',
      'example.com:',
      'a:b:c',
      '::1',
      'a\\b',
      '%61.example',
    ],
    ...[
      '*.com',
      '*.co.uk',
      '*.github.io',
      '*.s3.amazonaws.com',
      '*.internal',
      '*.localhost',
      '*.10.0.0.1',
      '*.[::1]',
    ],
  ])('is %j', (entry) => {
    expect(() => hostList('hosts', [entry])).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringContaining('`hosts`') }),
    );
  });
});

it('lets in no host but the one that it names', () => {
  const allows = hostList('hosts', ['api.example.com']);
  // `fc.webUrl()` takes seconds to begin.
  const url = fc
    .tuple(
      fc.constantFrom('http', 'https'),
      fc.oneof(fc.constant('api.example.com'), fc.domain()),
      fc.constantFrom('', ':8443', '/api.example.com', '?api.example.com', '#@api.example.com'),
    )
    .map(([scheme, host, rest]) => `${scheme}://${host}${rest}`);
  fc.assert(
    fc.property(url, (text) => {
      // With its port, unless that is the one of the scheme.
      expect(allows(new URL(text))).toBe(new URL(text).host === 'api.example.com');
    }),
  );
});

it('lets in names with one label in front of a * and no others', () => {
  const allows = hostList('hosts', ['*.example.com']);
  const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
  fc.assert(
    fc.property(fc.array(label, { maxLength: 4 }), fc.constantFrom('', 'x', 'x.'), (labels, glued) => {
      const host = [...labels, `${glued}example.com`].join('.');
      expect(allows(new URL(`https://${host}`))).toBe(
        labels.length + (glued === 'x.' ? 1 : 0) === 1 && glued !== 'x',
      );
    }),
  );
});

it.each([
  ['https://a.example', '443'],
  ['http://a.example', '80'],
  ['http://a.example:8080', '8080'],
])('knows that %s leads to port %s', (url, port) => {
  expect(portOf(new URL(url))).toBe(port);
});
