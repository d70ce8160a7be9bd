import { z } from 'zod';
import { defineTool } from '../define-tool';
import { ToolError } from '../errors';
import { splitLines } from './hunks';
import type { Pack } from './pack';
import { readBytes, withFile, type Place, type Root } from './root';
import type { Tool } from '../types';
import { decodeText, encodingOf, hashBytes, isBinary } from './text';

const path = z.string().min(1).describe('File, relative to the workspace root.');

/** The tools that read one file. */
export function createReadTools(root: Root, pack: Pack): Tool[] {
  return [readFile(root, pack), getFileInfo(root, pack)];
}

function readFile(root: Root, pack: Pack): Tool {
  return defineTool({
    ...pack,
    name: 'read_file',
    description: 'Reads a text file. For a part of a long one give first_line and line_count.',
    parameters: z.strictObject({
      path,
      first_line: z.int().min(1).optional().describe('First line to read; 1 is the first of the file.'),
      line_count: z.int().min(1).optional().describe('How many lines to read.'),
    }),
    outputLimit: 256 * 1024,
    handler: (args) => root.inParent(args.path, async (place) => partOf(await readText(place), args)),
  });
}

async function readText(place: Place): Promise<string> {
  const { bytes } = await readBytes(place);
  if (!isBinary(bytes)) return decodeText(bytes, encodingOf(bytes));
  throw new ToolError(`"${place.shown}" is a binary file of ${bytes.length} bytes; it has no text to read.`);
}

interface Part {
  first_line?: number | undefined;
  line_count?: number | undefined;
}

function partOf(text: string, { first_line, line_count }: Part): string {
  if (first_line === undefined && line_count === undefined) return text;
  const lines = splitLines(text);
  const start = (first_line ?? 1) - 1;
  if (start > 0 && start >= lines.length) throw new ToolError(`The file has only ${lines.length} lines.`);
  return lines.slice(start, line_count === undefined ? undefined : start + line_count).join('');
}

function getFileInfo(root: Root, pack: Pack): Tool {
  return defineTool({
    ...pack,
    name: 'get_file_info',
    description: 'Tells size, time of change, permissions, encoding, line count and SHA-256 of a file.',
    parameters: z.strictObject({ path }),
    handler: (args) => root.inParent(args.path, factsOf),
  });
}

async function factsOf(place: Place): Promise<object> {
  const facts = await withFile(place, async (_, found) => found);
  return {
    path: place.shown,
    size: facts.size,
    modified: facts.mtime.toISOString(),
    mode: (facts.mode & 0o777).toString(8).padStart(3, '0'),
    ...(facts.size > place.mostBytes ? { note: 'too large to be read' } : await contentFacts(place)),
  };
}

async function contentFacts(place: Place): Promise<object> {
  const { bytes } = await readBytes(place);
  const sha256 = hashBytes(bytes);
  if (isBinary(bytes)) return { binary: true, sha256 };
  const encoding = encodingOf(bytes) === 'utf8' ? 'UTF-8' : 'not UTF-8; shown as Latin-1';
  return { binary: false, encoding, lines: splitLines(bytes.toString('latin1')).length, sha256 };
}
