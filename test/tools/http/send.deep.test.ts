import type { LookupAddress } from 'node:dns';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { once } from 'node:events';
import { isTransportError, provenBy } from '../../../src/tools/errors';
import { hostList } from '../../../src/tools/http/hosts';
import type { HttpRequest } from '../../../src/tools/http/request';
import { type Lookup, type Network, send, unsent } from '../../../src/tools/http/send';
import { makeCertificates, SERVER_NAME, type Certificates } from '../../cluster/support/certificates';
import { useServer } from './servers';

const MAX = 64 * 1024;
const LOOPBACK: LookupAddress = { address: '127.0.0.1', family: 4 };
const PUBLIC: LookupAddress = { address: '93.184.216.34', family: 4 };
const nobody: Lookup = async () => {
  throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
};

const bodies = new Map<string, { coding?: string; bytes: Buffer | string }>([
  ['/gzip', { coding: 'gzip', bytes: gzipSync('packed') }],
  ['/x-gzip', { coding: 'X-GZIP', bytes: gzipSync('packed') }],
  ['/br', { coding: 'br', bytes: brotliCompressSync('packed') }],
  ['/deflate', { coding: 'deflate', bytes: deflateSync('packed') }],
  ['/twice', { coding: 'br, gzip', bytes: gzipSync(brotliCompressSync('packed')) }],
  ['/identity', { coding: 'identity', bytes: 'packed' }],
  ['/plain', { bytes: 'packed' }],
  ['/thrice', { coding: 'gzip, gzip, gzip', bytes: gzipSync(gzipSync(gzipSync('packed'))) }],
  ['/zstd', { coding: 'zstd', bytes: 'packed' }],
  ['/half', { coding: 'gzip', bytes: gzipSync('packed').subarray(0, 12) }],
  ['/lie', { coding: 'gzip', bytes: 'packed' }],
  ['/bomb', { coding: 'gzip', bytes: gzipSync(Buffer.alloc(40 * 1024 * 1024)) }],
  ['/bomb-in-bomb', { coding: 'gzip, gzip', bytes: gzipSync(gzipSync(Buffer.alloc(40 * 1024 * 1024))) }],
  ['/br-bomb', { coding: 'br', bytes: brotliCompressSync(Buffer.alloc(40 * 1024 * 1024)) }],
  ['/large', { bytes: Buffer.alloc(MAX + 1, 'a') }],
  ['/just', { bytes: Buffer.alloc(MAX, 'a') }],
]);

let onSlow: () => void = () => undefined;
let endlessEnded: Promise<unknown>;

const server = useServer(({ url }, response) => {
  const { bytes = '', coding } = bodies.get(url) ?? {};
  if (url === '/closes') return void response.socket?.destroy();
  if (url === '/breaks') {
    response.writeHead(200, { 'content-length': '100' });
    return void response.write('half', () => response.socket?.destroy());
  }
  if (url === '/headers') return void response.writeHead(200, { 'x-long': 'a'.repeat(32 * 1024) }).end();
  if (url === '/rubbish') return void response.socket?.end('rubbish\r\n\r\n');
  if (url === '/upgrade')
    return void response.socket?.end(
      'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
    );
  if (url === '/hangs') return onSlow();
  if (url === '/drips') return void response.writeHead(200).write('a', () => onSlow());
  if (url === '/endless') {
    endlessEnded = once(response, 'close');
    const more = (): void => void response.write('a'.repeat(1000), (error) => error ?? setImmediate(more));
    response.writeHead(200);
    return more();
  }
  response.writeHead(url === '/none' ? 204 : 200, coding === undefined ? {} : { 'content-encoding': coding });
  response.end(bytes);
});

const directory = mkdtempSync(join(tmpdir(), 'countersign-certificates-'));
afterAll(() => rmSync(directory, { recursive: true }));

let certificates: Certificates;
let tlsFiles: { key: string; cert: string };
const read = (file: string): string => readFileSync(file, 'utf8');
const secure = useServer(
  (_, response) => void response.end('over TLS'),
  () => {
    certificates = makeCertificates(directory);
    tlsFiles = { key: read(certificates.key), cert: read(certificates.cert) };
    return tlsFiles;
  },
);

const networkWith = (change: Partial<Network> = {}): Network => ({
  privateHosts: hostList('privateHosts', [server.host]),
  lookup: nobody,
  maxBytes: MAX,
  signal: new AbortController().signal,
  ...change,
});

const to = (url: string, change: Partial<HttpRequest> = {}): HttpRequest => ({
  method: 'GET',
  url: new URL(url, `http://${server.host}`),
  headers: [],
  body: undefined,
  ...change,
});

/** What was thrown; fails where nothing was. */
const thrownBy = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};

describe('what is sent', () => {
  it('is method, path, headers and body as they are given, over a connection of its own', async () => {
    await send(
      to('/a%20b?c=d&e', {
        method: 'POST',
        headers: [
          ['content-type', 'text/plain'],
          ['x-own', 'a\tb'],
        ],
        body: Buffer.from('größe'),
      }),
      networkWith(),
    );
    await send(to('/plain', { method: 'DELETE' }), networkWith());
    expect(server.heard).toEqual([
      expect.objectContaining({
        method: 'POST',
        url: '/a%20b?c=d&e',
        body: 'größe',
        headers: {
          ...{ host: server.host, accept: '*/*', 'accept-encoding': 'gzip, br', connection: 'close' },
          ...{
            'content-length': '7',
            'content-type': 'text/plain',
            'user-agent': 'countersign',
            'x-own': 'a\tb',
          },
        },
      }),
      expect.objectContaining({
        method: 'DELETE',
        headers: expect.objectContaining({ 'content-length': '0' }),
      }),
    ]);
    expect(server.connections()).toBe(2);
  });
});

describe('a body', () => {
  it.each(['/gzip', '/x-gzip', '/br', '/deflate', '/twice', '/identity', '/plain'])(
    'of %s is unpacked',
    async (path) => {
      const { status, statusText, body } = await send(to(path), networkWith());
      expect({ status, statusText, body }).toEqual({
        status: 200,
        statusText: 'OK',
        body: Buffer.from('packed'),
      });
    },
  );

  it.each([
    ['/thrice', 'the body is packed as "gzip, gzip, gzip" and is not shown'],
    ['/zstd', 'the body is packed as "zstd" and is not shown'],
    ['/half', 'the body cannot be unpacked (Z_BUF_ERROR)'],
    ['/lie', 'the body cannot be unpacked (Z_DATA_ERROR)'],
    ['/bomb', `the body has more than ${MAX} bytes and is not shown`],
    ['/bomb-in-bomb', `the body has more than ${MAX} bytes and is not shown`],
    ['/br-bomb', `the body has more than ${MAX} bytes and is not shown`],
    ['/large', `the body has more than ${MAX} bytes and is not shown`],
  ])('of %s is left out', async (path, missing) => {
    expect(await send(to(path), networkWith())).toMatchObject({ status: 200, body: { missing } });
  });

  it('of just the limit is kept', async () => {
    expect((await send(to('/just'), networkWith())).body).toHaveLength(MAX);
  });

  it('without an end is left, and the server sees the connection close', async () => {
    const { body } = await send(to('/endless'), networkWith());
    expect(body).toEqual({ missing: expect.stringContaining('more than') });
    await endlessEnded;
  });

  it.each([
    ['HEAD', '/gzip'],
    ['GET', '/none'],
  ] as const)('of %s %s is empty', async (method, path) => {
    expect((await send(to(path, { method }), networkWith())).body).toEqual(Buffer.alloc(0));
  });
});

describe('where the answer does not come', () => {
  it.each(['/closes', '/breaks', '/headers', '/rubbish', '/upgrade'])(
    '%s: nobody knows what the request did',
    async (path) => {
      const error = await thrownBy(send(to(path, { method: 'POST' }), networkWith()));
      expect(isTransportError(error) && !error.nothingSent).toBe(true);
      expect(server.heard).toHaveLength(1);
    },
  );

  it.each(['/hangs', '/drips'])('%s ends with the time of its call, and nothing is proven', async (path) => {
    const abort = new AbortController();
    onSlow = () => abort.abort(new DOMException('timed out', 'TimeoutError'));
    const error = await thrownBy(send(to(path), networkWith({ signal: abort.signal })));
    expect(isTransportError(error) && !error.nothingSent).toBe(true);
    expect(provenBy(error)).toBeUndefined();
  });
});

describe('before anything is sent', () => {
  it('a refused connection proves that', async () => {
    const closed = createServer().listen(0, '127.0.0.1');
    await once(closed, 'listening');
    const address = closed.address();
    const port = typeof address === 'object' ? address?.port : 0;
    closed.close();
    await once(closed, 'close');
    const network = networkWith({ privateHosts: hostList('privateHosts', [`127.0.0.1:${port}`]) });
    const error = await thrownBy(send(to(`http://127.0.0.1:${port}/`), network));
    expect(error).toMatchObject({
      nothingSent: true,
      message: `no connection to 127.0.0.1:${port} (ECONNREFUSED); nothing was sent`,
    });
  });

  it.each<[string, Lookup, string]>([
    ['a name that nobody knows', nobody, 'ENOTFOUND'],
    ['a name without an address', async () => [], 'it has no address'],
  ])('%s proves that', async (_, lookup, reason) => {
    const error = await thrownBy(send(to('http://a.example/'), networkWith({ lookup })));
    expect(error).toMatchObject({
      nothingSent: true,
      message: `no connection to a.example (${reason}); nothing was sent`,
    });
  });

  it('an end of its time while the name is looked up proves that', async () => {
    const abort = new AbortController();
    const lookup: Lookup = () => {
      abort.abort();
      return new Promise(() => undefined);
    };
    const error = await thrownBy(
      send(to('http://a.example/'), networkWith({ lookup, signal: abort.signal })),
    );
    expect(provenBy(error)).toBe('nothing_done');
  });

  it('an end of its time before it begins proves that', async () => {
    const work = jest.fn();
    const error = await thrownBy(unsent(new URL('http://a.example'), AbortSignal.abort(), work));
    expect(provenBy(error)).toBe('nothing_done');
    expect(work).not.toHaveBeenCalled();
  });
});

describe('an address', () => {
  it.each<[why: string, addresses: LookupAddress[]]>([
    ['a private one', [LOOPBACK]],
    ['a private one behind a public one', [PUBLIC, LOOPBACK]],
    ['the link-local one of a cloud', [{ address: '169.254.169.254', family: 4 }]],
    ['a mapped one', [{ address: '::ffff:127.0.0.1', family: 6 }]],
    ['something that is none', [{ address: 'example.com', family: 4 }]],
  ])('that a name leads to is refused: %s', async (_, addresses) => {
    const request = to(`http://rebound.example:${server.port}/plain`);
    const error = await thrownBy(send(request, networkWith({ lookup: async () => addresses })));
    expect(error).toMatchObject({
      name: 'ToolError',
      message: expect.stringContaining('leads to a private address'),
    });
    expect(String(error)).not.toContain('127.0.0.1');
    expect(server.connections()).toBe(0);
  });

  it('that the URL names itself is checked too', async () => {
    const error = await thrownBy(send(to('/plain'), networkWith({ privateHosts: () => false })));
    expect(error).toMatchObject({ message: expect.stringContaining('leads to a private address') });
    expect(server.connections()).toBe(0);
  });

  it('is looked up once, and the connection goes to what was checked', async () => {
    const answers = [[LOOPBACK], [{ address: '127.0.0.2', family: 4 }]];
    const lookup = jest.fn(async () => answers.shift() ?? []);
    const name = `rebound.example:${server.port}`;
    const network = networkWith({ lookup, privateHosts: hostList('privateHosts', [name]) });
    expect((await send(to(`http://${name}/plain`), network)).status).toBe(200);
    expect(lookup).toHaveBeenCalledTimes(1);
    expect(server.heard).toEqual([
      expect.objectContaining({ headers: expect.objectContaining({ host: name }) }),
    ]);
  });
});

describe('over TLS', () => {
  const url = (): URL => new URL(`https://${SERVER_NAME}:${secure.port}/`);
  const secureNetwork = (ca: string): Network =>
    networkWith({
      lookup: async () => [LOOPBACK],
      privateHosts: () => true,
      trust: createSecureContext({ ca: read(ca) }),
    });

  it('the certificate has to be of the host that was asked for', async () => {
    const { body } = await send(to('', { url: url() }), secureNetwork(certificates.ca));
    expect(body).toEqual(Buffer.from('over TLS'));
  });

  it.each<[string, () => string, () => URL]>([
    ['an authority that does not count', () => certificates.otherCa, url],
    ['another name', () => certificates.ca, () => new URL(`https://other.test:${secure.port}/`)],
    [
      'an address that it does not name',
      () => certificates.ca,
      () => new URL(`https://127.0.0.1:${secure.port}/`),
    ],
  ])('%s ends it before anything is sent', async (_, ca, where) => {
    const error = await thrownBy(send(to('', { url: where() }), secureNetwork(ca())));
    expect(error).toMatchObject({ nothingSent: true });
    expect(secure.heard).toEqual([]);
  });

  it('a server that speaks no TLS ends it before anything is sent', async () => {
    const error = await thrownBy(send(to(`https://${server.host}/plain`), networkWith()));
    expect(error).toMatchObject({ nothingSent: true });
    expect(server.heard).toEqual([]);
  });
});
