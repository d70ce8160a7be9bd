import { toolSummaryLines } from '../../../src/cli/commands/mcp';
import type { ToolReport } from '../../../src/cli/mcp-servers';
import { testScreen } from '../support';

const tool = (name: string, description: string, annotations?: { readOnlyHint: boolean }): ToolReport => ({
  ...{ tool: name, name: `files__${name}`, standing: 'new' },
  definition: { name, description, inputSchema: {}, annotations },
});

it('names the tools of a server in a line each, before their definitions', () => {
  const tools = [tool('read', 'Reads a file.', { readOnlyHint: true }), tool('write', 'Writes\na file.')];
  expect(toolSummaryLines(tools, testScreen())).toEqual([
    '',
    'TOOL   IS   SAYS IT     DESCRIPTION',
    'read   new  only reads  Reads a file.',
    'write  new              Writes\\na file.',
    '',
    'In full:',
  ]);
});

it('says nothing twice of a single tool', () => {
  expect(toolSummaryLines([tool('read', 'Reads.')], testScreen())).toEqual([]);
});
