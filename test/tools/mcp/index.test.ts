import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scriptedModel } from '../../../src/models/scripted';
import { defineAgent } from '../../../src/tools/define-agent';
import { type ConfigOptions, defineConfig } from '../../../src/tools/define-config';
import { openConfig, type OpenConfig } from '../../../src/tools/mcp';
import { formatLock } from '../../../src/tools/mcp/lock';
import { createSecrets } from '../../../src/tools/secrets';
import type { Tool } from '../../../src/tools/types';
import { scratchDirectory } from '../../support/scratch';
import { makeTool } from '../support';
import { allow, HOSTILE, hostile } from './support';

const scratch = scratchDirectory();
const opened: OpenConfig[] = [];
afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));

const open = async (tools: (Tool | string)[], options: Partial<ConfigOptions> = {}) => {
  const mcpLock = join(scratch(), 'lock');
  writeFileSync(mcpLock, formatLock({ version: 1, servers: { hostile: await allow(hostile()) } }));
  const agent = defineAgent({ name: 'clerk', instructions: 'x', model: scriptedModel([]), tools });
  const mcpServers = { hostile: { command: process.execPath, args: [HOSTILE] } };
  const warnings: string[] = [];
  const deps = { secrets: createSecrets(), warn: (line: string) => void warnings.push(line) };
  const one = await openConfig(defineConfig({ agents: [agent], mcpServers, mcpLock, ...options }), deps);
  opened.push(one);
  return { names: one.config.agents[0]?.registry.list().map(({ name }) => name), warnings };
};

it.each([
  ['all of a server', ['hostile__*'], ['hostile__act']],
  ['one', ['hostile__act'], ['hostile__act']],
  ['parts of a name', ['hostile__*c*'], ['hostile__act']],
  ['two ways to one', ['hostile__*', 'hostile__act'], ['hostile__act']],
  ['none', [], []],
])('gives an agent the tools that it names: %s', async (_case, tools, names) => {
  expect(await open(tools)).toEqual({ names, warnings: [] });
});

it.each(['hostile__*x', 'hostile__a', 'hostile__act_', 'hostile__ct*', 'other__*'])(
  'warns of %s, because nobody has allowed such a tool',
  async (pattern) => {
    expect(await open([pattern])).toEqual({ names: [], warnings: [expect.stringContaining(pattern)] });
  },
);

it('refuses a server whose tool has the name of an own one', async () => {
  const own = makeTool({ name: 'hostile__act' });
  await expect(open([own, 'hostile__*'])).rejects.toMatchObject({ code: 'tool_invalid' });
});

it('refuses settings for a server that does not exist, and settings that no tool may have', async () => {
  const wrong = { mcpTools: { other__act: { safety: 'safe' } } } as const;
  await expect(open(['hostile__*'], wrong)).rejects.toMatchObject({ code: 'config_invalid' });
  const odd = { mcpTools: { hostile__act: { timeout: 'soon' } } } as const;
  await expect(open(['hostile__*'], odd)).rejects.toMatchObject({ code: 'tool_invalid' });
});

it('warns where an agent names tools of servers and there are none', async () => {
  const agent = defineAgent({ name: 'a', instructions: 'x', model: scriptedModel([]), tools: ['x__*'] });
  const config = defineConfig({ agents: [agent] });
  const warnings: string[] = [];
  const one = await openConfig(config, {
    secrets: createSecrets(),
    warn: (line) => void warnings.push(line),
  });
  expect({ same: one.config === config, warnings }).toEqual({
    same: true,
    warnings: [expect.stringContaining('mcpServers')],
  });
});
