import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openGatewayTools, type Served } from '../../src/gateway/tools';
import { scriptedModel } from '../../src/models/scripted';
import { type Agent, defineAgent } from '../../src/tools/define-agent';
import { defineConfig } from '../../src/tools/define-config';
import { declaredServers } from '../../src/tools/mcp/declare';
import type { Definition } from '../../src/tools/mcp/definition';
import { formatLock, lockStart, lockTool } from '../../src/tools/mcp/lock-file';
import { createSecrets } from '../../src/tools/secrets';

const folder = mkdtempSync(join(tmpdir(), 'countersign-gateway-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const program = (name: string) => ({ command: '/bin/false', args: [name] });
const inObject = { one: program('one'), two: program('two') };
const inFile = join(folder, '.mcp.json');
writeFileSync(inFile, JSON.stringify({ mcpServers: inObject }));
const definition: Definition = {
  name: 'look',
  description: 'Looks.',
  inputSchema: { type: 'object', properties: {} },
  outputSchema: { type: 'object', properties: {} },
};

/** Opens the tools of a gateway whose servers are never started. Only `one` is allowed. */
const open = async (mcpServers: typeof inObject | string, served: Served, agents: Agent[] = []) => {
  const [start] = (await declaredServers(mcpServers)).map((one) => lockStart(one.start));
  if (start === undefined) throw new Error('no server');
  const mcpLock = join(folder, 'lock');
  const one = { start, tools: { look: lockTool(definition) } };
  writeFileSync(mcpLock, formatLock({ version: 1, servers: { one } }));
  const mcpTools = { two__look: { safety: 'safe', effect: 'pure' } } as const;
  const config = defineConfig({ agents, mcpServers, mcpLock, mcpTools, hookTools: { Bash: {} } });
  const warnings: string[] = [];
  const tools = await openGatewayTools(config, served, {
    ...{ secrets: createSecrets(), warn: (line: string) => void warnings.push(line) },
    ...{ begun: new Promise(() => undefined), onGone: () => undefined },
  });
  await tools.close();
  return { tools, warnings };
};

describe.each([
  ['an object', inObject],
  ['a file', inFile],
])('with servers of %s', (_case, mcpServers) => {
  it('opens one server alone, under its own names and without a schema of results', async () => {
    const { tools, warnings } = await open(mcpServers, { server: 'one' });
    expect(warnings).toEqual([]);
    const { outputSchema: _, ...offered } = definition;
    expect(tools.offered()).toEqual([offered]);
    expect([tools.nameOf('look'), tools.nameOf('agent__bash')]).toEqual(['one__look', undefined]);
  });

  it('opens all that are allowed under our names, and names the others', async () => {
    const { tools, warnings } = await open(mcpServers, {});
    expect(tools.offered().map(({ name }) => name)).toEqual(['one__look']);
    expect(warnings[0]).toContain('two is not used: nobody has allowed it');
  });
});

it('takes the gateway of the config also if that names tools of other servers', async () => {
  const gateway = defineAgent({
    ...{ name: 'gateway', instructions: 'Run.', model: scriptedModel([]), tools: ['one__look', 'two__*'] },
  });
  const { tools } = await open(inObject, { server: 'one' }, [gateway]);
  expect(tools.offered().map(({ name }) => name)).toEqual(['look']);
});

it.each<[string, Served, string]>([
  ['a server that the config does not name', { server: 'three' }, 'the config names no MCP server three'],
  ['a server that nobody has allowed', { server: 'two' }, 'nobody has allowed it'],
  ['an agent that the config does not have', { agent: 'clerk' }, 'the config has no agent clerk'],
])('refuses %s with words', async (_case, served, words) => {
  await expect(open(inObject, served)).rejects.toThrow(words);
});
