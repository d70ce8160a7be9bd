import { z } from 'zod';
import { defined } from '../../contract/defined';
import { defineTool } from '../define-tool';
import { ToolError } from '../errors';
import type { CallContext, Tool } from '../types';
import { createWorkspaceTools } from '../workspace';
import { compilePattern } from '../workspace/search-tool';
import type { FormHistory } from './history';

/** What the tools over files and buffers are made for. */
export interface BufferPack {
  /** The folder of the sources. */
  root: string;
  history: FormHistory;
  taskQueue?: string;
}

/** The one buffer that is not a file: the forms that ran, and how they ended. */
const REPL = '*repl*';
const REPL_FORMS = 50;

/** Of the workspace pack's own tools, those that the Lisp pack has too. */
const FILE_TOOLS: readonly string[] = ['read_file', 'write_file', 'propose_file_edit'];

/**
 * The tools over files and buffers. There is no editor here, so a buffer is a file below the root, or the REPL.
 *
 * @throws CountersignError `config_invalid` for a `root` that does not name a folder.
 */
export function createBufferTools({ root, history, taskQueue }: BufferPack): Tool[] {
  const files = createWorkspaceTools({ root, ...defined({ taskQueue }) });
  const readFile = files.find(({ name }) => name === 'read_file');
  const textOf = async (buffer: string, context: CallContext): Promise<string> =>
    buffer === REPL
      ? history.describe(REPL_FORMS)
      : String(await readFile?.handle({ path: buffer }, context));
  const common = { categories: ['lisp', 'buffer'], ...defined({ taskQueue }) };
  return [
    ...files.filter(({ name }) => FILE_TOOLS.includes(name)),
    defineTool({ ...common, ...readBuffer(textOf) }),
    defineTool({ ...common, ...searchInBuffer(textOf) }),
  ];
}

type TextOf = (buffer: string, context: CallContext) => Promise<string>;

const buffer = z
  .string()
  .min(1)
  .default(REPL)
  .describe(`A file, relative to the workspace root, or ${REPL}: the forms that ran and their results.`);

const bufferParameters = z.strictObject({
  buffer,
  start: z.int().min(1).optional().describe('Start position in the buffer; 1 is the first character.'),
  end: z.int().min(1).optional().describe('End position in the buffer; the character there is left out.'),
});

function readBuffer(textOf: TextOf) {
  return {
    name: 'read_buffer',
    description: 'Read the contents of a buffer. Can read the entire buffer or a specific region.',
    parameters: bufferParameters,
    handler: async (args: z.output<typeof bufferParameters>, context: CallContext): Promise<string> => {
      const text = await textOf(args.buffer, context);
      if (args.start === undefined && args.end === undefined) return text;
      const characters = Array.from(text);
      const { start = 1, end = characters.length + 1 } = args;
      if (start > characters.length + 1 || end < start)
        throw new ToolError(
          `The buffer has the positions 1 to ${characters.length + 1}; ${start} to ${end} is not in it.`,
        );
      return characters.slice(start - 1, end - 1).join('');
    },
  };
}

const searchParameters = z.strictObject({
  pattern: z.string().min(1).max(1000).describe('Search pattern (text, or a regular expression of RE2).'),
  buffer,
  regex: z.boolean().default(false).describe('If true, the pattern is a regular expression.'),
  all_matches: z.boolean().default(true).describe('If true, return all matches; otherwise just the first.'),
});

const MOST_MATCHES = 500;

function searchInBuffer(textOf: TextOf) {
  return {
    name: 'search_in_buffer',
    description:
      'Search for text in a buffer by a regular expression or a literal text. Returns matches with line numbers and positions.',
    parameters: searchParameters,
    handler: async (args: z.output<typeof searchParameters>, context: CallContext): Promise<string> => {
      const text = await textOf(args.buffer, context);
      const found = matchesIn(text, args);
      if (found.length === 0) return `No matches found for '${args.pattern}'`;
      const more = found.length > MOST_MATCHES ? [`(more than ${MOST_MATCHES}; narrow the pattern)`] : [];
      const shown = found.slice(0, MOST_MATCHES);
      const head = `Found ${shown.length} match${shown.length === 1 ? '' : 'es'} for '${args.pattern}':`;
      return [head, '', ...shown, ...more].join('\n');
    },
  };
}

/** One line for each match; positions and lines count from 1. */
function matchesIn(
  text: string,
  { pattern, regex, all_matches }: z.output<typeof searchParameters>,
): string[] {
  const matcher = compilePattern({ query: pattern, regex, case_sensitive: true }).matcher(text);
  const most = all_matches ? MOST_MATCHES + 1 : 1;
  const found: string[] = [];
  for (let [line, seen] = [1, 0]; found.length < most && matcher.find();) {
    const start = matcher.start();
    line += text.slice(seen, start).split('\n').length - 1;
    seen = start;
    const match = JSON.stringify(text.slice(start, matcher.end()).slice(0, 300));
    found.push(`Line ${line}, Position ${Array.from(text.slice(0, start)).length + 1}: ${match}`);
  }
  return found;
}
