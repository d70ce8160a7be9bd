import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { ToolError } from '../errors';
import type { Root } from './root';

/** One name in a folder. */
export interface Entry {
  name: string;
  kind: 'file' | 'folder' | 'link' | 'other';
}

/** The entries of a folder by name; folders and files alike. Links are named, never followed. */
export async function listFolder(root: Root, path: string): Promise<Entry[]> {
  return root.inFolder(path, async (folder) => {
    const found = await readdir(folder.at('.'), { withFileTypes: true });
    return found.map(toEntry).sort((a, b) => (a.name < b.name ? -1 : 1));
  });
}

function toEntry(found: Dirent): Entry {
  return { name: found.name, kind: kindOf(found) };
}

function kindOf(found: Dirent): Entry['kind'] {
  if (found.isSymbolicLink()) return 'link';
  if (found.isDirectory()) return 'folder';
  return found.isFile() ? 'file' : 'other';
}

/** Folders that are not walked into unless they are asked for by name: not written by hand, and large. */
const SKIPPED: readonly string[] = ['.git', 'node_modules'];

/** How far a walk goes. */
export interface WalkLimits {
  entries: number;
  depth: number;
  signal: AbortSignal;
}

/** One step of a walk. */
export interface Step extends Entry {
  /** Relative to the root, with `/`. */
  path: string;
  depth: number;
  /** A folder that was not walked into, and why. */
  skipped?: 'skipped' | 'too deep' | 'not readable';
}

/** Everything below a folder, folders first named and then walked. Ends at its limits; no link is followed, so it ends. */
export async function* walk(root: Root, path: string, limits: WalkLimits): AsyncGenerator<Step> {
  yield* walkBelow(root, { path, depth: 1 }, limits);
}

type Below = Pick<Step, 'path' | 'depth'>;

async function* walkBelow(root: Root, { path, depth }: Below, limits: WalkLimits): AsyncGenerator<Step> {
  const entries = await listFolder(root, path);
  for (const entry of entries) {
    limits.signal.throwIfAborted();
    if (limits.entries-- <= 0) return;
    const step: Step = { ...entry, path: path === '.' ? entry.name : `${path}/${entry.name}`, depth };
    const skipped = entry.kind === 'folder' ? skipReason(entry, depth, limits) : undefined;
    yield skipped === undefined ? step : { ...step, skipped };
    if (entry.kind === 'folder' && skipped === undefined) yield* walkInto(root, step, limits);
  }
}

function skipReason(entry: Entry, depth: number, limits: WalkLimits): Step['skipped'] {
  if (SKIPPED.includes(entry.name)) return 'skipped';
  return depth >= limits.depth ? 'too deep' : undefined;
}

/** A folder that went away or may not be read does not end the walk. */
async function* walkInto(root: Root, step: Step, limits: WalkLimits): AsyncGenerator<Step> {
  try {
    yield* walkBelow(root, { path: step.path, depth: step.depth + 1 }, limits);
  } catch (error) {
    if (limits.signal.aborted || !isExpected(error)) throw error;
    yield { ...step, skipped: 'not readable' };
  }
}

function isExpected(error: unknown): boolean {
  return error instanceof ToolError || (error instanceof Error && 'code' in error);
}
