import { mkdir, mkdtemp, readdir, rename, rm, chmod } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { withLock } from './lock';
import { probeBinary } from './probe';
import type { Progress } from './engine';
import { CLI_VERSION } from './version';

/** The directory of our binary: `XDG_CACHE_HOME`, or the system's own place for caches. */
export const cacheDirectory = (
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): string => {
  const home = env['HOME'] || homedir();
  const fallback = platform === 'darwin' ? join(home, 'Library', 'Caches') : join(home, '.cache');
  return join(env['XDG_CACHE_HOME'] || fallback, 'countersign', `temporal-${CLI_VERSION}`);
};

/** Where the binary lies once it is complete. */
export const cachedBinary = (directory: string): string => join(directory, 'temporal');

/** How a binary gets into the cache. */
export interface Installation {
  /** From `cacheDirectory`. */
  directory: string;
  progress: Progress;
  /** Makes the binary inside `staging`, a fresh directory, and returns its path. */
  make: (staging: string) => Promise<string>;
}

/**
 * Makes the binary in a staging directory, runs it once, and renames it into place: others see all of it or nothing.
 * One process at a time does so; those that waited find the binary there and make none.
 * @throws what `make` throws, and an Error when the binary does not run.
 */
export const installBinary = async ({ directory, progress, make }: Installation): Promise<string> => {
  await mkdir(directory, { recursive: true });
  return withLock(join(directory, '.lock'), { progress, what: 'Temporal is being fetched' }, async () => {
    const target = cachedBinary(directory);
    if ('version' in (await probeBinary(target))) return target;
    await removeLeftovers(directory);
    const staging = await mkdtemp(join(directory, STAGING));
    try {
      await putInPlace(await make(staging), target);
      return target;
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
  });
};

const STAGING = '.staging-';

const putInPlace = async (made: string, target: string): Promise<void> => {
  await chmod(made, 0o755);
  const probe = await probeBinary(made);
  if ('missed' in probe) throw new Error(`what was made does not run: ${probe.missed}`);
  await rename(made, target);
};

/** A process that was killed leaves its staging directory; with the lock held nobody else uses one. */
const removeLeftovers = async (directory: string): Promise<void> => {
  const names = (await readdir(directory)).filter((name) => name.startsWith(STAGING));
  await Promise.all(names.map((name) => rm(join(directory, name), { recursive: true, force: true })));
};
