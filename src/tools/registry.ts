import { CountersignError } from '../contract/errors';
import { SAFETIES, type Safety } from '../contract/tool';
import { fitsPattern, nearHint } from './tool-names';
import type { FunctionSchema, Tool } from './types';

/** Selects tools; without a field, all tools. */
export interface ToolFilter {
  /** The highest safety that passes the filter. */
  maxSafety?: Safety;
  category?: string;
  /** Names of tools, with `*` for any letters. */
  names?: readonly string[];
}

/** Tools by name. Immutable; made by `createRegistry`. */
export interface Registry {
  get(name: string): Tool | undefined;
  /**
   * The tools in the order in which they were given.
   *
   * @throws CountersignError `config_invalid` if one of `names` fits no tool, because a mistyped name would leave it out.
   * @example createRegistry(createWorkspaceTools({ root: '.' })).list({ names: ['read_*', 'list_files'] })
   */
  list(filter?: ToolFilter): Tool[];
  /** The `tools` of an OpenAI request. */
  functions(filter?: ToolFilter): FunctionSchema[];
}

/**
 * A registry of tools.
 *
 * @throws CountersignError `config_invalid` if two tools have one name, or something is not a tool.
 */
export function createRegistry(tools: readonly Tool[]): Registry {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    assertTool(tool);
    if (byName.has(tool.name))
      throw invalid(`there are two tools named \`${tool.name}\``, 'Give each tool a name of its own.');
    byName.set(tool.name, tool);
  }
  const list = (filter: ToolFilter = {}): Tool[] => {
    requireNames(filter, [...byName.keys()]);
    return [...byName.values()].filter((tool) => passes(tool, filter));
  };
  return Object.freeze<Registry>({
    get: (name) => byName.get(name),
    list,
    functions: (filter) => list(filter).map(toFunctionSchema),
  });
}

function requireNames({ names = [] }: ToolFilter, all: readonly string[]) {
  const lost = names.find((pattern) => !all.some((name) => fitsPattern(pattern, name)));
  if (lost === undefined) return;
  throw invalid(`no tool is called ${lost}${nearHint(lost, all)}`, 'Correct the name, or leave it out.');
}

function passes(tool: Tool, { maxSafety = 'dangerous', category, names }: ToolFilter) {
  if (SAFETIES.indexOf(tool.safety) > SAFETIES.indexOf(maxSafety)) return false;
  if (names !== undefined && !names.some((pattern) => fitsPattern(pattern, tool.name))) return false;
  return category === undefined || tool.categories.includes(category);
}

/** A tool in the form that models get. */
export function toFunctionSchema({ name, description, schema }: Tool): FunctionSchema {
  return { type: 'function', function: { name, description, parameters: schema } };
}

/** The average number of bytes that providers count as one token of English or JSON. */
const BYTES_OF_A_TOKEN = 4;

/** Estimates how many tokens of a model's context tool definitions take. Each provider counts in its own way. */
export function estimateTokens(functions: readonly FunctionSchema[]): number {
  const bytes = functions.reduce((sum, one) => sum + Buffer.byteLength(JSON.stringify(one)), 0);
  return Math.ceil(bytes / BYTES_OF_A_TOKEN);
}

function assertTool(tool: unknown) {
  const isTool = typeof tool === 'object' && tool !== null && 'digest' in tool && 'handle' in tool;
  if (!isTool)
    throw invalid(
      'something in the list is not a tool',
      'Make each tool with defineTool; spread a pack that is a list.',
    );
}

function invalid(message: string, hint: string) {
  return new CountersignError('config_invalid', message, hint);
}
