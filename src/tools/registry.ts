import { CountersignError } from '../contract/errors';
import { SAFETIES, type Safety } from '../contract/tool';
import type { FunctionSchema, Tool } from './types';

/** Which tools are meant; no field: all. */
export interface ToolFilter {
  /** The highest safety that is let through. */
  maxSafety?: Safety;
  category?: string;
}

/** Tools by name. Immutable; made by `createRegistry`. */
export interface Registry {
  get(name: string): Tool | undefined;
  /** In the order they were given. */
  list(filter?: ToolFilter): Tool[];
  /** The `tools` of an OpenAI request. */
  functions(filter?: ToolFilter): FunctionSchema[];
}

/**
 * A registry of tools.
 *
 * @throws CountersignError `tool_invalid` where two tools have one name, or something is not a tool.
 */
export function createRegistry(tools: readonly Tool[]): Registry {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    assertTool(tool);
    if (byName.has(tool.name))
      throw invalid(`there are two tools named \`${tool.name}\``, 'Give each tool a name of its own.');
    byName.set(tool.name, tool);
  }
  const list = (filter: ToolFilter = {}): Tool[] =>
    [...byName.values()].filter((tool) => passes(tool, filter));
  return Object.freeze<Registry>({
    get: (name) => byName.get(name),
    list,
    functions: (filter) => list(filter).map(toFunctionSchema),
  });
}

function passes(tool: Tool, { maxSafety = 'dangerous', category }: ToolFilter): boolean {
  if (SAFETIES.indexOf(tool.safety) > SAFETIES.indexOf(maxSafety)) return false;
  return category === undefined || tool.categories.includes(category);
}

function toFunctionSchema({ name, description, schema }: Tool): FunctionSchema {
  return { type: 'function', function: { name, description, parameters: schema } };
}

function assertTool(tool: unknown): void {
  const isTool = typeof tool === 'object' && tool !== null && 'digest' in tool && 'handle' in tool;
  if (!isTool)
    throw invalid(
      'something in the list is not a tool',
      'Make each tool with defineTool; spread a pack that is a list.',
    );
}

function invalid(message: string, hint: string): CountersignError {
  return new CountersignError('tool_invalid', message, { hint });
}
