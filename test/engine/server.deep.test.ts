import { fork } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { startServer } from '../../src/engine/server';
import type { RunningServer } from '../../src/engine/server-launch';
import { isAlive } from '../../src/system/lock';
import { freePorts } from '../../src/engine/server-args';
import { ensureBuilt, lib } from '../support/build';
import { ownProxyVariables } from '../support/http-proxy';
import { scratchDirectory, writeScript } from '../support/scratch';
import { startOwnServer, testCli, testConnection } from '../support/server';

ownProxyVariables();
const scratch = scratchDirectory();
const dbFile = (): string => join(scratch(), 'data', 'temporal.db');
const started: RunningServer[] = [];

const start: typeof startOwnServer = async (options) => {
  const server = await startOwnServer(options);
  started.push(server);
  return server;
};

afterEach(async () => {
  await Promise.all(started.splice(0).map((server) => server.stop()));
});

const withClient = async <T>(server: RunningServer, body: (client: Client) => Promise<T>): Promise<T> => {
  const connection = await testConnection(server.address);
  try {
    return await body(new Client({ connection, namespace: server.namespace }));
  } finally {
    await connection.close();
  }
};

const startTurn = (server: RunningServer, workflowId: string): Promise<unknown> =>
  withClient(server, (client) => client.workflow.start('agentTurn', { workflowId, taskQueue: 'nobody' }));

const countOf = (server: RunningServer, query: string): Promise<number> =>
  withClient(server, async (client) => (await client.workflow.count(query)).count);

/** Resolves once the process is gone. */
const untilGone = async (pid: number): Promise<void> => {
  while (isAlive(pid)) await delay(20);
};

it('is usable as soon as it is started: namespace there, search attributes registered', async () => {
  const server = await start({ namespace: 'agents' });
  expect(server).toMatchObject({ namespace: 'agents', uiUrl: undefined, reused: false });
  expect(server.address).toMatch(/^127\.0\.0\.1:\d+$/);
  await startTurn(server, 'a');
  expect(await countOf(server, 'CountersignPending = 1 OR CountersignTools = "x"')).toBe(0);
});

it('is reached without the proxies of the environment', async () => {
  process.env['https_proxy'] = 'http://127.0.0.1:1';
  expect(await start()).toMatchObject({ reused: false });
});

it("shows Temporal's own UI unless headless", async () => {
  const server = await start({ headless: false });
  const page = await fetch(server.uiUrl ?? '');
  expect(page.status).toBe(200);
});

it('is gone once it is stopped, and what it wrote in memory with it', async () => {
  const server = await start();
  await server.stop();
  expect(isAlive(server.pid)).toBe(false);
  await expect(server.exited).resolves.toEqual({ code: null, signal: 'SIGKILL' });
  expect(existsSync(server.logFile)).toBe(false);
  await server.stop();
});

it('starts four at once', async () => {
  const servers = await Promise.all(Array.from({ length: 4 }, () => start()));
  expect(new Set(servers.map(({ address }) => address)).size).toBe(4);
  for (const server of servers) await startTurn(server, 'same-id');
});

it('starts with new ports when the server panicked over a port that another took', async () => {
  const first = join(scratch(), 'panicked');
  const binary = writeScript(
    join(scratch(), 'temporal'),
    `[ -e ${first} ] && exec ${testCli()} "$@"`,
    `touch ${first}`,
    'echo "Failed to start gRPC listener: bind: address already in use"',
    'echo "panic: invalid memory address or nil pointer dereference"; seq 50; exit 2',
  );
  const server = await startServer({ binary, headless: true });
  started.push(server);
  await startTurn(server, 'after');
});

it('keeps what a file holds over a restart, a killed server included', async () => {
  const first = await start({ dbFile: dbFile() });
  await startTurn(first, 'kept');
  process.kill(first.pid, 'SIGKILL');
  expect(await first.exited).toEqual({ code: null, signal: 'SIGKILL' });
  const second = await start({ dbFile: dbFile() });
  expect(second.reused).toBe(false);
  const status = await withClient(
    second,
    async (client) => (await client.workflow.getHandle('kept').describe()).status.name,
  );
  expect(status).toBe('RUNNING');
});

it('uses the server that has the file open, however the file is named', async () => {
  const first = await start({ dbFile: dbFile() });
  const second = await start({ dbFile: join(scratch(), 'data', '..', 'data', 'temporal.db') });
  expect(second).toMatchObject({ reused: true, pid: first.pid, address: first.address });
});

it('starts one server when two ask for one file at once', async () => {
  const [first, second] = await Promise.all([start({ dbFile: dbFile() }), start({ dbFile: dbFile() })]);
  expect(first.pid).toBe(second.pid);
});

it.each([
  ['names a process that is gone', (pid: number) => ({ pid, owner: pid })],
  ['names a process that is something else', () => ({ pid: process.pid, owner: process.pid })],
])('starts a server when the record of the file %s', async (_what, ids) => {
  const first = await start({ dbFile: dbFile() });
  await first.stop();
  const rest = { address: first.address, namespace: 'default', logFile: first.logFile };
  writeFileSync(`${dbFile()}.server.json`, JSON.stringify({ ...ids(first.pid), ...rest }));
  expect(await start({ dbFile: dbFile() })).toMatchObject({ reused: false });
});

it('starts a server when the record of the file is cut', async () => {
  await (await start({ dbFile: dbFile() })).stop();
  writeFileSync(`${dbFile()}.server.json`, '{"pid": 1');
  expect(await start({ dbFile: dbFile() })).toMatchObject({ reused: false });
});

describe('when the process that started it is killed', () => {
  beforeAll(ensureBuilt);

  /** Starts a server in another process and kills that process. */
  const orphan = async (options: { dbFile?: string }): Promise<{ pid: number; address: string }> => {
    const script = join(scratch(), 'parent.js');
    const given = JSON.stringify({ binary: testCli(), headless: true, ...options });
    writeFileSync(
      script,
      `require(${JSON.stringify(lib('engine', 'server.js'))}).startServer(${given}).then(({ pid, address }) => process.send({ pid, address })); setInterval(() => {}, 1000);`,
    );
    const parent = fork(script);
    const server = await new Promise<{ pid: number; address: string }>((resolve) =>
      parent.once('message', (message: { pid: number; address: string }) => resolve(message)),
    );
    const gone = new Promise((resolve) => parent.once('exit', resolve));
    parent.kill('SIGKILL');
    await gone;
    return server;
  };

  it('is taken over by the next start on its file', async () => {
    const left = await orphan({ dbFile: dbFile() });
    const server = await start({ dbFile: dbFile() });
    expect(server).toMatchObject({ ...left, reused: true });
    await startTurn(server, 'after');
    await server.stop();
    expect(isAlive(left.pid)).toBe(false);
    await expect(server.exited).resolves.toEqual({ code: null, signal: null });
  });

  it('ends with it when it is in memory', async () => {
    const left = await orphan({});
    await untilGone(left.pid);
  });
});

describe('what goes wrong', () => {
  it.each(['port', 'uiPort'])('names the %s that is taken and what to do', async (option) => {
    const [port = 0] = await freePorts(1);
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(port, '127.0.0.1', resolve));
    await expect(start({ [option]: port, headless: false })).rejects.toMatchObject({
      code: 'server_failed',
      message: `port ${port} is taken`,
      hint: expect.stringContaining('Choose another port'),
    });
    await new Promise((resolve) => holder.close(resolve));
  });

  const failing = (...lines: string[]): Promise<RunningServer> =>
    startServer({ binary: writeScript(join(scratch(), 'temporal'), ...lines), dbFile: dbFile() });

  it('ends with the last lines of a server that died', async () => {
    await expect(failing('echo "database is malformed" >&2', 'exit 7')).rejects.toMatchObject({
      code: 'server_failed',
      message: expect.stringMatching(/ended at once with code 7\ndatabase is malformed/),
    });
    expect(existsSync(`${dbFile()}.server.json`)).toBe(false);
  });

  it('draws new ports when the ones it drew were taken meanwhile, but not endlessly', async () => {
    const count = join(scratch(), 'count');
    await expect(
      failing(`echo x >>${count}`, 'echo "listen: address already in use"; exit 1'),
    ).rejects.toMatchObject({
      message: expect.stringContaining('address already in use'),
    });
    expect(readFileSync(count, 'utf8').trim().split('\n')).toHaveLength(5);
  });

  it('says that the binary cannot be started', async () => {
    const starting = startServer({ binary: join(scratch(), 'missing'), dbFile: dbFile() });
    await expect(starting).rejects.toMatchObject({
      code: 'server_failed',
      message: expect.stringContaining('cannot be started'),
    });
  });

  it('says that a file is not a database', async () => {
    const file = join(scratch(), 'text.db');
    writeFileSync(
      file,
      'this is no database, and it is longer than a header of SQLite would be. '.repeat(20),
    );
    await expect(start({ dbFile: file })).rejects.toMatchObject({ code: 'server_failed' });
  });
});
