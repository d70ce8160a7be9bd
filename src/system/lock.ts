import { rm, stat, writeFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { errnoOf } from '../contract/errors';
import { readIfThere, unlessMissing } from './files';

/** How to wait for a lock. */
interface LockOptions {
  /** Called with a line now and then while another process holds the lock. */
  progress: (line: string) => void;
  /** What the other process does, in words such as "Temporal is being fetched". */
  what: string;
}

const POLL_MS = 100;
const SAY_EVERY_MS = 5_000;
/**
 * The age from which a guard counts as left by a crash, in milliseconds. Taking over a lock takes only a few system
 * calls.
 */
const GUARD_STALE_MS = 10_000;

/**
 * Runs `body` while it holds the lock, a file at `path` that names our process. A lock of a dead process is taken over.
 */
export const withLock = async <T>(path: string, options: LockOptions, body: () => Promise<T>): Promise<T> => {
  await acquire(path, options);
  try {
    return await body();
  } finally {
    await rm(path, { force: true });
  }
};

const acquire = async (path: string, { progress, what }: LockOptions): Promise<void> => {
  let saidAt = -Infinity;
  while (!(await create(path))) {
    if (await takeOver(path)) continue;
    if (performance.now() - saidAt > SAY_EVERY_MS) {
      progress(`${what} by another process; waiting for it (${path})`);
      saidAt = performance.now();
    }
    await delay(POLL_MS);
  }
};

const create = async (path: string): Promise<boolean> => {
  try {
    await writeFile(path, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') return false;
    // A full disk leaves an empty file, which would not name its owner.
    await rm(path, { force: true });
    throw error;
  }
};

/**
 * Removes a lock whose process is dead. Only one process at a time holds the guard and decides this, so a held lock is
 * never removed.
 */
const takeOver = async (path: string): Promise<boolean> => {
  if (!(await isStale(path))) return false;
  const guard = `${path}.guard`;
  if (!(await create(guard))) {
    if ((await ageOf(guard)) > GUARD_STALE_MS) await rm(guard, { force: true });
    return false;
  }
  try {
    if (await isStale(path)) await rm(path, { force: true });
    return true;
  } finally {
    await rm(guard, { force: true });
  }
};

const isStale = async (path: string): Promise<boolean> => {
  const text = await readIfThere(path);
  if (text === undefined) return false;
  const pid = Number(text);
  // The file is empty: its owner is about to write to it, or died before that.
  if (!Number.isInteger(pid) || pid <= 0) return (await ageOf(path)) > GUARD_STALE_MS;
  return !isAlive(pid);
};

const ageOf = async (path: string): Promise<number> => {
  const facts = await unlessMissing(stat(path));
  return facts === undefined ? 0 : Date.now() - facts.mtimeMs;
};

/** Whether a process with this id exists, whoever owns it. */
export const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) === 'EPERM';
  }
};
