import fc from 'fast-check';
import { follow, type FollowedAnswer } from '../../../src/tools/http/follow';
import { hostList } from '../../../src/tools/http/hosts';
import type { Header } from '../../../src/tools/http/references';
import { secretRules } from '../../../src/tools/http/references';
import type { HttpRequest, Rules } from '../../../src/tools/http/request';
import type { Network } from '../../../src/tools/http/send';
import { type Answering, useServer } from './servers';

/** `/to?<status>&<place>` redirects there; `/count/<n>` goes down to 0; all else answers with what it is. */
const answering: Answering = ({ method, url }, response) => {
  const [, status, place] = /^\/to\?(\d+)&(.*)$/.exec(url) ?? [];
  const [, count] = /^\/count\/(\d+)$/.exec(url) ?? [];
  if (place !== undefined)
    return void response.writeHead(Number(status), { location: decodeURIComponent(place) }).end('moved');
  if (count !== undefined && count !== '0')
    return void response.writeHead(302, { location: `/count/${Number(count) - 1}` }).end();
  if (url === '/two') return void response.setHeader('location', ['/a', '/b']).writeHead(302).end();
  if (url === '/bare') return void response.writeHead(302).end('bare');
  if (url === '/gone') return void response.socket?.destroy();
  return void response.end(`${method} ${url}`);
};

const first = useServer(answering);
const second = useServer(answering);

const allow = (...safe: string[]): { rules: Rules; network: Network } => {
  const privateHosts = hostList('privateHosts', [first.host, second.host]);
  const rules: Rules = {
    hosts: hostList('hosts', safe),
    ...{ privateHosts, others: 'ask' as const, safeHeaders: [], secrets: secretRules({}) },
  };
  const { signal } = new AbortController();
  const lookup = async () => [{ address: '127.0.0.1', family: 4 }];
  return { rules, network: { privateHosts, lookup, maxBytes: 1024, signal } };
};

const HEADERS: Header[] = [
  ...[
    ['accept', 'text/plain'] as const,
    ['user-agent', 'me'] as const,
    ['authorization', 'Bearer key'] as const,
  ],
  ...[['cookie', 'a=b'] as const, ['x-api-key', 'key'] as const, ['content-type', 'text/plain'] as const],
];

const go = (
  path: string,
  change: Partial<HttpRequest> = {},
  { rules, network } = allow(),
): Promise<FollowedAnswer> =>
  follow(
    {
      method: 'GET',
      url: new URL(path, `http://${first.host}`),
      headers: HEADERS,
      body: undefined,
      ...change,
    },
    rules,
    network,
  );

const redirect = (status: number, place: string): string => `/to?${status}&${encodeURIComponent(place)}`;
const textOf = ({ answer: { body } }: FollowedAnswer): string => ('missing' in body ? '' : body.toString());

it.each([301, 302, 303, 307, 308])(
  'follows %i of a GET to the same origin, with all its headers',
  async (status) => {
    const followed = await go(redirect(status, '/here#part'));
    expect(textOf(followed)).toBe('GET /here');
    expect(followed).toMatchObject({ redirects: 1, url: new URL(`http://${first.host}/here`) });
    expect(first.heard[1]?.headers).toMatchObject(Object.fromEntries(HEADERS));
  },
);

it('keeps HEAD', async () => {
  await go(redirect(303, '/here'), { method: 'HEAD' });
  expect(first.heard.map(({ method }) => method)).toEqual(['HEAD', 'HEAD']);
});

it.each([301, 302, 303])('reads what %i of a POST leads to, without its body', async (status) => {
  const followed = await go(redirect(status, '/here'), { method: 'POST', body: Buffer.from('pay') });
  expect(textOf(followed)).toBe('GET /here');
  expect(first.heard.map(({ method, body }) => [method, body])).toEqual([
    ['POST', 'pay'],
    ['GET', ''],
  ]);
  expect(first.heard[1]?.headers).not.toHaveProperty('content-type');
});

it.each([307, 308])('never sends a request with an effect a second time, not even for %i', async (status) => {
  const followed = await go(redirect(status, '/here'), { method: 'POST', body: Buffer.from('pay') });
  expect(followed).toMatchObject({
    answer: { status },
    note: 'a request with an effect is not sent a second time',
  });
  expect(first.heard).toHaveLength(1);
});

describe('to another origin', () => {
  const there = (path = '/there'): string => `http://${second.host}${path}`;

  it('a redirect is followed where that request would be safe, without what was meant for the first', async () => {
    const followed = await go(redirect(302, there()), {}, allow(second.host));
    expect(textOf(followed)).toBe('GET /there');
    expect(second.heard[0]?.headers).toEqual({
      ...{ host: second.host, accept: 'text/plain', 'user-agent': 'me' },
      ...{ 'accept-encoding': 'gzip, br', connection: 'close' },
    });
  });

  it('what was left out does not come back on the way back', async () => {
    const back = `http://${first.host}/back`;
    const followed = await go(redirect(302, there(redirect(302, back))), {}, allow(second.host));
    expect(textOf(followed)).toBe('GET /back');
    expect(first.heard[1]?.headers).not.toHaveProperty('authorization');
  });

  it.each(['GET', 'POST'] as const)(
    'a redirect of a %s is not followed to a host that nobody allowed',
    async (method) => {
      const followed = await go(redirect(302, there()), { method });
      expect(followed).toMatchObject({
        answer: { status: 302 },
        note: `it leads to ${second.host}, which nobody allowed; ask for it by a call of its own`,
      });
      expect(second.connections()).toBe(0);
    },
  );
});

describe('is not followed', () => {
  it.each<[why: string, place: string, note: string]>([
    ['to a private address', 'http://127.0.0.1:7233/', 'private address'],
    ['to one in another form', 'http://0x7f000001:1/', 'private address'],
    ['to the link-local one of a cloud', 'http://169.254.169.254/latest/', 'private address'],
    ['to localhost', '//localhost/', 'private address'],
    ['to a file', 'file:///etc/passwd', 'starts with http:// or https://'],
    ['to a script', 'javascript:alert(1)', 'starts with http:// or https://'],
    ['to a user', 'http://me:pw@evil.example/', 'user or a password'],
    ['by a backslash', '\\\\evil.example\\', 'cannot be read for certain'],
    ['with a blank', '/a b', 'cannot be read for certain'],
    ['to nothing that can be read', 'http://[', 'Invalid URL'],
    ['to a stranger', 'https://evil.example/', 'which nobody allowed'],
  ])('a redirect %s', async (_, place, note) => {
    const followed = await go(redirect(302, place), {}, allow(first.host));
    expect(followed).toMatchObject({
      answer: { status: 302 },
      redirects: 0,
      note: expect.stringContaining(note),
    });
    expect(first.heard).toHaveLength(1);
  });

  it('a redirect with two places', async () => {
    expect(await go('/two')).toMatchObject({ note: 'it names more than one place' });
  });

  it('a redirect to a name that leads to a private address', async () => {
    const rebound = allow('rebound.example');
    const followed = await go(redirect(302, 'http://rebound.example/'), {}, rebound);
    expect(followed).toMatchObject({
      answer: { status: 302 },
      note: expect.stringContaining('leads to a private address'),
    });
  });
});

it('follows five redirects and no more', async () => {
  expect(textOf(await go('/count/5'))).toBe('GET /count/0');
  const followed = await go('/count/20');
  expect(followed).toMatchObject({
    answer: { status: 302 },
    redirects: 5,
    note: 'there were 5 redirects before it',
  });
});

it('reaches nobody but the origin that was allowed, whatever place is named', async () => {
  const piece = fc.constantFrom(
    ...[
      'http://',
      'https://',
      'http:',
      '//',
      '/',
      '\\',
      '@',
      '#',
      '?',
      ':',
      '%2f',
      '%40',
      ' ',
      '\t',
      '.',
      'a',
    ],
    ...['FIRST', 'SECOND', 'me:pw', '127.0.0.1', '0x7f.1', 'localhost'],
  );
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 6 }), async (pieces) => {
      const place = pieces.join('').replaceAll('FIRST', first.host).replaceAll('SECOND', second.host);
      const { url } = await go(redirect(302, place));
      expect(url.host).toBe(first.host);
    }),
  );
  expect(second.connections()).toBe(0);
});

it('takes an answer without a place as it is', async () => {
  expect(textOf(await go('/bare'))).toBe('bare');
});

it('keeps the answer to a request with an effect where the redirect leads to a broken connection', async () => {
  const followed = await go(redirect(303, '/gone'), { method: 'POST' });
  expect(followed).toMatchObject({
    answer: { status: 303 },
    note: expect.stringContaining('broke after GET was sent'),
  });
});
