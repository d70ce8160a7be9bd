import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { link, lstat, open, rename, unlink } from 'node:fs/promises';
import { ToolError } from '../errors';
import { codeOf } from './errno';
import type { Place } from './root';

const TEMP = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Puts bytes in place so that anyone who looks, and any crash, finds the old file or the new one whole. `replaced` is the
 * file that gives way and that the bytes were made from; without it, the file is new and the name has to be free. Other
 * names of a replaced file (hard links) keep the old bytes.
 *
 * @throws ToolError `conflict` where the name is taken, or the replaced file was touched since it was read.
 */
export async function writeAtomic(place: Place, bytes: Uint8Array, replaced?: Stats): Promise<void> {
  const name = `.countersign-${randomBytes(12).toString('hex')}.tmp`;
  const temp = place.folder.at(name);
  const handle = await open(temp, TEMP, 0o600);
  try {
    try {
      await place.folder.confirm(name, await handle.stat());
      await handle.writeFile(bytes);
      await handle.chmod(modeOf(replaced));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await place.folder.verify();
    await (replaced === undefined ? putNew(temp, place) : putOver(temp, place, replaced));
  } catch (error) {
    await unlink(temp).catch(ignoreMissing);
    throw error;
  }
  await place.folder.sync();
}

/** A replaced file keeps its permissions, but no write gains a set-user or set-group bit. */
function modeOf(replaced: Stats | undefined): number {
  return replaced === undefined ? 0o644 & ~process.umask() : replaced.mode & 0o777;
}

async function putOver(temp: string, place: Place, replaced: Stats): Promise<void> {
  const now = await lstat(place.at);
  const same = FACTS.every((fact) => now[fact] === replaced[fact]);
  if (!same)
    throw new ToolError(`"${place.shown}" changed just now; nothing was written.`, { code: 'conflict' });
  await rename(temp, place.at);
}

const FACTS = ['dev', 'ino', 'size', 'mtimeMs', 'ctimeMs'] as const;

/** Of file systems that have no hard links. */
const NO_LINKS: readonly (string | undefined)[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/** `link` fails where the name is taken; `rename` would replace it. */
async function putNew(temp: string, place: Place): Promise<void> {
  await nameAnew(temp, place);
  await unlink(temp).catch(ignoreMissing);
}

/**
 * Gives a file a name that has to be free; its old name stays, except where the file system has no hard links.
 *
 * @throws ToolError `conflict` where the name is taken.
 */
export async function nameAnew(from: string, to: Place): Promise<void> {
  try {
    await link(from, to.at);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw taken(to, error);
    if (!NO_LINKS.includes(codeOf(error))) throw error;
    if (await isTaken(to)) throw taken(to, error);
    await rename(from, to.at);
  }
}

async function isTaken(place: Place): Promise<boolean> {
  try {
    await lstat(place.at);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

function taken({ shown }: Place, cause: unknown): ToolError {
  return new ToolError(`"${shown}" exists by now; nothing was changed. Choose another name.`, {
    code: 'conflict',
    cause,
  });
}

/** Nothing to remove is what removing is for. */
export function ignoreMissing(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error;
}
