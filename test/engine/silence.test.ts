import { createServer as createHttp2 } from 'node:http2';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { freePorts } from '../../src/engine/ports';
import { says } from '../../src/engine/silence';

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
    expect(await says(address, isTls, BRIEF)).toBe(false);
    // It hangs up, so that nothing keeps the process alive.
    await Promise.all(ended);
  });

  it.each<[string, (socket: Socket) => void]>([
    ['hangs up', (socket) => void socket.end()],
    ['says something else', (socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
  ])('hears one that %s', async (_how, take) => {
    const address = await listen(take);
    expect(await says(address, isTls, LONG)).toBe(true);
  });

  it('hears that nobody listens', async () => {
    const [port = 0] = await freePorts(1);
    expect(await says(`127.0.0.1:${port}`, isTls, LONG)).toBe(true);
  });

  it('leaves what is no address to others', async () => {
    expect(await says('127.0.0.1:99999', isTls, LONG)).toBe(true);
  });
});

it('hears a server that speaks as Temporal does', async () => {
  expect(await says(await started(createHttp2()), false, LONG)).toBe(true);
});
