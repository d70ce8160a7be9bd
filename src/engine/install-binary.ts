import { chmod, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Miss, Progress } from './engine';
import { errnoOf } from '../contract/errors';
import { describeError, run } from './run';
import { userCacheDir } from '../system/files';
import { withLock } from '../system/lock';

/** The release of Temporal's command line that we download or build. Change `CLI_ARCHIVES` together with it. */
export const CLI_VERSION = '1.8.2';

/** The oldest command line whose server is known to reset and pause activities. Calls in doubt rely on both. */
export const CLI_OLDEST = '1.4.0';

/** The oldest Go that can build the command line, from its go.mod. */
export const GO_OLDEST = '1.26.4';

/**
 * The first version number in a text such as `temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)` or
 * `go version go1.26.8 linux/amd64`. Undefined when there is none.
 */
export const findVersion = (text: string): string | undefined => /\d+\.\d+(?:\.\d+)?/.exec(text)?.[0];

/** True if `version` is `oldest` or newer. A missing part of a version counts as 0. */
export const atLeast = (version: string, oldest: string): boolean => {
  const [have, need] = [parts(version), parts(oldest)];
  const first = need.findIndex((part, index) => (have[index] ?? 0) !== part);
  return first === -1 || (have[first] ?? 0) > (need[first] ?? 0);
};

const parts = (version: string): number[] => version.split('.').map(Number);

/** The version that `temporal --version` printed, or why the binary cannot be used. */
type Probe = { version: string } | Miss;

/** The longest time that `--version` may take: a cold disk is slow, and a wrapper may hang. */
const PROBE_MS = 20_000;

/** Runs `<binary> --version` and judges the answer. Never throws. */
export const probeBinary = async (binary: string, env: NodeJS.ProcessEnv = process.env): Promise<Probe> => {
  try {
    const { code, lines } = await run(binary, ['--version'], { env, timeoutMs: PROBE_MS });
    return code === 0
      ? judge(binary, lines.join(' '))
      : { missed: `${binary} --version failed: ${lines.slice(-3).join(' ') || 'it printed nothing'}` };
  } catch (error) {
    return whyNotStarted(binary, error);
  }
};

const judge = (binary: string, text: string): Probe => {
  const version = /temporal version/i.test(text) ? findVersion(text) : undefined;
  if (version === undefined)
    return { missed: `${binary} is not Temporal's command line: it answers "${text.slice(0, 80)}"` };
  if (!atLeast(version, CLI_OLDEST))
    return { missed: `${binary} is version ${version}; ${CLI_OLDEST} or newer is needed` };
  return { version };
};

const whyNotStarted = (binary: string, error: unknown): Miss => {
  const code = errnoOf(error);
  if (code === 'ENOENT') return { missed: `${binary} does not exist`, absent: true };
  if (code === 'EACCES') return { missed: `${binary} may not be run (permission denied)` };
  return { missed: `${binary} cannot be run: ${describeError(error)}` };
};

/** The directory of our binary, among what this user's programs can make again. */
export const cacheDirectory = (env: NodeJS.ProcessEnv, platform?: NodeJS.Platform): string =>
  join(userCacheDir(env, platform), `temporal-${CLI_VERSION}`);

/** The path of the complete binary. */
export const cachedBinary = (directory: string): string => join(directory, 'temporal');

/** The options for putting a binary into the cache. */
interface Installation {
  /** The directory that `cacheDirectory` returned. */
  directory: string;
  progress: Progress;
  /** Makes the binary inside `staging`, a fresh directory, and returns its path. */
  make: (staging: string) => Promise<string>;
}

/**
 * Makes the binary in a staging directory, runs it once, and renames it into place, so that other processes see the
 * complete binary or none. One process at a time makes the binary. The others wait and then use that binary.
 * @throws the errors of `make`, and an Error if the binary does not run.
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
  if ('missed' in probe) throw new Error(`the new binary does not run: ${probe.missed}`);
  await rename(made, target);
};

/**
 * A killed process leaves its staging directory behind. We hold the lock, so no other process uses such a directory.
 */
const removeLeftovers = async (directory: string): Promise<void> => {
  const names = (await readdir(directory)).filter((name) => name.startsWith(STAGING));
  await Promise.all(names.map((name) => rm(join(directory, name), { recursive: true, force: true })));
};
