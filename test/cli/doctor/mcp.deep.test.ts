import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkMcp } from '../../../src/cli/doctor/mcp';
import { scriptedModel } from '../../../src/models/scripted';
import { defineAgent } from '../../../src/tools/define-agent';
import { type Config, defineConfig } from '../../../src/tools/define-config';
import { formatLock, type LockedServer } from '../../../src/tools/mcp/lock-file';
import { oauthServers } from '../../support/mcp-oauth';
import { scratchDirectory } from '../../support/scratch';
import { logIn, loginsUnder } from '../../tools/mcp/login-support';
import { allow, HOSTILE, hostile } from '../../tools/mcp/support';

const scratch = scratchDirectory();
loginsUnder(scratch);
const servers = oauthServers();
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

  it('says about how many tokens its tools cost', async () => {
    const [finding] = await checkMcp(configWith(await allow(hostile())));
    expect(finding?.detail).toMatch(/^1 tool as allowed, about \d+ tokens$/);
  });

  it('finds one that nobody has allowed, one that is different, and one that does not answer', async () => {
    expect(await findings(configWith())).toEqual([['MCP server hostile', 'warning']]);
    const locked = await allow(hostile());
    expect(await findings(configWith({ ...locked, tools: {} }))).toEqual([['MCP server hostile', 'warning']]);
    const start = { command: '/nowhere/server', args: [], cwd: '.', env: {} };
    const down = configWith({ start, tools: locked.tools }, { hostile: { command: '/nowhere/server' } });
    expect(await findings(down)).toEqual([['MCP server hostile', 'bad']]);
  });

  it('says how to log in to a server that asks for it', async () => {
    const { mcp } = await servers.pair();
    const mcpLock = join(scratch(), 'lock');
    const start = { url: mcp.url, headers: {} };
    writeFileSync(mcpLock, formatLock({ version: 1, servers: { far: { start, tools: {} } } }));
    const config = defineConfig({ agents, mcpServers: { far: { url: mcp.url } }, mcpLock });
    expect(await checkMcp(config)).toMatchObject([{ state: 'bad', todo: 'countersign mcp login far' }]);
    await logIn(mcp.url);
    expect(await findings(config)).toEqual([['MCP server far', 'warning']]);
  });

  it('finds a lock that cannot be read', async () => {
    const config = configWith();
    writeFileSync(config.mcpLock, 'x');
    expect(await findings(config)).toEqual([['MCP servers', 'bad']]);
  });
});
