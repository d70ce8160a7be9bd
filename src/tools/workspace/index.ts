import type { Tool } from '../types';
import { createContentTools } from './content-tools';
import { createListTools } from './list-tools';
import { createMoveTools } from './move-tools';
import type { Pack } from './pack';
import { createReadTools } from './read-tools';
import { createRoot } from './root';
import { createSearchTool } from './search-tool';

/** What a workspace pack is made for. */
export interface WorkspaceOptions {
  /** The one folder the tools may touch; relative to where the worker runs. It has to exist when they are used. */
  root: string;
  limits?: {
    /** Bytes of a file that is read or changed at most. @default 10 MiB */
    fileBytes?: number;
  };
  /** The queue of the worker that has the files. @default the turn's own */
  taskQueue?: string;
}

/**
 * Tools over the files of one folder. Reading is safe; everything that writes is dangerous and asks first. Nothing
 * outside the folder is reached, neither by path nor by link: no link is followed at all. Only regular files are touched;
 * writes are atomic.
 */
export function createWorkspaceTools({ root: directory, limits = {}, taskQueue }: WorkspaceOptions): Tool[] {
  const root = createRoot(directory, limits);
  const pack: Pack = { categories: ['workspace'], ...(taskQueue === undefined ? {} : { taskQueue }) };
  return [
    ...createReadTools(root, pack),
    ...createListTools(root, pack),
    createSearchTool(root, pack),
    ...createContentTools(root, pack),
    ...createMoveTools(root, pack),
  ];
}
