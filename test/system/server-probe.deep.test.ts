import { readFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createSecureServer, createServer as createHttp2 } from 'node:http2';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { freePorts } from '../../src/engine/server-args';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isSilent, reasonOfNoAnswer } from '../../src/system/server-probe';
import { makeCertificates, SERVER_NAME, type Certificates } from '../cluster/support/certificates';

type ServerAddress = Parameters<typeof isSilent>[0];

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((closed) => server.close(closed));
});

/** A server that does this with whoever comes; its address. */
const listen = async (take: (socket: Socket) => void): Promise<string> =>
  started(createServer((socket) => take(socket.on('error', () => undefined).resume())));

const started = async (server: Server): Promise<string> => {
  servers.push(server);
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = Object.assign({ port: 0 }, server.address()) satisfies Partial<AddressInfo>;
  return `127.0.0.1:${port}`;
};

const server = (address: string, isTls: boolean): ServerAddress => ({ address, connection: { tls: isTls } });

/** So short that a test need not wait for it; long where something is to come. */
const BRIEF = 200;
const LONG = 60_000;

describe.each([
  ['plain', false],
  ['with TLS', true],
])('%s', (_, isTls) => {
  it('hears nothing of a server that keeps silent', async () => {
    const ended: Promise<unknown>[] = [];
    const address = await listen((socket) => {
      ended.push(new Promise((closed) => socket.once('close', closed)));
    });
    expect(await isSilent(server(address, isTls), BRIEF)).toBe(true);
    // It hangs up, so that nothing keeps the process alive.
    await Promise.all(ended);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['hangs up', (socket) => void socket.end()],
    ['says something else', (socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
  ])('hears one that %s', async (_how, take) => {
    const address = await listen(take);
    expect(await isSilent(server(address, isTls), LONG)).toBe(false);
  });

  it('hears that nobody listens', async () => {
    const [port = 0] = await freePorts(1);
    expect(await isSilent(server(`127.0.0.1:${port}`, isTls), LONG)).toBe(false);
  });

  it('leaves what is not an address to others', async () => {
    expect(await isSilent(server('127.0.0.1:99999', isTls), LONG)).toBe(false);
  });
});

it('hears a server that speaks as Temporal does', async () => {
  expect(await isSilent(server(await started(createHttp2()), false), LONG)).toBe(false);
});

describe('the reason why a connection cannot be made', () => {
  let directory: string;
  let files: Certificates;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'countersign-probe-'));
    files = makeCertificates(directory);
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  const plain = () => started(createHttp2());
  const secure = (options = {}) =>
    started(createSecureServer({ cert: readFileSync(files.cert), key: readFileSync(files.key), ...options }));
  const strict = () => secure({ requestCert: true, rejectUnauthorized: true, ca: readFileSync(files.ca) });
  const hangsUp = () => listen((socket) => void socket.end());
  const nobody = async () => `127.0.0.1:${(await freePorts(1))[0]}`;
  const trusting = (file: string, serverNameOverride = SERVER_NAME) => ({
    serverNameOverride,
    serverRootCACertificate: readFileSync(file),
  });

  it.each<[string, () => Promise<string>, () => NonNullable<ServerAddress['connection']>, string]>([
    ['nobody listens', nobody, () => ({}), 'nobody'],
    ['nobody listens for TLS', nobody, () => ({ tls: true }), 'nobody'],
    ['the host is not known', async () => 'no-such-host.invalid:7233', () => ({}), 'unknownHost'],
    ['it hangs up', hangsUp, () => ({}), 'nobody'],
    ['it speaks now', plain, () => ({}), 'unanswered'],
    ['it speaks TLS', () => secure(), () => ({}), 'wantsTls'],
    ['it speaks TLS and asks for a certificate', strict, () => ({}), 'wantsTls'],
    ['it speaks no TLS', plain, () => ({ tls: true }), 'withoutTls'],
    ['it speaks no TLS, and a key stands for TLS', plain, () => ({ apiKey: 'k' }), 'withoutTls'],
    ['its authority is not known', () => secure(), () => ({ tls: true }), 'untrusted'],
    ['its authority is another', () => secure(), () => ({ tls: trusting(files.otherCa) }), 'untrusted'],
    ['its name is another', () => secure(), () => ({ tls: trusting(files.ca, 'other.test') }), 'otherName'],
    ['it asks for a certificate', strict, () => ({ tls: trusting(files.ca) }), 'wantsCertificate'],
    ['it speaks TLS now', () => secure(), () => ({ tls: trusting(files.ca) }), 'unanswered'],
  ])('where %s', async (_case, start, connection, reason) => {
    expect(await reasonOfNoAnswer({ address: await start(), connection: connection() })).toBe(reason);
  });
});
