import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { lstat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import {
  atLeast,
  cachedBinary,
  cacheDirectory,
  CLI_VERSION,
  findVersion,
  GO_OLDEST,
  installBinary,
} from './install-binary';
import type { Attempt, Progress, EngineRoute } from './engine';
import { describeError, run, type RunResult } from './run';
import { errnoOf } from '../contract/errors';
import { MIB } from '../contract/limits';
import { isPlainLocal } from '../system/loopback';
import { outgoingFetch, proxyFault, proxyFor } from '../system/proxies';

/** Temporal's own download service. The SDK's test environment asks it in the same way. */
const DOWNLOAD_SERVICE = 'https://temporal.download';

/**
 * The SHA-256 of each archive of that release, from its checksums.txt. The keys are platform and architecture, as the
 * download service names them. Change these values together with `CLI_VERSION`.
 */
export const CLI_ARCHIVES: Readonly<Record<string, string>> = {
  'linux amd64': 'd8421bda989e6514b4bdb4d63a9012a8a05a806892e881a5aad8510496349a94',
  'linux arm64': '83600a8fac6e3da54093e5da6918d399f501532b9f1172235603f9606f4ac6e4',
  'darwin amd64': '489d7f5420cae02b559774ac23df035141954c33a51dba96f5759a0ddccdf1b6',
  'darwin arm64': 'dacdc3587682c04cf27e67c8878ca2d755230b6ad63c0c6ebddd7348ae90ed94',
};

/** The options of both routes. */
interface RouteOptions {
  env: NodeJS.ProcessEnv;
  progress: Progress;
  /**
   * The service and the archive of a test, in place of `DOWNLOAD_SERVICE` and the pinned archives. No setting of a user
   * reaches this option.
   */
  test?: { service: string; sha256: string };
}

const CONNECT_MS = 10_000;
const STALLED_MS = 30_000;
const MOST_REDIRECTS = 5;
/** The most bytes of a download: about ten times the size of an archive. */
const MOST_BYTES = 512 * MIB;

/** `fileToExtract` is a relative path that leads down and that no program mistakes for an option. */
const Info = z.object({
  archiveUrl: z.url(),
  fileToExtract: z.string().regex(/^(?!.*(^|\/)\.\.?(\/|$))\w[\w.-]*(\/[\w.-]+)*$/),
});

/**
 * Downloads the official binary into the cache. Unlike the SDK's downloader, this route shows progress, uses https
 * only, and unpacks only an archive whose SHA-256 is pinned here.
 */
export const downloadRoute = (options: RouteOptions): EngineRoute => ({
  acquires: true,
  attempt: () => acquire('download', options, fetchInto),
});

const TRIED = { download: 'the download to', go: 'building with Go to' };

/** Gets the binary into the cache. `make` makes it in a folder of its own, and returns its path. Never throws. */
const acquire = async (
  route: 'download' | 'go',
  options: RouteOptions,
  make: (staging: string, options: RouteOptions) => Promise<string>,
): Promise<Attempt> => {
  const { env, progress } = options;
  const directory = cacheDirectory(env);
  try {
    const binary = await installBinary({
      directory,
      progress,
      make: (staging) => make(staging, options),
    });
    return { engine: { kind: 'binary', binary, version: CLI_VERSION, route } };
  } catch (error) {
    const why = [describeError(error), proxyFault(error)?.hint].filter(Boolean).join('. ');
    return { missed: `${TRIED[route]} ${cachedBinary(directory)} failed: ${why}` };
  }
};

const fetchInto = async (staging: string, options: RouteOptions): Promise<string> => {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  const wanted = options.test?.sha256 ?? CLI_ARCHIVES[`${process.platform} ${arch}`];
  if (wanted === undefined) throw new Error(`no SHA-256 is pinned for ${process.platform} on ${arch}`);
  const service = options.test?.service ?? DOWNLOAD_SERVICE;
  const isTest = options.test !== undefined;
  options.progress(`asking ${service} for Temporal ${CLI_VERSION}`);
  const query = `?arch=${arch}&platform=${process.platform}&format=tar.gz`;
  const asked = await get(`${service}/cli/v${CLI_VERSION}${query}`, isTest);
  const info = Info.parse(await asked.json());
  const archive = join(staging, 'archive.tar.gz');
  const found = await save(await get(info.archiveUrl, isTest), archive, options.progress);
  if (found !== wanted)
    throw new Error(`the archive has the SHA-256 ${found} and not ${wanted}, so it is not unpacked`);
  return unpack(archive, staging, info.fileToExtract);
};

/** Follows redirects itself, because each URL must be https or, in a test, name a server on this machine. */
const get = async (first: string, isTest: boolean): Promise<Response> => {
  let url = new URL(first);
  for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
    const isHere = isTest && isPlainLocal(url);
    if (url.protocol !== 'https:' && !isHere) throw new Error(`${url.origin} is not https`);
    const response = await ask(url);
    const to = response.headers.get('location');
    if (response.ok) return response;
    if (response.status < 300 || response.status > 399 || to === null)
      throw new Error(`${url.host} answers ${response.status}`);
    await response.body?.cancel();
    url = new URL(to, url);
  }
  throw new Error(`${new URL(first).host} redirects more than ${MOST_REDIRECTS} times`);
};

const ask = async (url: URL): Promise<Response> => {
  const abort = new AbortController();
  const proxy = proxyFor(url);
  const asked =
    proxy === undefined ? url.host : `${url.host} through the proxy ${proxy.url.host} of ${proxy.name}`;
  const timer = setTimeout(() => abort.abort(new Error(`no answer from ${asked}`)), CONNECT_MS);
  try {
    return await outgoingFetch(url, { signal: abort.signal, redirect: 'manual' });
  } finally {
    clearTimeout(timer);
  }
};

/** Writes a body to a file, and returns its SHA-256. */
const save = async (response: Response, file: string, progress: Progress): Promise<string> => {
  const hash = createHash('sha256');
  const total = Number(response.headers.get('content-length') ?? 0);
  const abort = new AbortController();
  let [bytes, movedAt] = [0, performance.now()];
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      movedAt = performance.now();
      hash.update(chunk);
      done(bytes > MOST_BYTES ? new Error(`the archive has over ${toMib(MOST_BYTES)}`) : null, chunk);
    },
  });
  const ticker = setInterval(() => {
    if (performance.now() - movedAt > STALLED_MS) abort.abort(new Error('the download stalled'));
    else
      progress(
        `downloading Temporal ${CLI_VERSION}: ${toMib(bytes)}${total > 0 ? ` of ${toMib(total)}` : ''}`,
      );
  }, 2_000);
  try {
    if (response.body === null) throw new Error('the download is empty');
    await pipeline(Readable.fromWeb(response.body), count, createWriteStream(file), { signal: abort.signal });
    return hash.digest('hex');
  } finally {
    clearInterval(ticker);
  }
};

const toMib = (bytes: number): string => `${(bytes / MIB).toFixed(0)} MiB`;

/** tar is part of every Linux and macOS; gzip's checksum detects a broken archive. */
const unpack = async (archive: string, directory: string, file: string): Promise<string> => {
  const { code, lines } = await run('tar', ['-xzf', archive, '-C', directory, '--', file]);
  if (code !== 0) throw new Error(`the archive is damaged: ${lines.slice(-2).join(' ')}`);
  const unpacked = join(directory, file);
  if (!(await lstat(unpacked)).isFile()) throw new Error(`the archive is damaged: ${file} is not a file`);
  return unpacked;
};

const PACKAGE = 'github.com/temporalio/cli/cmd/temporal';
const SAY_EVERY_MS = 3_000;

/**
 * The go.mod of a main module that builds the official package unchanged. `go install` refuses that package, because
 * its go.mod has a replace directive, which Go honours in the main module only. This go.mod repeats the directive.
 */
const GO_MODULE = `module countersign/temporal

go ${GO_OLDEST}

require github.com/temporalio/cli v${CLI_VERSION}

replace github.com/temporalio/cli/cliext v0.0.0 => github.com/temporalio/cli/cliext v0.0.0-20260731000218-c579925f193f

tool ${PACKAGE}
`;

/** The last route: builds the official command line from its published source. */
export const goRoute = (options: RouteOptions): EngineRoute => ({
  acquires: true,
  attempt: async (): Promise<Attempt> => {
    const unfit = await whyGoIsUnfit(options.env);
    return unfit === undefined ? acquire('go', options, buildInto) : { missed: unfit };
  },
});

const whyGoIsUnfit = async (env: NodeJS.ProcessEnv): Promise<string | undefined> => {
  try {
    const version = findVersion((await run('go', ['version'], { env, timeoutMs: 20_000 })).lines.join(' '));
    if (version === undefined) return 'go version cannot be read';
    return atLeast(version, GO_OLDEST)
      ? undefined
      : `Go ${version} is too old to build it; ${GO_OLDEST} or newer is needed`;
  } catch (error) {
    return errnoOf(error) === 'ENOENT' ? 'Go is not installed' : `Go cannot be run: ${describeError(error)}`;
  }
};

const buildInto = async (staging: string, { env, progress }: RouteOptions): Promise<string> => {
  progress(
    `building Temporal ${CLI_VERSION} with Go, once: 3 to 4 minutes on a small machine, seconds if Go has it cached`,
  );
  await writeFile(join(staging, 'go.mod'), GO_MODULE);
  const output = join(staging, 'temporal');
  const linking = `-s -w -X github.com/temporalio/cli/internal/temporalcli.Version=${CLI_VERSION}`;
  const { code, signal, lines } = await runGo(
    'build',
    ['-mod=mod', '-o', output, '-ldflags', linking, PACKAGE],
    { env, progress, cwd: staging },
  );
  if (code === 0) return output;
  if (lines.some((line) => line.includes('no space left on device'))) throw new Error('the disk is full');
  throw new Error(signal === null ? lines.slice(-3).join(' ') : `ended by ${signal}`);
};

/**
 * Flags with which Go's compilers take a fourth less: no debug information, which `-s` drops in any case, and functions
 * inlined only where a dev server spends its time. What is built with the same flags shares one cache.
 */
const CHEAP = [
  ...['-v', '-trimpath', '-gcflags=all=-dwarf=false -l'],
  ...['std', 'modernc.org/...', 'google.golang.org/...'].map((hot) => `-gcflags=${hot}=-dwarf=false`),
];

/** Runs `go build` or `go install`, and says how far it is. No C compiler is needed. */
export const runGo = async (
  command: 'build' | 'install',
  args: string[],
  { env, progress, cwd }: RouteOptions & { cwd?: string },
): Promise<RunResult> => {
  const startedAt = performance.now();
  const counts = { modules: 0, packages: 0 };
  const onLine = (line: string) =>
    void counts[line.startsWith('go: downloading ') ? 'modules' : 'packages']++;
  const say = () => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    progress(
      `building with Go: ${counts.modules} modules fetched, ${counts.packages} packages compiled, ${seconds} s`,
    );
  };
  const ticker = setInterval(say, SAY_EVERY_MS);
  try {
    const result = await run('go', [command, ...CHEAP, ...args], {
      cwd,
      // Each compiler frees memory only once it has this much.
      env: { GOGC: 'off', GOMEMLIMIT: '700MiB', ...env, CGO_ENABLED: '0' },
      onLine,
    });
    say();
    return result;
  } finally {
    clearInterval(ticker);
  }
};
