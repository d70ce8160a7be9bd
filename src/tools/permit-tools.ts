import { z } from 'zod';
import { argumentsSummary } from '../contract/text/call-summary';
import { defineTool, toolOptions, type ToolOptions } from './define-tool';
import { toolName } from './mcp/definition';
import type { Tool } from './types';

/** The config's settings of a coding agent's own tool, whose calls wait for a decision. */
export type HookToolSettings = Pick<ToolOptions, keyof typeof SETTINGS>;

const SETTINGS = { categories: true, requestExpires: true, noBatch: true, noGrant: true } as const;

/** The schema of a config's option `hookTools`. */
export const hookToolsSchema = z.record(
  z.string().regex(/[A-Za-z0-9]/, 'is not a name of a tool'),
  toolOptions.pick(SETTINGS),
);

/** What such a call leaves on record: the agent runs it, and tells nobody how it ended. */
const PERMITTED = 'Permitted. The agent runs this call itself; its outcome is not known here.';

/** Our name of a coding agent's tool: `agent__bash` for `Bash`. Undefined if it cannot have one. */
export function permitName(name: string): string | undefined {
  return toolName('agent', name);
}

/** The tools by which people permit calls that a coding agent then runs itself. They have no effect of their own. */
export function permitTools(settings: Readonly<Record<string, HookToolSettings>>): Tool[] {
  return Object.entries(settings).map(([name, own]) =>
    defineTool({
      ...own,
      name: permitName(name) ?? '',
      description: `Permits a call of the tool ${name} that a coding agent runs itself.`,
      parameters: { type: 'object' },
      safety: 'dangerous',
      effect: 'pure',
      preview: (args) =>
        `${argumentsSummary(args)}\nA coding agent runs its tool ${name} with these arguments.`,
      handler: () => PERMITTED,
    }),
  );
}
