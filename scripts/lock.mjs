import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { at, say } from './root.mjs';

const lockFile = at('.countersign', 'bootstrap.lock');
const POLL_MS = 200;
const SAY_EVERY_MS = 5_000;
const UNREADABLE_MS = 10_000;

/** One process at a time installs and builds; the lock of a dead process is taken over. */
export const withLock = async (body) => {
  mkdirSync(dirname(lockFile), { recursive: true });
  let saidAt = 0;
  while (!create(lockFile)) {
    if (takeOver()) continue;
    if (Date.now() - saidAt > SAY_EVERY_MS) {
      say('another process installs or builds here; waiting for it');
      saidAt = Date.now();
    }
    await delay(POLL_MS);
  }
  try {
    return await body();
  } finally {
    rmSync(lockFile, { force: true });
  }
};

const create = (file) => {
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
};

/** The guard lets one process at a time judge a lock, so that no living one is removed. */
const takeOver = () => {
  if (!isStale()) return false;
  const guard = `${lockFile}.guard`;
  if (!create(guard)) {
    if (ageOf(guard) > UNREADABLE_MS) rmSync(guard, { force: true });
    return false;
  }
  try {
    if (isStale()) rmSync(lockFile, { force: true });
    return true;
  } finally {
    rmSync(guard, { force: true });
  }
};

const isStale = () => {
  try {
    const pid = Number(readFileSync(lockFile, 'utf8'));
    return pid > 0 ? !isAlive(pid) : ageOf(lockFile) > UNREADABLE_MS;
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
};

const ageOf = (file) => {
  try {
    return Date.now() - statSync(file).mtimeMs;
  } catch {
    return 0;
  }
};

const isAlive = (pid) => {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === 'EPERM';
  }
};
