import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { CLI_ARCHIVES, downloadRoute, goRoute } from '../../src/engine/download-or-build';
import { CLI_VERSION } from '../../src/engine/install-binary';
import { ownProxyVariables, type ProxyAnswers, startHttpProxy } from '../support/http-proxy';
import { fakeTemporal, scratchDirectory, writeScript } from '../support/scratch';

ownProxyVariables();
const scratch = scratchDirectory();
let server: Server | undefined;
let service = '';
/** The digest that is pinned: that of the last archive that was made, unless a test says otherwise. */
let sha256 = '';

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
    test: { service, sha256 },
    progress: (line) => said.push(line),
  }).attempt();

const cached = (): string[] => readdirSync(join(scratch(), 'cache/countersign/temporal-1.8.2'));

const pin = (bytes: Buffer): Buffer => {
  sha256 = createHash('sha256').update(bytes).digest('hex');
  return bytes;
};

const archiveOf = (make: (path: string) => void): Buffer => {
  const directory = join(scratch(), 'archive');
  mkdirSync(directory);
  make(join(directory, 'temporal'));
  execFileSync('tar', ['-czf', join(scratch(), 'a.tar.gz'), '-C', directory, 'temporal']);
  return pin(readFileSync(join(scratch(), 'a.tar.gz')));
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

const broken = (): RequestListener => {
  const bytes = pin(Buffer.from('this is no archive'));
  return answer(() => bytes);
};
const cut = (): RequestListener => {
  const whole = archiveOf((path) => fakeTemporal(path));
  const half = pin(whole.subarray(0, whole.length - 20));
  return answer(() => half);
};

it.each<[string, () => RequestListener, RegExp]>([
  ['answers 500', () => (_request, response) => void response.writeHead(500).end(), /answers 500/],
  ['answers nonsense', () => (_request, response) => void response.end('<html>'), /JSON/],
  ['names no archive', () => (_request, response) => void response.end('{}'), /archiveUrl/],
  ['names a file with a strange path', () => answer(() => pin(Buffer.alloc(0)), 'a b;c'), /fileToExtract/],
  ['names a file above', () => answer(() => pin(Buffer.alloc(0)), 'a/../../temporal'), /fileToExtract/],
  ['names a file by its whole path', () => answer(() => pin(Buffer.alloc(0)), '/temporal'), /fileToExtract/],
  ['names an option', () => answer(() => pin(Buffer.alloc(0)), '--to-command=sh'), /fileToExtract/],
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
    'sends a link in the place of the file',
    () => {
      const archive = archiveOf((path) => symlinkSync('/bin/true', path));
      return answer(() => archive);
    },
    /is not a file/,
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

it('unpacks and runs nothing of an archive that is not the pinned one', async () => {
  const ran = join(scratch(), 'ran');
  const archive = archiveOf((path) => writeScript(path, `touch '${ran}'; echo temporal version 1.8.2`));
  await serve(answer(() => archive));
  sha256 = '0'.repeat(64);
  expect(await attempt()).toEqual({
    missed: expect.stringMatching(/has the SHA-256 [0-9a-f]{64} and not 0{64}, so it is not unpacked/),
  });
  expect(cached()).toEqual([]);
  expect(existsSync(ran)).toBe(false);
});

it.each<[string, (at: string) => string, RegExp]>([
  ['an archive by http', () => 'http://example.com/a.tar.gz', /http:\/\/example.com is not https/],
  ['a file', () => 'file:///etc/passwd', /is not https/],
  ['a redirect that leaves https', (at) => `${at}/leave`, /http:\/\/192.0.2.1 is not https/],
  ['redirects without end', (at) => `${at}/again`, /redirects more than 5 times/],
])('follows no %s', async (_what, archiveUrl, message) => {
  await serve((request, response) => {
    if (request.url?.startsWith('/cli/') === true)
      response.end(JSON.stringify({ archiveUrl: archiveUrl(service), fileToExtract: 'temporal' }));
    else
      response.writeHead(302, { location: request.url === '/leave' ? 'http://192.0.2.1/' : '/again' }).end();
  });
  expect(await attempt()).toEqual({ missed: expect.stringMatching(message) });
  expect(cached()).toEqual([]);
});

it('asks nobody but the official service by https, whatever the environment says', async () => {
  const asked: string[] = [];
  const fetched = jest.spyOn(globalThis, 'fetch').mockImplementation(async (url) => {
    asked.push(String(url));
    return new Response(null, { status: 302, headers: { location: 'http://127.0.0.1:1/' } });
  });
  const env = {
    XDG_CACHE_HOME: join(scratch(), 'cache'),
    COUNTERSIGN_DOWNLOAD: 'http://127.0.0.1:1',
    service: 'x',
  };
  const tried = await downloadRoute({ env, progress: () => undefined }).attempt();
  fetched.mockRestore();
  expect(tried).toEqual({ missed: expect.stringMatching(/http:\/\/127.0.0.1:1 is not https/) });
  expect(asked).toEqual([expect.stringMatching(/^https:\/\/temporal\.download\/cli\/v1\.8\.2\?/)]);
});

it('has a digest for each platform that the version is released for', () => {
  expect(CLI_VERSION).toBe('1.8.2');
  expect(Object.keys(CLI_ARCHIVES)).toEqual(['linux amd64', 'linux arm64', 'darwin amd64', 'darwin arm64']);
  for (const digest of Object.values(CLI_ARCHIVES)) expect(digest).toMatch(/^[0-9a-f]{64}$/);
});

it('says so at once when there is no such host', async () => {
  service = 'http://127.0.0.1:1';
  expect(await attempt()).toEqual({
    missed: expect.stringMatching(/the download to .* failed: (bad port|.*ECONNREFUSED)/),
  });
});

describe('behind a proxy', () => {
  let how: ProxyAnswers;
  let proxy: Awaited<ReturnType<typeof startHttpProxy>>;
  beforeEach(async () => {
    how = {};
    proxy = await startHttpProxy(how);
    process.env['http_proxy'] = proxy.url;
    service = 'http://127.0.0.1:4999';
  });
  afterEach(() => proxy.close());
  const named = (): string => `the proxy ${new URL(proxy.url).host} of http_proxy`;

  it('downloads through it', async () => {
    const archive = archiveOf((path) => fakeTemporal(path));
    how.answer = (request, response) => {
      request.url = new URL(request.url ?? '').pathname;
      answer(() => archive)(request, response);
    };
    expect(await attempt()).toMatchObject({ engine: { route: 'download' } });
    expect(proxy.asked).toEqual([
      expect.stringContaining(`GET ${service}/cli/v1.8.2?`),
      `GET ${service}/a.tar.gz`,
    ]);
  });

  it('says what the proxy wants', async () => {
    how.refuse = 407;
    const host = new URL(proxy.url).host;
    expect(await attempt()).toEqual({
      missed: expect.stringMatching(
        `${named()} wants a name .*HTTP 407.*; nothing was sent. Write http_proxy like http://name:password@${host}`,
      ),
    });
  });

  it('says which proxy cannot be reached', async () => {
    proxy.close();
    expect(await attempt()).toEqual({
      missed: expect.stringMatching(`${named()} cannot be reached .*; nothing was sent. Look at http_proxy`),
    });
  });

  it('says which proxy does not answer', async () => {
    const asked = new Promise<void>((resolve) => (how.answer = () => resolve()));
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'performance', 'Date'] });
    const tried = attempt();
    await asked;
    jest.advanceTimersByTime(10_000);
    expect(await tried).toEqual({
      missed: expect.stringMatching(`no answer from 127.0.0.1:4999 through ${named()}$`),
    });
    jest.useRealTimers();
  }, 20_000);
});

describe('go-build', () => {
  const scratch = scratchDirectory();
  const env = (): NodeJS.ProcessEnv => ({
    ...process.env,
    XDG_CACHE_HOME: join(scratch(), 'cache'),
    FAKE: scratch(),
    PATH: `${scratch()}:/usr/bin:/bin`,
  });

  /** A `go` that answers as the real one does; `build` are the lines of its build command. */
  const fakeGo = (version: string, ...build: string[]): string =>
    writeScript(
      join(scratch(), 'go'),
      'case "$1" in',
      `version) echo "go version go${version} linux/amd64" ;;`,
      `build) cp go.mod "$FAKE/seen.mod"; printf '%s\\n' "$@" >"$FAKE/seen.args"; while [ "$1" != -o ]; do shift; done; out=$2`,
      ...build,
      '  ;;',
      'esac',
    );

  const MAKE = `printf '#!/bin/sh\\necho temporal version 1.8.2\\n' >"$out"`;

  const attempt = (more = {}, said: string[] = []): ReturnType<ReturnType<typeof goRoute>['attempt']> =>
    goRoute({ env: { ...env(), ...more }, progress: (line) => said.push(line) }).attempt();

  const seen = (name: string): string[] =>
    readFileSync(join(scratch(), name), 'utf8').split('\n').filter(Boolean);

  it('builds the official module, with the replacement that its own go.mod has, and its version', async () => {
    fakeGo('1.26.8', `  ${MAKE}`);
    await attempt();
    expect(seen('seen.mod')).toEqual([
      'module countersign/temporal',
      'go 1.26.4',
      'require github.com/temporalio/cli v1.8.2',
      'replace github.com/temporalio/cli/cliext v0.0.0 => github.com/temporalio/cli/cliext v0.0.0-20260731000218-c579925f193f',
      'tool github.com/temporalio/cli/cmd/temporal',
    ]);
    const args = seen('seen.args');
    expect(args).toEqual(expect.arrayContaining(['build', '-v', '-mod=mod', '-trimpath', '-o']));
    expect(args.slice(-3)).toEqual([
      '-ldflags',
      '-s -w -X github.com/temporalio/cli/internal/temporalcli.Version=1.8.2',
      'github.com/temporalio/cli/cmd/temporal',
    ]);
  });

  it('builds into the cache and tells how far it is', async () => {
    const said: string[] = [];
    fakeGo('1.26.8', '  echo "go: downloading example.test/a v1" >&2; echo a >&2; echo b >&2', `  ${MAKE}`);
    const result = await attempt({}, said);
    expect(result).toEqual({
      engine: {
        kind: 'binary',
        binary: join(scratch(), 'cache/countersign/temporal-1.8.2/temporal'),
        version: '1.8.2',
        route: 'go',
      },
    });
    expect(said[0]).toMatch(/building Temporal 1.8.2 with Go, once: 3 to 4 minutes/);
    expect(said.at(-1)).toMatch(/1 modules fetched, 2 packages compiled/);
  });

  it.each([
    ['is not installed', () => undefined, /^Go is not installed$/],
    ['is too old', () => fakeGo('1.22.3'), /Go 1.22.3 is too old to build it; 1.26.4 or newer is needed/],
    ['tells no version', () => writeScript(join(scratch(), 'go'), 'true'), /version cannot be read/],
    [
      'cannot compile',
      () => fakeGo('1.26.8', '  echo "undefined: x" >&2; exit 1'),
      /building with Go to .* failed: undefined: x/,
    ],
    [
      'fills the disk',
      () => fakeGo('1.26.8', '  echo "write: no space left on device" >&2; echo more >&2; exit 1'),
      /failed: the disk is full/,
    ],
    ['is killed', () => fakeGo('1.26.8', '  kill -9 $$'), /ended by SIGKILL/],
    ['makes something that does not run', () => fakeGo('1.26.8', '  echo x >"$out"'), /does not run/],
  ])('says so when Go %s, and caches nothing', async (_what, go, message) => {
    // Of a machine that has Go, only the programs that ours needs are on PATH.
    expect(await attempt(go() === undefined ? { PATH: scratch() } : {})).toEqual({
      missed: expect.stringMatching(message),
    });
    expect(
      readdirSync(scratch()).includes('cache')
        ? readdirSync(join(scratch(), 'cache/countersign/temporal-1.8.2'))
        : [],
    ).toEqual([]);
  });
});
