import { randomBytes } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { link, lstat, open, opendir, rename, unlink, type FileHandle } from 'node:fs/promises';
import { isToolError, ToolError, TransportError } from '../errors';
import { errnoOf } from '../../contract/errors';
import type { FileLocation } from './root';

const TEMP = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

/**
 * Writes a file atomically: readers, also after a crash, find the complete old file or the complete new file.
 * `replaced` is the old file: the new bytes were made from it and replace it. Without `replaced`, the file is new and
 * the name has to be free. A file with several names (hard links) is not replaced, because its other names would keep
 * the old bytes.
 *
 * @throws ToolError `conflict` if the name is taken, or the replaced file was touched since it was read.
 * @throws TransportError if the system fails after the file has its new bytes.
 */
export async function writeAtomic(place: FileLocation, bytes: Uint8Array, replaced?: Stats): Promise<void> {
  requireOneName(place.shown, replaced);
  const name = privateName('tmp');
  const temp = place.folder.at(name);
  const handle = await open(temp, TEMP, 0o600);
  try {
    try {
      await place.folder.confirm(name, await handle.stat());
      await handle.writeFile(bytes);
      // A replaced file keeps its permissions, but no set-user or set-group bit.
      await handle.chmod(replaced === undefined ? 0o644 & ~process.umask() : replaced.mode & 0o777);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await place.folder.verify();
    // For a new file `link`, which fails if the name is taken; `rename` would replace the file.
    await (replaced === undefined ? linkNewName(temp, place) : putOver(temp, place, replaced));
  } catch (error) {
    // The first error says why nothing was written. A file that stays is removed by a later write.
    await unlink(temp).catch(() => undefined);
    throw error;
  }
  await orInDoubt(place, async () => {
    // A new file was linked to its name, so it still has the temporary name, too.
    if (replaced === undefined) await unlink(temp).catch(ignoreMissing);
    await place.folder.sync();
  });
  await removeLeftovers(place).catch(() => undefined);
}

/** @throws ToolError if a file has several names. */
export function requireOneName(shown: string, facts: Pick<Stats, 'nlink'> | undefined): void {
  if (facts === undefined || facts.nlink < 2) return;
  throw new ToolError(
    `"${shown}" has ${facts.nlink} names (hard links); a change would part it from the others. Nothing was written. Tell the person who runs this agent.`,
  );
}

/**
 * A random name for a file of ours. `tmp`: it is being written, and nobody misses it. `kept`: a file of somebody else
 * that lost its own name for a moment.
 */
function privateName(kind: 'tmp' | 'kept') {
  return `.countersign-${randomBytes(12).toString('hex')}.${kind}`;
}

/**
 * Does the rest of some work that may have had its effect. An error of the system then does not say that the work
 * failed. A ToolError says what happened, and is thrown as it is.
 */
async function orInDoubt<T>({ shown }: FileLocation, work: () => Promise<T>, kept?: string): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (isToolError(cause)) throw cause;
    const where = kept === undefined ? '' : ` If it is gone, it may be kept at "${kept}".`;
    const why = errnoOf(cause) ?? 'unknown error';
    throw new TransportError(
      `The system failed (${why}) while "${shown}" was changed. Whether the change was made is not known.${where} Look at it before you try again.`,
      { cause },
    );
  }
}

/** A name that only a write gives. The tools themselves write no file with such a name. */
const TEMP_NAME = /^\.countersign-[0-9a-f]{24}\.tmp$/;

/** A write is over long before that, in milliseconds. If not, it fails and changes nothing. */
const LEFT_OVER_MS = 24 * 3600 * 1000;

/** The most names of a folder that are looked at. */
const MOST_NAMES = 10_000;

/** Removes the temporary files that writers left in this folder when they were killed. */
async function removeLeftovers({ folder }: FileLocation) {
  await folder.verify();
  let looked = 0;
  for await (const { name } of await opendir(folder.at('.'), { bufferSize: 256 })) {
    looked += 1;
    if (looked > MOST_NAMES) return;
    if (TEMP_NAME.test(name)) await removeIfOld(folder.at(name));
  }
}

async function removeIfOld(path: string) {
  const facts = await lstat(path);
  if (facts.isFile() && Date.now() - facts.mtimeMs > LEFT_OVER_MS) await unlink(path);
}

async function putOver(temp: string, place: FileLocation, replaced: Stats) {
  const now = await lstat(place.at);
  const same = FACTS.every((fact) => now[fact] === replaced[fact]);
  if (!same)
    throw new ToolError(`"${place.shown}" changed just now, and was not written over.`, { code: 'conflict' });
  await rename(temp, place.at);
}

const FACTS = ['dev', 'ino', 'size', 'mtimeMs', 'ctimeMs'] as const;

/** The error codes of file systems without hard links. */
const NO_LINKS: readonly (string | undefined)[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/**
 * Gives a file an additional name, which has to be free. On a file system without hard links, the file loses its old
 * name.
 *
 * @throws ToolError `conflict` if the name is taken.
 */
export async function linkNewName(from: string, to: FileLocation): Promise<void> {
  try {
    await link(from, to.at);
  } catch (error) {
    if (errnoOf(error) === 'EEXIST') throw taken(to, error);
    if (!NO_LINKS.includes(errnoOf(error))) throw error;
    if (await isTaken(to)) throw taken(to, error);
    await rename(from, to.at);
  }
}

async function isTaken(place: FileLocation) {
  try {
    await lstat(place.at);
    return true;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
}

function taken({ shown }: FileLocation, cause: unknown) {
  return new ToolError(`"${shown}" exists by now; nothing was changed. Choose another name.`, {
    code: 'conflict',
    cause,
  });
}

/** A file that was opened and inspected: its handle, and the system's facts about it at that time. */
interface SeenFile {
  handle: FileHandle;
  facts: Stats;
}

/**
 * Removes the inspected file, but not another file that has taken its name since. The file is first renamed to a
 * private name and compared there. A crash in between leaves the file under the private name.
 *
 * @throws ToolError `conflict` if another file has the name, or the file was written to since. The file then gets
 * its name back.
 * @throws TransportError if the system fails after the file lost its name.
 */
export async function removeSeen(place: FileLocation, seen: SeenFile): Promise<void> {
  const aside = await setAside(place);
  const remove = async () => {
    if (await isSeen(aside.at, seen)) return unlink(aside.at);
    await giveBack(aside, place);
    throw changedNow(place, 'nothing was deleted');
  };
  await orInDoubt(place, remove, aside.shown);
  await orInDoubt(place, () => place.folder.sync());
}

/**
 * Moves the inspected file to a new name, which has to be free. The file gets the new name before it loses the old one,
 * so a crash in between leaves the file with both names, never with none.
 *
 * @throws ToolError `conflict` if the new name is taken, another file has the old name, or the file was written to.
 * @throws TransportError if the system fails after the file got its new name.
 */
export async function moveSeen(place: FileLocation, seen: SeenFile, target: FileLocation): Promise<void> {
  await linkNewName(place.at, target);
  await orInDoubt(place, async () => {
    if (!(await isSeen(target.at, seen))) {
      await giveBack({ at: target.at, shown: target.shown }, place);
      throw changedNow(place, 'nothing was moved');
    }
    await removeOld(place, seen).catch(ignoreMissing);
    await Promise.all([place.folder.sync(), target.folder.sync()]);
  });
}

/** Removes the old name. Another file under the old name stays: the moved file already has its new name. */
async function removeOld(place: FileLocation, { handle }: SeenFile) {
  const aside = await setAside(place);
  if (sameFile(await lstat(aside.at), await handle.stat())) await unlink(aside.at);
  else await giveBack(aside, place);
}

/** Renames the file with this name to a private name in the same folder. */
async function setAside(place: FileLocation): Promise<Pick<FileLocation, 'at' | 'shown'>> {
  const name = privateName('kept');
  const at = place.folder.at(name);
  await rename(place.at, at);
  return { at, shown: [...place.names.slice(0, -1), name].join('/') };
}

/** Whether a path leads to the open file, and nobody has written to this file since. Other hard links do not matter. */
async function isSeen(path: string, { handle, facts }: SeenFile) {
  const [there, open] = [await lstat(path), await handle.stat()];
  return sameFile(there, open) && open.size === facts.size && open.mtimeMs === facts.mtimeMs;
}

function sameFile(one: Stats, other: Stats) {
  return one.dev === other.dev && one.ino === other.ino;
}

/**
 * Gives a file its old name back.
 *
 * @throws ToolError `conflict` if another file has taken the name meanwhile. The file then stays where it is.
 */
async function giveBack(from: Pick<FileLocation, 'at' | 'shown'>, place: FileLocation) {
  try {
    await linkNewName(from.at, place);
  } catch (cause) {
    // Both names lead to the same file if the file never lost its old name.
    if (!sameFile(await lstat(from.at), await lstat(place.at))) {
      const message = `"${place.shown}" was replaced twice just now; what it was before is kept at "${from.shown}".`;
      throw new ToolError(message, { code: 'conflict', cause });
    }
  }
  await unlink(from.at).catch(ignoreMissing);
}

function changedNow({ shown }: FileLocation, what: string) {
  return new ToolError(`"${shown}" changed just now; ${what}. Look at it and ask anew.`, {
    code: 'conflict',
  });
}

/** Ignores the error that there is no file to remove. */
export function ignoreMissing(error: unknown): void {
  if (errnoOf(error) !== 'ENOENT') throw error;
}
