import type { Tool } from '../types';
import { createListTools, createReadTools } from './read-tools';
import { createMoveTools } from './move-tools';
import { createRoot, type Pack } from './root';
import { createSearchTool } from './search-tool';
import { inPlace } from '../define-tool';
import { createContentTools } from './plan';
import { pathSpelling } from './spelling';

/** The options of `createWorkspaceTools`. */
export interface WorkspaceOptions {
  /** The only folder that the tools may touch, relative to the worker's folder. It has to exist when a tool is used. */
  root: string;
  limits?: {
    /** The most bytes of a file that is read or changed. @default 10 MiB */
    fileBytes?: number;
  };
  /** The queue of the worker that has the files. @default the turn's own */
  taskQueue?: string;
}

/**
 * Makes tools for the files of one folder. Tools that read are safe. Tools that write are dangerous and ask first. The
 * tools reach nothing outside the folder, and follow no links at all. The tools touch regular files only, and writes
 * are atomic.
 *
 * @throws CountersignError `config_invalid` for a `root` that does not name a folder.
 */
export function createWorkspaceTools({ root: directory, limits = {}, taskQueue }: WorkspaceOptions): Tool[] {
  const root = createRoot(directory, limits);
  const pack: Pack = { categories: ['workspace'], taskQueue };
  const tools = [
    ...createReadTools(root, pack),
    ...createListTools(root, pack),
    createSearchTool(root, pack),
    ...createContentTools(root, pack),
    ...createMoveTools(root, pack),
  ];
  return tools.map((tool) => inPlace(tool, { root: root.directory }, pathSpelling(root.directory)));
}
