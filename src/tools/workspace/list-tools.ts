import { z } from 'zod';
import { defineTool } from '../define-tool';
import type { Tool } from '../types';
import type { Pack } from './pack';
import { normalPath, onOneLine } from './path';
import type { Root } from './root';
import { listFolder, walk, type Entry, type Step } from './walk';

const path = z.string().default('.').describe('Folder, relative to the workspace root.');

/** The most lines that a listing has. */
const MOST_ENTRIES = 2000;

/** The tools that list folders. */
export function createListTools(root: Root, pack: Pack): Tool[] {
  return [listDirectory(root, pack), directoryTree(root, pack)];
}

function listDirectory(root: Root, pack: Pack): Tool {
  return defineTool({
    ...pack,
    name: 'list_directory',
    description: 'Lists the files and folders in one folder; folders end in "/".',
    parameters: z.strictObject({ path }),
    handler: async (args) => {
      const entries = await listFolder(root, args.path);
      const shown = entries.slice(0, MOST_ENTRIES).map((entry) => onOneLine(entry.name) + suffix(entry));
      return finish(shown, entries.length > MOST_ENTRIES);
    },
  });
}

function directoryTree(root: Root, pack: Pack): Tool {
  return defineTool({
    ...pack,
    name: 'directory_tree',
    description:
      'Shows everything below a folder as an indented tree. Links are not followed; .git and node_modules are not shown.',
    parameters: z.strictObject({
      path,
      depth: z.int().min(1).max(20).default(8).describe('How many folders deep.'),
    }),
    handler: async (args, { signal }) => {
      const limits = { entries: MOST_ENTRIES, depth: args.depth, signal };
      const lines: string[] = [];
      for await (const step of walk(root, normalPath(args.path), limits)) lines.push(treeLine(step));
      return finish(lines, limits.entries < 0);
    },
  });
}

function treeLine(step: Step): string {
  const note = step.skipped === undefined ? '' : ` (${step.skipped})`;
  return '  '.repeat(step.depth - 1) + onOneLine(step.name) + suffix(step) + note;
}

function suffix({ kind }: Entry): string {
  return { file: '', folder: '/', link: ' (link)', other: ' (not a file)' }[kind];
}

function finish(lines: string[], cut: boolean): string {
  if (lines.length === 0) return '(empty)';
  return [...lines, ...(cut ? [`(more than ${MOST_ENTRIES} entries; list a folder below)`] : [])].join('\n');
}
