import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePorts } from '../../src/engine/server-args';
import { root } from './build';
import { describeWith } from './parts';

/** Tests that need PostgreSQL. */
export const describeWithPostgres = (title: string, tests: () => void): void =>
  describeWith('postgres', title, tests);

/** A PostgreSQL behind a proxy that can be cut. */
export interface CuttablePostgres {
  url: string;
  /** Cuts all connections and takes no new ones until `mend` is called. */
  cut(): Promise<void>;
  mend(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts a PostgreSQL of its own. */
export async function startCuttablePostgres(): Promise<CuttablePostgres> {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-postgres-'));
  // PostgreSQL runs as another user where the tests run as root.
  await chmod(directory, 0o711);
  const [port = 0, shown = 0] = await freePorts(2);
  const args = [join(root, 'scripts', 'postgres-process.mjs'), directory, String(port)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const user = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (line) => resolve(String(line).trim()));
    void gone.then(() => reject(new Error('PostgreSQL did not start')));
  });
  const proxy = startProxy(port, shown);
  await proxy.mend();
  return {
    url: `postgres://${user}@127.0.0.1:${shown}/postgres`,
    ...proxy,
    stop: async () => {
      await proxy.cut();
      child.stdin.end();
      await gone;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function startProxy(port: number, shown: number): Pick<CuttablePostgres, 'cut' | 'mend'> {
  const open = new Set<Socket>();
  const keep = (socket: Socket): Socket => {
    open.add(socket);
    // A cut connection is what the test is about; whoever uses it is told by its end.
    return socket.on('error', () => socket.destroy()).once('close', () => open.delete(socket));
  };
  const server = createServer((incoming) => {
    const outgoing = keep(connect(port, '127.0.0.1'));
    keep(incoming).pipe(outgoing).pipe(incoming);
  });
  return {
    mend: () => new Promise((resolve) => server.listen(shown, '127.0.0.1', resolve)),
    cut: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
