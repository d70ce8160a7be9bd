import type { FilePlan, Preview } from '../../src/contract/plan';
import type { JsonObject } from '../../src/contract/json';
import type { JsonSchema } from '../../src/contract/tool';
import { defineTool } from '../../src/tools/define-tool';
import { ToolError } from '../../src/tools/errors';
import type { Tool } from '../../src/tools/types';
import type { Effects } from './effects';

const SCHEMA: JsonSchema = {
  type: 'object',
  properties: { tag: { type: 'string' }, lines: { type: 'array', items: { type: 'string' } } },
  required: ['tag', 'lines'],
  additionalProperties: false,
};

const linesOf = (args: JsonObject): string[] =>
  Array.isArray(args['lines']) ? args['lines'].map(String) : [];

/** A plan that adds each line as a hunk of its own. */
function planOf(lines: readonly string[]): FilePlan {
  return {
    path: 'list.txt',
    baseHash: null,
    targetHash: lines.join(),
    encoding: 'utf8',
    hunks: lines.map((line, index) => ({
      id: String(index + 1),
      oldStart: index,
      oldLines: 0,
      newStart: index + 1,
      newLines: 1,
      lines: [`+${line}`],
    })),
  };
}

/**
 * `propose_lines`: its preview plans, its handler writes the approved hunks to the effects as `propose_lines <tag> <lines>`.
 * It cannot plan a line that is called `bad`; without a line there is a preview and no plan.
 */
export function planTool(effects: Effects): Tool {
  return defineTool<JsonSchema>({
    name: 'propose_lines',
    description: 'Proposes lines.',
    safety: 'dangerous',
    parameters: SCHEMA,
    preview: (args): Preview => {
      const lines = linesOf(args);
      if (lines.includes('bad')) throw new ToolError('a bad line cannot be planned');
      const text = lines.map((line) => `+${line}`).join('\n');
      return lines.length === 0 ? { text } : { text, plan: planOf(lines) };
    },
    handler: async (args, { plan, hunks }) => {
      const accepted = plan?.hunks.filter(({ id }) => hunks?.includes(id) ?? true) ?? [];
      const lines = accepted.flatMap((hunk) => hunk.lines).join('');
      await effects.add(`propose_lines ${String(args['tag'])} ${lines}`);
      return `wrote ${lines}`;
    },
  });
}
