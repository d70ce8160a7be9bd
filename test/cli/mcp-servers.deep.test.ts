import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  isFine,
  listTools,
  namedServers,
  reportAgreed,
  reportLive,
  toolReports,
} from '../../src/cli/mcp-servers';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { type Config, defineConfig } from '../../src/tools/define-config';
import { formatLock, type LockedServer, lockTool } from '../../src/tools/mcp/lock-file';
import { scratchDirectory } from '../support/scratch';
import { allow, HOSTILE, hostile } from '../tools/mcp/support';

const scratch = scratchDirectory();
const agents = [defineAgent({ name: 'clerk', instructions: 'x', model: scriptedModel([]), tools: [] })];

const configWith = (locked?: LockedServer, more: object = {}): Config => {
  const mcpLock = join(scratch(), 'lock');
  if (locked !== undefined) writeFileSync(mcpLock, formatLock({ version: 1, servers: { hostile: locked } }));
  const mcpServers = { hostile: { command: process.execPath, args: [HOSTILE] }, ...more };
  return defineConfig({ agents, mcpServers, mcpLock });
};

const reports = async (config: Config) =>
  Promise.all((await namedServers(config)).map((one) => reportLive(one, config)));

it('finds the servers of a config, or the one of a name', async () => {
  const config = configWith(undefined, { far: { url: 'https://example.com' } });
  expect((await namedServers(config)).map(({ server }) => server.name)).toEqual(['hostile', 'far']);
  expect((await namedServers(config, 'far')).map(({ server }) => server.name)).toEqual(['far']);
  await expect(namedServers(config, 'other')).rejects.toMatchObject({ code: 'usage' });
});

it('starts no server that nobody has allowed', async () => {
  const [report] = await reports(configWith());
  expect(report).toMatchObject({
    state: 'not_allowed',
    tools: [],
    why: expect.stringContaining('mcp allow hostile'),
  });
});

it('says how each tool stands, and which cannot be used', async () => {
  const locked = await allow(hostile());
  const gone = lockTool({ name: 'gone', inputSchema: { type: 'object' } });
  const config = configWith({ ...locked, tools: { ...locked.tools, gone } });
  const [report] = await reports(config);
  if (report === undefined) throw new Error('no report');
  expect(report.tools.map(({ tool, standing }) => [tool, standing])).toEqual([
    ['act', 'allowed'],
    ['gone', 'gone'],
  ]);
  expect(isFine(report)).toBe(false);
  const [named] = await namedServers(config);
  if (named === undefined) throw new Error('no server');
  expect(reportAgreed(named).tools).toHaveLength(2);
  const listed = [...(await listTools(named.server, config)), { name: 'big', unfit: 'too long' }];
  expect(toolReports(named, listed).find(({ tool }) => tool === 'big')).toEqual({
    tool: 'big',
    name: null,
    standing: 'unfit',
    why: 'too long',
  });
});
