import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { cachedBinary, cacheDirectory, installBinary } from './cache';
import type { Attempt, Progress, Route } from './engine';
import { describeError, run } from './run';
import { every } from './ticker';
import { CLI_VERSION } from './version';

/** Temporal's own download service: the one the SDK's test environment asks, in the same words. */
export const DOWNLOAD_SERVICE = 'https://temporal.download';

/** What the download route needs. */
export interface DownloadOptions {
  env: NodeJS.ProcessEnv;
  progress: Progress;
  /** @default DOWNLOAD_SERVICE */
  service?: string;
}

const CONNECT_MS = 10_000;
const STALLED_MS = 30_000;
const MIB = 1024 * 1024;

const Info = z.object({ archiveUrl: z.url(), fileToExtract: z.string().regex(/^[\w./-]+$/) });

/** Downloads the official binary into the cache, as the SDK's downloader does, but checked and with progress. */
export const downloadRoute = (options: DownloadOptions): Route => ({
  name: 'download',
  acquires: true,
  attempt: async (): Promise<Attempt> => {
    const directory = cacheDirectory(options.env);
    try {
      const make = (staging: string): Promise<string> => fetchInto(staging, options);
      const binary = await installBinary({ directory, progress: options.progress, make });
      return { engine: { kind: 'binary', binary, version: CLI_VERSION, route: 'download' } };
    } catch (error) {
      return { missed: `the download to ${cachedBinary(directory)} failed: ${describeError(error)}` };
    }
  },
});

const fetchInto = async (staging: string, options: DownloadOptions): Promise<string> => {
  const service = options.service ?? DOWNLOAD_SERVICE;
  options.progress(`asking ${service} for Temporal ${CLI_VERSION}`);
  const info = Info.parse(await (await get(infoUrl(service))).json());
  const archive = join(staging, 'archive.tar.gz');
  await save(info.archiveUrl, archive, options.progress);
  return unpack(archive, staging, info.fileToExtract);
};

const infoUrl = (service: string): string => {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch;
  return `${service}/cli/v${CLI_VERSION}?arch=${arch}&platform=${process.platform}&format=tar.gz`;
};

const get = async (url: string): Promise<Response> => {
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(new Error(`no answer from ${new URL(url).host}`)), CONNECT_MS);
  try {
    const response = await fetch(url, { signal: abort.signal });
    if (!response.ok) throw new Error(`${new URL(url).host} answers ${response.status}`);
    return response;
  } finally {
    clearTimeout(timer);
  }
};

const save = async (url: string, file: string, progress: Progress): Promise<void> => {
  const response = await get(url);
  const total = Number(response.headers.get('content-length') ?? 0);
  const abort = new AbortController();
  let [bytes, movedAt] = [0, Date.now()];
  const count = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length;
      movedAt = Date.now();
      done(null, chunk);
    },
  });
  const ticker = every(2_000, () => {
    if (Date.now() - movedAt > STALLED_MS) abort.abort(new Error('the download stalled'));
    else
      progress(
        `downloading Temporal ${CLI_VERSION}: ${toMib(bytes)}${total > 0 ? ` of ${toMib(total)}` : ''}`,
      );
  });
  try {
    if (response.body === null) throw new Error('the download is empty');
    await pipeline(Readable.fromWeb(response.body), count, createWriteStream(file), { signal: abort.signal });
  } finally {
    ticker.stop();
  }
};

const toMib = (bytes: number): string => `${(bytes / MIB).toFixed(0)} MiB`;

/** tar is part of every Linux and macOS; gzip's checksum tells a broken archive. */
const unpack = async (archive: string, directory: string, file: string): Promise<string> => {
  const { code, lines } = await run('tar', ['-xzf', archive, '-C', directory, file]);
  if (code !== 0) throw new Error(`the archive is damaged: ${lines.slice(-2).join(' ')}`);
  return join(directory, file);
};
