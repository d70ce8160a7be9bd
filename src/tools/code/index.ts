import { z } from 'zod';
import { defined } from '../../contract/defined';
import { CountersignError, errorMessage } from '../../contract/errors';
import { defineTool, inPlace } from '../define-tool';
import { ToolError } from '../errors';
import { describeZodIssues, duration } from '../options';
import type { Duration, Tool } from '../types';
import { isWellFormed } from '../../contract/text/bytes';
import { normalPath } from '../workspace/path';
import { createRoot } from '../workspace/root';
import { type CodeService, findCodeService, findTypeScript, type SymbolQuestion } from './service';

/** The options of `createCodeTools`. */
export interface CodeOptions {
  /** The folder of the sources and their `node_modules`, relative to the worker's folder. Nothing outside is read. */
  root: string;
  /** One config or several, relative to `root`, with the projects that they refer to. @default 'tsconfig.json' */
  project?: string | readonly string[];
  /**
   * Name or path of the TypeScript to use, 5 or 6. Its code is run, so name only a package that you trust.
   *
   * @default the `typescript` of where the worker runs, else the one beside Countersign
   */
  typescript?: string;
  /** Memory of TypeScript, in MiB. A process that needs more ends, and the next call starts a new one. @default 2048 */
  heapMb?: number;
  /** A call that takes longer ends TypeScript. The first question about a project takes longest. @default 2 minutes */
  timeout?: Duration;
  /** Bytes of output kept. @default 64 KiB */
  outputLimit?: number;
  /** The queue of the worker that has the files. @default the turn's own */
  taskQueue?: string;
}

const optionsSchema = z.strictObject({
  root: z.string().min(1),
  project: z
    .union([
      z
        .string()
        .min(1)
        .transform((name) => [name]),
      z.array(z.string().min(1)).min(1).max(20),
    ])
    .default(['tsconfig.json']),
  typescript: z.string().min(1).optional(),
  heapMb: z
    .int()
    .min(64)
    .max(1024 * 1024)
    .default(2048),
  timeout: duration().default(2 * 60_000),
  outputLimit: z.int().optional(),
  taskQueue: z.string().min(1).optional(),
});

/**
 * Tools that answer questions about TypeScript and JavaScript sources: what a symbol is, who calls it, what is wrong.
 * All are safe: TypeScript reads the sources in a process of its own, and nothing of the project is run.
 *
 * @throws CountersignError `config_invalid` for a wrong option, `not_installed` if there is no TypeScript.
 * @example
 * defineAgent({ name: 'reader', instructions: '…', model, tools: createCodeTools({ root: '.' }) });
 */
export function createCodeTools(given: CodeOptions): Tool[] {
  const parsed = optionsSchema.safeParse(given);
  if (!parsed.success) throw invalid(describeZodIssues(parsed.error));
  const { root, project, typescript, heapMb, ...common } = parsed.data;
  const place = { root: createRoot(root).directory, projects: project.map(configPath) };
  const service = findCodeService({ ...place, typescript: findTypeScript(typescript), heapMb });
  const pack: Pack = { service, common: { categories: ['code', 'introspection'], ...defined(common) } };
  const symbolTools = SYMBOL_TOOLS.map((tool) => symbolTool(pack, tool));
  return [...symbolTools, searchTool(pack), diagnosticsTool(pack)].map((tool) => inPlace(tool, place));
}

function invalid(message: string, cause?: unknown): CountersignError {
  return new CountersignError('config_invalid', `createCodeTools: ${message}`, {
    hint: 'Correct what is given to createCodeTools.',
    ...defined({ cause }),
  });
}

function configPath(name: string): string {
  try {
    return normalPath(name);
  } catch (error) {
    throw invalid(`\`project\` ${errorMessage(error)}`, error);
  }
}

interface Pack {
  service: CodeService;
  /** The settings that all tools of the pack share. */
  common: { categories: readonly string[]; timeout: number; outputLimit?: number; taskQueue?: string };
}

const SYMBOL_TOOLS: readonly { name: SymbolQuestion; description: string }[] = [
  {
    name: 'describe_code_symbol',
    description:
      'Tells what a symbol of the TypeScript project is: its kind, type, documentation, and where it is declared.',
  },
  {
    name: 'function_signature',
    description:
      'Gets the signatures of a function, method or class: parameters with their types, and what it returns. Overloads too.',
  },
  {
    name: 'find_callers',
    description: 'Finds the functions that call a function, method or class, with the places of the calls.',
  },
  {
    name: 'find_references',
    description:
      'Finds every place that uses a symbol: reads, writes, calls, types and imports, each with its line of code.',
  },
  {
    name: 'list_members',
    description:
      'Lists the members of a class, interface, type, enum, namespace or object with their types, inherited ones too.',
  },
  {
    name: 'type_hierarchy',
    description:
      'Shows what a class or interface extends and implements, and what extends or implements it in the project.',
  },
];

const symbolParameters = z.strictObject({
  symbol: z
    .string()
    .min(1)
    .max(1000)
    .describe('Its name, Class.member, path/file.ts:name, or path/file.ts:line:column (both count from 1).'),
});

function symbolTool({ service, common }: Pack, { name, description }: (typeof SYMBOL_TOOLS)[number]): Tool {
  return defineTool({
    ...common,
    name,
    description,
    parameters: symbolParameters,
    handler: (args, { signal }) => service.ask({ name, args: { symbol: sound(args.symbol) } }, signal),
  });
}

const KINDS = [
  ...['function', 'class', 'interface', 'type', 'enum', 'namespace', 'constant', 'variable'],
  ...['method', 'property', 'accessor', 'enum member'],
] as const;

function searchTool({ service, common }: Pack): Tool {
  return defineTool({
    ...common,
    name: 'search_code_symbols',
    description:
      'Searches the declarations of the TypeScript project by name. Useful for discovering functions, classes and types.',
    parameters: z.strictObject({
      pattern: z.string().min(1).max(500).describe('Part of the name (case does not count).'),
      kind: z.enum(KINDS).optional().describe('Only declarations of this kind.'),
      path: z.string().min(1).max(1000).optional().describe('Only in this folder or file.'),
    }),
    handler: ({ pattern, kind, path }, { signal }) => {
      const args = { pattern: sound(pattern), ...defined({ kind, path }) };
      return service.ask({ name: 'search_code_symbols', args }, signal);
    },
  });
}

function diagnosticsTool({ service, common }: Pack): Tool {
  return defineTool({
    ...common,
    name: 'code_diagnostics',
    description:
      'Checks one file or the whole TypeScript project, and lists errors with code, message and position. Use it after a change.',
    parameters: z.strictObject({
      file: z
        .string()
        .min(1)
        .max(4096)
        .optional()
        .describe('A source file. Without it the whole project is checked.'),
    }),
    handler: ({ file }, { signal }) =>
      service.ask({ name: 'code_diagnostics', args: defined({ file }) }, signal),
  });
}

/** Refuses text with half a character, so that TypeScript gets a text exactly as it was shown. */
function sound(text: string): string {
  if (!isWellFormed(text))
    throw new ToolError('The text holds half a character (a lone surrogate). Nothing was looked up.');
  return text;
}
