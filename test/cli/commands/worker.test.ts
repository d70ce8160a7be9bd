import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { ensureBuilt } from '../../support/build';
import { runCli } from '../process';

beforeAll(ensureBuilt, 120_000);

it('a worker of a server that keeps silent says what it waits for, and ends', async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = Object.assign({ port: 0 }, server.address());
  const address = `127.0.0.1:${port}`;
  const config = join('deploy', 'agents', 'countersign.config.ts');
  const { code, out, err } = await runCli(['worker', config, '--address', address]);
  expect({ code, out }).toEqual({ code: 5, out: '' });
  expect(err.split('\n')).toEqual([
    `waiting for the Temporal server at ${address}`,
    `no Temporal server answers at ${address}`,
    expect.stringContaining('check TEMPORAL_ADDRESS'),
    '[no_server]',
    '',
  ]);
  for (const socket of sockets) socket.destroy();
  server.close();
});
