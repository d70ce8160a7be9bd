import { rm } from 'node:fs/promises';
import { CountersignError } from '../contract/errors';
import { cachedBinary, cacheDirectory } from './cache';
import type { Attempt, BinaryEngine, Progress, Route } from './engine';
import { probeBinary } from './probe';

/**
 * `COUNTERSIGN_TEMPORAL_CLI`, a path. A setting that does not work stops the search: whoever set it means that binary.
 * @throws CountersignError `no_server`
 */
export const settingRoute = (env: NodeJS.ProcessEnv): Route => ({
  name: 'setting',
  acquires: false,
  attempt: async (): Promise<Attempt> => {
    const binary = env['COUNTERSIGN_TEMPORAL_CLI'];
    if (!binary) return { missed: 'COUNTERSIGN_TEMPORAL_CLI is not set', absent: true };
    const attempt = await tryBinary({ binary, route: 'setting', env });
    if ('engine' in attempt) return attempt;
    throw new CountersignError('no_server', `COUNTERSIGN_TEMPORAL_CLI does not work: ${attempt.missed}`, {
      hint: "Set it to the path of Temporal's command line, or unset it.",
    });
  },
});

/** `temporal` on PATH. */
export const pathRoute = (env: NodeJS.ProcessEnv): Route => ({
  name: 'path',
  acquires: false,
  attempt: async (): Promise<Attempt> => {
    const attempt = await tryBinary({ binary: 'temporal', route: 'path', env });
    return isAbsent(attempt) ? { missed: 'temporal is not on PATH', absent: true } : attempt;
  },
});

/** What an earlier run downloaded or built. A binary that no longer runs is removed, so that it is got again. */
export const cacheRoute = (env: NodeJS.ProcessEnv, progress: Progress): Route => ({
  name: 'cache',
  acquires: false,
  attempt: async (): Promise<Attempt> => {
    const binary = cachedBinary(cacheDirectory(env));
    const attempt = await tryBinary({ binary, route: 'cache', env });
    if ('engine' in attempt) return attempt;
    if (isAbsent(attempt)) return { missed: `nothing is cached at ${binary}`, absent: true };
    progress(`removing a broken binary: ${attempt.missed}`);
    await rm(binary, { force: true });
    return attempt;
  },
});

interface Candidate {
  binary: string;
  route: BinaryEngine['route'];
  env: NodeJS.ProcessEnv;
}

const tryBinary = async ({ binary, route, env }: Candidate): Promise<Attempt> => {
  const probe = await probeBinary(binary, env);
  return 'missed' in probe ? probe : { engine: { kind: 'binary', binary, version: probe.version, route } };
};

const isAbsent = (attempt: Attempt): boolean => 'missed' in attempt && attempt.absent === true;
