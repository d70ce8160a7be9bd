import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { RequestListener, Server } from 'node:http';
import { join } from 'node:path';
import { downloadRoute } from '../../src/engine/download';
import { fakeTemporal, scratchDirectory, writeScript } from '../support/scratch';

const scratch = scratchDirectory();
let server: Server | undefined;
let service = '';

/** Starts a download service with these answers, on a free port. */
const serve = async (listener: RequestListener): Promise<void> => {
  const started = createServer(listener);
  server = started;
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve));
  const address = started.address();
  service = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
};

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  server = undefined;
});

const attempt = (said: string[] = []): ReturnType<ReturnType<typeof downloadRoute>['attempt']> =>
  downloadRoute({
    env: { XDG_CACHE_HOME: join(scratch(), 'cache') },
    service,
    progress: (line) => said.push(line),
  }).attempt();

const cached = (): string[] => readdirSync(join(scratch(), 'cache/countersign/temporal-1.8.2'));

const archiveOf = (make: (path: string) => void): Buffer => {
  const directory = join(scratch(), 'archive');
  mkdirSync(directory);
  make(join(directory, 'temporal'));
  execFileSync('tar', ['-czf', join(scratch(), 'a.tar.gz'), '-C', directory, 'temporal']);
  return readFileSync(join(scratch(), 'a.tar.gz'));
};

/** The service's two answers: where the archive is, and the archive. */
const answer = (archive: () => Buffer, file = 'temporal'): RequestListener => {
  return (request, response) => {
    if (request.url?.startsWith('/cli/') === true)
      response.end(JSON.stringify({ archiveUrl: `${service}/a.tar.gz`, fileToExtract: file }));
    else response.end(archive());
  };
};

it('fetches the binary for this machine into the cache', async () => {
  const asked: (string | undefined)[] = [];
  const archive = archiveOf((path) => fakeTemporal(path));
  const listener = answer(() => archive);
  await serve((request, response) => {
    asked.push(request.url);
    listener(request, response);
  });
  const binary = join(scratch(), 'cache/countersign/temporal-1.8.2/temporal');
  expect(await attempt()).toEqual({
    engine: { kind: 'binary', binary, version: '1.8.2', route: 'download' },
  });
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  expect(asked).toEqual([`/cli/v1.8.2?arch=${arch}&platform=${process.platform}&format=tar.gz`, '/a.tar.gz']);
  expect(cached()).toEqual(['temporal']);
});

const broken = (): RequestListener => answer(() => Buffer.from('this is no archive'));
const cut = (): RequestListener => {
  const whole = archiveOf((path) => fakeTemporal(path));
  return answer(() => whole.subarray(0, whole.length - 20));
};

it.each<[string, () => RequestListener, RegExp]>([
  ['answers 500', () => (_request, response) => void response.writeHead(500).end(), /answers 500/],
  ['answers nonsense', () => (_request, response) => void response.end('<html>'), /JSON/],
  ['names no archive', () => (_request, response) => void response.end('{}'), /archiveUrl/],
  ['names a file with a strange path', () => answer(() => Buffer.alloc(0), 'a b;c'), /fileToExtract/],
  ['sends what is no archive', broken, /the archive is damaged/],
  ['sends half an archive', cut, /damaged|does not run/],
  [
    'sends an archive without the file',
    () => {
      const archive = archiveOf((path) => fakeTemporal(path));
      return answer(() => archive, 'other');
    },
    /the archive is damaged/,
  ],
  [
    'sends a binary that does not run',
    () => {
      const archive = archiveOf((path) => writeScript(path, 'exit 1'));
      return answer(() => archive);
    },
    /does not run/,
  ],
  [
    'hangs up',
    () => (request) => void request.socket.destroy(),
    /failed: (other side closed|.*ECONNRESET|socket hang up)/,
  ],
])('says so when the service %s, and caches nothing', async (_what, listener, message) => {
  await serve(listener());
  expect(await attempt()).toEqual({ missed: expect.stringMatching(message) });
  expect(cached()).toEqual([]);
});

it('says so at once when there is no such host', async () => {
  service = 'http://127.0.0.1:1';
  expect(await attempt()).toEqual({
    missed: expect.stringMatching(/the download to .* failed: (bad port|.*ECONNREFUSED)/),
  });
});
