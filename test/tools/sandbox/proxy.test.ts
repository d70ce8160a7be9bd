import { createServer, request, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { hostList } from '../../../src/tools/http/hosts';
import type { Lookup } from '../../../src/tools/http/send';
import { startProxy } from '../../../src/tools/sandbox/proxy';
import { scratchDirectory } from '../../support/scratch';

type NetworkProxy = Awaited<ReturnType<typeof startProxy>>;

const scratch = scratchDirectory();
const path = () => join(scratch(), 'proxy.sock');

let server: Server;
let port = 0;
let seen: (string | undefined)[] = [];
beforeEach(async () => {
  seen = [];
  server = createServer((incoming, response) => {
    seen.push(incoming.headers.host, incoming.headers['proxy-authorization']);
    response.end(`${incoming.method} ${incoming.url}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === 'string') throw new Error('it has no port');
  port = address.port;
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

let proxy: NetworkProxy | undefined;
afterEach(() => proxy?.close());

/** A proxy for hosts of which those in `isPrivate` may be private. */
const start = async (hosts: string[], isPrivate: string[] = [], lookup?: Lookup): Promise<void> => {
  const lists = { hosts: hostList('hosts', hosts), privateHosts: hostList('privateHosts', isPrivate) };
  proxy = await startProxy({ path: path(), ...lists, lookup });
};

interface Got {
  status: number | undefined;
  body: string;
}

const ask = (target: string, method = 'GET', body = ''): Promise<Got> =>
  new Promise((resolve, reject) => {
    const headers = { 'proxy-authorization': 'secret', host: 'lies.example' };
    const sent = request({ socketPath: path(), method, path: target, headers, agent: false });
    sent.once('error', reject);
    sent.once('connect', (response, socket: Socket, head: Buffer) => {
      let text = head.toString();
      if (response.statusCode === 200)
        socket.write(`GET /in HTTP/1.1\r\nhost: tunnel\r\nconnection: close\r\n\r\n`);
      socket.on('data', (chunk: Buffer) => void (text += chunk.toString()));
      socket.once('close', () => resolve({ status: response.statusCode, body: text }));
      socket.once('end', () => socket.end());
    });
    sent.once('response', (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => void (text += chunk.toString()));
      response.once('end', () => resolve({ status: response.statusCode, body: text }));
    });
    sent.end(body);
  });

it('forwards HTTP with the host of the URL, and nothing that was meant for the proxy', async () => {
  await start([`127.0.0.1:${port}`], [`127.0.0.1:${port}`]);
  const got = await ask(`http://127.0.0.1:${port}/a?b=1`, 'POST', 'text');
  expect(got).toEqual({ status: 200, body: 'POST /a?b=1' });
  expect(seen).toEqual([`127.0.0.1:${port}`, undefined]);
});

it('opens a tunnel', async () => {
  await start([`127.0.0.1:${port}`], [`127.0.0.1:${port}`]);
  const got = await ask(`127.0.0.1:${port}`, 'CONNECT');
  expect(got.status).toBe(200);
  expect(got.body).toMatch(/^HTTP\/1\.1 200 OK[^]*GET \/in/);
});

it('survives an answer with a status that there is not', async () => {
  const odd = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end('HTTP/1.1 099 X\r\ncontent-length: 0\r\n\r\n'));
  });
  await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve));
  const { port: oddPort }: AddressInfo = JSON.parse(JSON.stringify(odd.address()));
  const host = `127.0.0.1:${oddPort}`;
  await start([host, `127.0.0.1:${port}`], [host, `127.0.0.1:${port}`]);
  await expect(ask(`http://${host}/`)).rejects.toThrow();
  expect(await ask(`http://127.0.0.1:${port}/a`)).toMatchObject({ status: 200 });
  await new Promise((resolve) => odd.close(resolve));
});

it('sends a body on as one, also where nobody said how long it is', async () => {
  await start([`127.0.0.1:${port}`], [`127.0.0.1:${port}`]);
  const inner = 'GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n';
  const socket = connect(path());
  const head = `GET http://127.0.0.1:${port}/a HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n`;
  socket.write(`${head}${inner.length.toString(16)}\r\n${inner}\r\n0\r\n\r\n`);
  let text = '';
  socket.on('data', (chunk: Buffer) => void (text += chunk.toString()));
  await new Promise((resolve) => socket.once('close', resolve));
  expect(text).toContain('GET /a');
  expect(text).not.toContain('smuggled');
  expect(seen.filter((one) => one !== undefined)).toEqual([`127.0.0.1:${port}`]);
});

it.each([
  ['a host that is not listed', 'http://other.example/', 'GET'],
  ['a tunnel to a host that is not listed', 'other.example:443', 'CONNECT'],
  ['another port of a listed host', 'listed.example:22', 'CONNECT'],
  ['the metadata of a cloud', 'http://169.254.169.254/latest/meta-data', 'GET'],
  ['the same written as a number', 'http://2852039166/latest/meta-data', 'GET'],
  ['this machine', '127.0.0.1:443', 'CONNECT'],
  ['another scheme', 'ftp://listed.example/', 'GET'],
  ['https: without a tunnel', 'https://listed.example/', 'GET'],
  ['a name and a password', 'http://user:pass@listed.example/', 'GET'],
  ['a path alone', '/etc/passwd', 'GET'],
  ['a tunnel with a user', 'listed.example:443@other.example:443', 'CONNECT'],
])('refuses %s', async (_case, target, method) => {
  const asked: string[] = [];
  await start(['listed.example'], [], async (name) => {
    asked.push(name);
    return [{ address: '93.184.216.34', family: 4 }];
  });
  expect(await ask(target, method)).toMatchObject({ status: 403 });
  expect(asked).toEqual([]);
});

it.each([
  ['leads to this machine', ['127.0.0.1']],
  ['leads to the metadata of a cloud', ['169.254.169.254']],
  ['leads there too', ['93.184.216.34', '10.0.0.1']],
  ['carries an IPv4 address in IPv6', ['::ffff:127.0.0.1']],
])('refuses a listed name that %s', async (_case, addresses) => {
  await start(['listed.example'], [], async () => addresses.map((address) => ({ address, family: 4 })));
  expect(await ask('listed.example:443', 'CONNECT')).toMatchObject({ status: 403 });
  expect(await ask('http://listed.example/')).toMatchObject({
    status: 403,
    body: expect.stringContaining('private address'),
  });
});

it('connects to the address that it checked, whatever the resolver says then', async () => {
  let times = 0;
  const name = `listed.example:${port}`;
  await start([name], [name], async () => [
    { address: times++ === 0 ? '127.0.0.1' : '192.0.2.1', family: 4 },
  ]);
  expect(await ask(`http://${name}/`)).toMatchObject({ status: 200 });
  expect(times).toBe(1);
});

it('answers where the host is away', async () => {
  await start(['127.0.0.1:1'], ['127.0.0.1:1']);
  expect(await ask('http://127.0.0.1:1/')).toMatchObject({
    status: 502,
    body: expect.stringContaining('ECONNREFUSED'),
  });
});
