import { createServer } from 'node:net';
import type { Server } from 'node:net';
import { errnoOf } from './run';

/** The only address our servers listen on. */
export const LOOPBACK = '127.0.0.1';

/** Free ports, all different: each is held open until the last one is found. */
export const freePorts = async (count: number): Promise<number[]> => {
  const held = await Promise.all(Array.from({ length: count }, () => listen(0)));
  const ports = held.map(portOf);
  await Promise.all(held.map(close));
  return ports;
};

/** True if nothing listens on this port of the loopback address. */
export const isFree = async (port: number): Promise<boolean> => {
  try {
    await close(await listen(port));
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EADDRINUSE') return false;
    throw error;
  }
};

const listen = async (port: number): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(port, LOOPBACK, () => resolve(server));
  });

const close = async (server: Server): Promise<void> =>
  new Promise((resolve) => server.close(() => resolve()));

const portOf = (server: Server): number => {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('a TCP server has a port');
  return address.port;
};
