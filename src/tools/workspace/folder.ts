import { existsSync, type Stats } from 'node:fs';
import { holdByChecks } from './folder-checks';
import { holdByDescriptors } from './folder-descriptors';

/** A folder inside the root that stays the same folder while it is held, whatever is renamed around it. */
export interface Folder {
  /** A path to a name in this folder, safe to open as long as the name itself is opened without following links. */
  at(name: string): string;
  /** Throws where what was opened as `name` is not what this folder holds. Call it before using what was opened. */
  confirm(name: string, facts: Pick<Stats, 'dev' | 'ino'>): Promise<void>;
  /** Throws where the folder is no longer where it was; called after an operation that could not be pinned. */
  verify(): Promise<void>;
  /** Flushes the folder's names to disk. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** Which folder to hold: names below a root. */
export interface FolderPath {
  root: string;
  names: readonly string[];
  /** Makes the folders that are missing. @default false */
  make?: boolean;
}

/**
 * How folders are held. `descriptors`: by open descriptors (Linux); nothing can be swapped in. `checks`: by paths, looked
 * at before and after; what was opened is compared before it is used.
 */
export type Holding = 'descriptors' | 'checks';

/** The strongest that this system has: only Linux resolves names below an open folder through /proc. */
export const HOLDING: Holding =
  process.platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptors' : 'checks';

/** Opens a folder below the root, name by name. No link is followed, so none can lead outside. */
export async function openFolder(path: FolderPath, holding: Holding = HOLDING): Promise<Folder> {
  return holding === 'descriptors' ? holdByDescriptors(path) : holdByChecks(path);
}
