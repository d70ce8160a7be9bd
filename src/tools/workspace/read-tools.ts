import { z } from 'zod';
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { defineTool } from '../define-tool';
import { ToolError } from '../errors';
import { type FileLocation, otherForm, type Pack, readBytes, type Root, withRegularFile } from './root';
import type { Tool } from '../types';
import { countLines, decodeText, type Encoding, encodingOf, isBinary, isMarked, skipLines } from './text';
import { normalPath, onOneLine } from './path';
import { sha256 } from '../../system/sha256';

const filePath = z.string().min(1).describe('File, relative to the workspace root.');

/** The tools that read one file. */
export function createReadTools(root: Root, pack: Pack): Tool[] {
  return [readFile(root, pack), getFileInfo(root, pack)];
}

function readFile(root: Root, pack: Pack) {
  return defineTool({
    ...pack,
    name: 'read_file',
    description: 'Reads a text file. For a part of a long one give first_line and line_count.',
    parameters: z.strictObject({
      path: filePath,
      first_line: z.int().min(1).optional().describe('First line to read; 1 is the first of the file.'),
      line_count: z.int().min(1).optional().describe('How many lines to read.'),
    }),
    outputLimit: 256 * 1024,
    handler: (args) =>
      root.inParent(args.path, async (place) => {
        const text = partOf(await readText(place), args);
        const form = otherForm(args.path, place.shown);
        return form === '' ? text : `${form}\n${text}`;
      }),
  });
}

async function readText(place: FileLocation) {
  const { bytes } = await readBytes(place);
  const encoding = encodingOf(bytes);
  if (!isBinary(bytes)) return decodeText(bytes, encoding).slice(isMarked(encoding) ? 1 : 0);
  throw new ToolError(`"${place.shown}" is a binary file of ${bytes.length} bytes; it has no text to read.`);
}

function partOf(text: string, { first_line, line_count }: { first_line?: number; line_count?: number }) {
  if (first_line === undefined && line_count === undefined) return text;
  const above = (first_line ?? 1) - 1;
  const start = skipLines(text, 0, above);
  if (above > 0 && (start ?? text.length) === text.length)
    throw new ToolError(`The file has only ${countLines(text)} lines.`);
  const end = line_count === undefined ? undefined : skipLines(text, start ?? 0, line_count);
  return text.slice(start, end);
}

function getFileInfo(root: Root, pack: Pack) {
  return defineTool({
    ...pack,
    name: 'get_file_info',
    description: 'Tells size, time of change, permissions, encoding, line count and SHA-256 of a file.',
    parameters: z.strictObject({ path: filePath }),
    handler: (args) => root.inParent(args.path, factsOf),
  });
}

async function factsOf(place: FileLocation): Promise<object> {
  const facts = await withRegularFile(place, async (_, found) => found);
  return {
    path: place.shown,
    size: facts.size,
    modified: facts.mtime.toISOString(),
    mode: (facts.mode & 0o777).toString(8).padStart(3, '0'),
    ...(facts.size > place.mostBytes ? { note: 'too large to be read' } : await contentFacts(place)),
  };
}

const ENCODINGS: Readonly<Record<Encoding, string>> = {
  utf8: 'UTF-8',
  latin1: 'not UTF-8; shown as Latin-1',
  utf16le: 'UTF-16, little-endian',
  utf16be: 'UTF-16, big-endian',
};

async function contentFacts(place: FileLocation): Promise<object> {
  const { bytes } = await readBytes(place);
  const hash = sha256(bytes);
  if (isBinary(bytes)) return { binary: true, sha256: hash };
  const encoding = encodingOf(bytes);
  const lines = countLines(decodeText(bytes, encoding));
  return { binary: false, encoding: ENCODINGS[encoding], lines, sha256: hash };
}

const folderPath = z.string().default('.').describe('Folder, relative to the workspace root.');

/** The most lines of a listing. */
const MOST_ENTRIES = 2000;

/** The tools that list folders. */
export function createListTools(root: Root, pack: Pack): Tool[] {
  return [listDirectory(root, pack), directoryTree(root, pack)];
}

function listDirectory(root: Root, pack: Pack) {
  return defineTool({
    ...pack,
    name: 'list_directory',
    description: 'Lists the files and folders in one folder; folders end in "/".',
    parameters: z.strictObject({ path: folderPath }),
    handler: async (args) => {
      const entries = await listFolder(root, args.path);
      const shown = entries.slice(0, MOST_ENTRIES).map((entry) => onOneLine(entry.name) + suffix(entry));
      return finish(shown, entries.length > MOST_ENTRIES);
    },
  });
}

function directoryTree(root: Root, pack: Pack) {
  return defineTool({
    ...pack,
    name: 'directory_tree',
    description:
      'Shows everything below a folder as an indented tree. Links are not followed; .git and node_modules are not shown.',
    parameters: z.strictObject({
      path: folderPath,
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

function treeLine(step: WalkStep) {
  const note = step.skipped === undefined ? '' : ` (${step.skipped})`;
  return '  '.repeat(step.depth - 1) + onOneLine(step.name) + suffix(step) + note;
}

function suffix({ kind }: Entry) {
  return { file: '', folder: '/', link: ' (link)', other: ' (not a file)' }[kind];
}

function finish(lines: string[], cut: boolean) {
  if (lines.length === 0) return '(empty)';
  return [...lines, ...(cut ? [`(more than ${MOST_ENTRIES} entries; list a folder below)`] : [])].join('\n');
}

/** One name in a folder. */
interface Entry {
  name: string;
  kind: 'file' | 'folder' | 'link' | 'other';
}

/** The entries of a folder, files and folders, sorted by name. Links are listed but never followed. */
async function listFolder(root: Root, path: string): Promise<Entry[]> {
  return root.inFolder(path, async (folder) => {
    const found = await readdir(folder.at('.'), { withFileTypes: true });
    return found
      .map((one) => ({ name: one.name, kind: kindOf(one) }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  });
}

function kindOf(found: Dirent): Entry['kind'] {
  if (found.isSymbolicLink()) return 'link';
  if (found.isDirectory()) return 'folder';
  return found.isFile() ? 'file' : 'other';
}

/** Folders that a walk skips, unless it starts there: they are large and not written by hand. */
const SKIPPED: readonly string[] = ['.git', 'node_modules'];

/** The limits of a walk. */
interface WalkLimits {
  entries: number;
  depth: number;
  signal: AbortSignal;
}

/** One step of a walk. */
interface WalkStep extends Entry {
  /** Relative to the root, with `/`. */
  path: string;
  depth: number;
  /** The reason why a folder was skipped. */
  skipped?: 'skipped' | 'too deep' | 'not readable';
}

/** Yields all entries below a folder, each folder before its entries. Stops at the limits. Follows no links. */
export async function* walk(root: Root, path: string, limits: WalkLimits): AsyncGenerator<WalkStep> {
  yield* walkBelow(root, { path, depth: 1 }, limits);
}

async function* walkBelow(
  root: Root,
  { path, depth }: Pick<WalkStep, 'path' | 'depth'>,
  limits: WalkLimits,
): AsyncGenerator<WalkStep> {
  const entries = await listFolder(root, path);
  for (const entry of entries) {
    limits.signal.throwIfAborted();
    if (limits.entries-- <= 0) return;
    const step: WalkStep = { ...entry, path: path === '.' ? entry.name : `${path}/${entry.name}`, depth };
    const skipped = entry.kind === 'folder' ? skipReason(entry, depth, limits) : undefined;
    yield skipped === undefined ? step : { ...step, skipped };
    if (entry.kind === 'folder' && skipped === undefined) yield* walkInto(root, step, limits);
  }
}

function skipReason(entry: Entry, depth: number, limits: WalkLimits): WalkStep['skipped'] {
  if (SKIPPED.includes(entry.name)) return 'skipped';
  return depth >= limits.depth ? 'too deep' : undefined;
}

/** Walks into a folder. A folder that has gone or may not be read does not end the walk. */
async function* walkInto(root: Root, step: WalkStep, limits: WalkLimits): AsyncGenerator<WalkStep> {
  try {
    yield* walkBelow(root, { path: step.path, depth: step.depth + 1 }, limits);
  } catch (error) {
    if (limits.signal.aborted || !(error instanceof ToolError || (error instanceof Error && 'code' in error)))
      throw error;
    yield { ...step, skipped: 'not readable' };
  }
}
