import { readlink, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join, resolve, sep } from 'node:path';
import { CountersignError, errorMessage } from '../../contract/errors';
import { systemReason } from '../../contract/text/system-errors';
import { wrongOptions } from '../option-values';

/** A folder or file of this machine that programs in a sandbox see, at the same path as outside. */
export interface Mount {
  /** Absolute. */
  path: string;
  isWritable: boolean;
}

/** Folders that are never shown: they hold keys, sockets and devices of the machine. */
const NEVER_SHOWN = ['/proc', '/sys', '/dev', '/run', '/var/run', '/etc', '/boot'];

/** Folders of the system. Sandboxes see them, and never write them. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/System', '/Library'];

/**
 * The folders of a sandbox, as the options list them.
 *
 * @throws CountersignError `config_invalid` for a folder that would show or change more than a working folder.
 */
export function listFolders(read: readonly string[], write: readonly string[]): Mount[] {
  const mounts = [
    ...write.map((path) => ({ path: resolve(path), isWritable: true })),
    ...read.map((path) => ({ path: resolve(path), isWritable: false })),
  ];
  for (const mount of mounts) assertAllowed(mount);
  const twice = mounts.find(({ path }, index) => mounts.findIndex((one) => one.path === path) !== index);
  if (twice !== undefined) throw invalid(`${twice.path} is listed twice`);
  return mounts;
}

function assertAllowed({ path, isWritable }: Mount) {
  if (path === '/' || NEVER_SHOWN.some((one) => isWithin(path, one)))
    throw invalid(`${path} holds what belongs to the machine; it is never shown to a sandbox`);
  if (path === '/tmp' || path === '/private/tmp')
    throw invalid(`${path} is a sandbox's own; list a folder in it`);
  const home = homedir();
  if (home !== '/' && isWithin(home, path))
    throw invalid(`${path} holds the home of this user, with its keys; list a folder in it`);
  if (isWritable && SYSTEM.some((one) => isWithin(path, one)))
    throw invalid(`${path} belongs to the system; it is never written`);
}

const invalid = wrongOptions('sandbox');

/** Whether a path is a folder, or below it. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === sep ? sep : `${folder}${sep}`);
}

/**
 * Resolves the listed folders at each use. Refuses a folder that leads elsewhere than at the first use: a program may
 * replace a writable folder by a link. For the same reason, no path may go over a link in a writable folder.
 */
export function createFolders(listed: readonly Mount[]): () => Promise<Mount[]> {
  let first: readonly string[] | undefined;
  return async () => {
    const found = await Promise.all(listed.map(async (one) => ({ ...one, path: await realPathOf(one) })));
    for (const mount of found) assertAllowed(mount);
    const writable = found.filter(({ isWritable }) => isWritable);
    for (const { path } of listed) await assertNoLinkIn(writable, path);
    first ??= found.map(({ path }) => path);
    const moved = listed.find((_, index) => found[index]?.path !== first?.[index]);
    if (moved !== undefined)
      throw new CountersignError(
        'config_invalid',
        `${moved.path} leads elsewhere than before`,
        'Look at who made it a link, then start the worker again.',
      );
    return found.sort((a, b) => a.path.length - b.path.length);
  };
}

async function assertNoLinkIn(writable: readonly Mount[], path: string) {
  const link = (await linksOn(path)).find((one) => holderOf(writable, one) !== undefined);
  if (link === undefined) return;
  throw new CountersignError(
    'config_invalid',
    `${path} of the sandbox goes over the link ${link}, which programs could change`,
    'List the folder where it really is.',
  );
}

/** The most links that we follow, as on Linux. */
const MOST_LINKS = 40;

/** The real paths of all links that a path goes over, including links behind other links. */
async function linksOn(path: string) {
  const links: string[] = [];
  const rest = path.split(sep).filter(Boolean);
  let at: string = sep;
  for (let name = rest.shift(); name !== undefined && links.length < MOST_LINKS; name = rest.shift()) {
    const place = join(at, name);
    const target = await readlink(place).catch(() => undefined);
    if (target === undefined) {
      at = place;
      continue;
    }
    links.push(place);
    const whole = resolve(at, target);
    rest.unshift(...whole.split(sep).filter(Boolean));
    at = sep;
  }
  return links;
}

async function realPathOf({ path }: Mount) {
  try {
    return await realpath(path);
  } catch (error) {
    const why = systemReason(error) ?? errorMessage(error);
    throw new CountersignError('config_invalid', `the folder ${path} of the sandbox: ${why}`, {
      hint: 'Make it, or take it out of `read` and `write`.',
      cause: error,
    });
  }
}

/**
 * The mounts, parents first. Each folder between a mount and a mount inside it becomes a mount too: a program cannot
 * rename a mount, so it cannot put a link in the path of a later sandbox.
 */
export function pinned(mounts: readonly Mount[]): Mount[] {
  const all = new Map(mounts.map((mount) => [mount.path, mount]));
  for (const { path } of mounts)
    for (const parent of parentsOf(path)) {
      const outer = holderOf(mounts, parent);
      if (outer !== undefined && !all.has(parent)) all.set(parent, { ...outer, path: parent });
    }
  return [...all.values()].sort((a, b) => a.path.length - b.path.length);
}

/** The folders that a path is in, the innermost first. */
export function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
}

/** The innermost mount that a path is in. */
export function holderOf(mounts: readonly Mount[], path: string): Mount | undefined {
  const holders = mounts.filter((mount) => isWithin(path, mount.path));
  return holders.sort((a, b) => b.path.length - a.path.length)[0];
}
