import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkMcp } from '../../../src/cli/doctor/mcp';
import { scriptedModel } from '../../../src/models/scripted';
import { defineAgent } from '../../../src/tools/define-agent';
import { type Config, defineConfig } from '../../../src/tools/define-config';
import { formatLock, type LockedServer } from '../../../src/tools/mcp/lock';
import { scratchDirectory } from '../../support/scratch';
import { allow, HOSTILE, hostile } from '../../tools/mcp/support';

const scratch = scratchDirectory();
const agents = [defineAgent({ name: 'clerk', instructions: 'x', model: scriptedModel([]), tools: [] })];

const configWith = (locked?: LockedServer, more: object = {}): Config => {
  const mcpLock = join(scratch(), 'lock');
  if (locked !== undefined) writeFileSync(mcpLock, formatLock({ version: 1, servers: { hostile: locked } }));
  const mcpServers = { hostile: { command: process.execPath, args: [HOSTILE] }, ...more };
  return defineConfig({ agents, mcpServers, mcpLock });
};

describe('doctor', () => {
  const findings = async (config: Config) => (await checkMcp(config)).map(({ name, state }) => [name, state]);

  it('finds a server that answers as was allowed', async () => {
    expect(await findings(configWith(await allow(hostile())))).toEqual([['MCP server hostile', 'ok']]);
  });

  it('finds one that nobody has allowed, one that is different, and one that does not answer', async () => {
    expect(await findings(configWith())).toEqual([['MCP server hostile', 'warning']]);
    const locked = await allow(hostile());
    expect(await findings(configWith({ ...locked, tools: {} }))).toEqual([['MCP server hostile', 'warning']]);
    const start = { command: '/nowhere/server', args: [], cwd: '.', env: {} };
    const down = configWith({ start, tools: locked.tools }, { hostile: { command: '/nowhere/server' } });
    expect(await findings(down)).toEqual([['MCP server hostile', 'bad']]);
  });

  it('finds a lock that cannot be read', async () => {
    const config = configWith();
    writeFileSync(config.mcpLock, 'x');
    expect(await findings(config)).toEqual([['MCP servers', 'bad']]);
  });
});
