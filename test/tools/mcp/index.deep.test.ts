import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { scriptedModel } from '../../../src/models/scripted';
import { type AgentOptions, defineAgent } from '../../../src/tools/define-agent';
import { type ConfigOptions, defineConfig } from '../../../src/tools/define-config';
import { openConfig, type OpenConfig } from '../../../src/tools/mcp';
import { formatLock, type LockedServer, lockStart, lockTool } from '../../../src/tools/mcp/lock-file';
import { createSecrets } from '../../../src/tools/secrets';
import type { Tool } from '../../../src/tools/types';
import { scratchDirectory } from '../../support/scratch';
import { makeTool } from '../support';
import { allow, HOSTILE, hostile } from './support';

const scratch = scratchDirectory();
const opened: OpenConfig[] = [];
afterEach(() => Promise.all(opened.splice(0).map((one) => one.close())));

/** A lock with these tools. */
const locked = (tools: LockedServer['tools']): LockedServer => ({ start: lockStart(hostile().start), tools });

const changed = (): LockedServer['tools'][string] =>
  lockTool({ name: 'act', description: 'As it was.', inputSchema: { type: 'object' } });

const BROKEN = { hostile: { command: process.execPath, args: ['-e', '0'] } };
const BROKEN_START = { command: process.execPath, args: ['-e', '0'], cwd: '.', env: {} };

type Options = Partial<ConfigOptions> & Pick<AgentOptions, 'findTools'>;

/** `agreed`: absent for all that the server lists; undefined for nothing. */
const open = async (
  tools: (Tool | string)[],
  { findTools, ...options }: Options = {},
  ...agreed: (LockedServer | undefined)[]
) => {
  const mcpLock = join(scratch(), 'lock');
  const [server] = agreed.length > 0 ? agreed : [await allow(hostile())];
  writeFileSync(
    mcpLock,
    formatLock({ version: 1, servers: server === undefined ? {} : { hostile: server } }),
  );
  const find = findTools === undefined ? {} : { findTools };
  const agent = defineAgent({ name: 'clerk', instructions: 'x', model: scriptedModel([]), tools, ...find });
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

it.each([
  ['hostile__*x', 'hostile__\\*'],
  ['hostile__a', 'hostile__\\*, hostile__act'],
  ['hostile__act_', 'hostile__act'],
  ['hostil__*', 'hostile__\\*'],
])('refuses %s, because there is no such tool, and names what is near', async (pattern, near) => {
  await expect(open([pattern])).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(`agent clerk: no tool is called .*; near it: .*${near}`),
  });
});

it.each<[string, string, LockedServer | undefined]>([
  ['that is new', 'hostile__a*', locked({})],
  ['that has changed', 'hostile__act', locked({ act: changed() })],
  [
    'that is gone',
    'hostile__gone',
    locked({ gone: lockTool({ name: 'gone', inputSchema: { type: 'object' } }) }),
  ],
  ['of a server that nobody has allowed', 'hostile__anything', undefined],
])('warns of a name of a tool %s, and starts without it', async (_case, pattern, agreed) => {
  const { names, warnings } = await open([pattern], {}, agreed);
  expect(names).toEqual([]);
  expect(warnings).toContain(`agent clerk: no allowed MCP tool is called ${pattern}`);
});

it('warns only, where the server cannot be asked which tools it has', async () => {
  const { names, warnings } = await open(
    ['hostile__other'],
    { mcpServers: BROKEN },
    { ...locked({}), start: BROKEN_START },
  );
  expect(names).toEqual([]);
  expect(warnings.join('\n')).toContain('could not be compared');
});

it('refuses a server whose tool has the name of an own one', async () => {
  const own = makeTool({ name: 'hostile__act' });
  await expect(open([own, 'hostile__*'])).rejects.toMatchObject({ code: 'config_invalid' });
});

it('refuses settings for a server that does not exist, and settings that no tool may have', async () => {
  const wrong = { mcpTools: { other__act: { safety: 'safe' } } } as const;
  await expect(open(['hostile__*'], wrong)).rejects.toMatchObject({ code: 'config_invalid' });
  const odd = { mcpTools: { hostile__act: { timeout: 'soon' } } } as const;
  await expect(open(['hostile__*'], odd)).rejects.toMatchObject({ code: 'config_invalid' });
});

it('refuses an agent that names tools of servers where the config has none', async () => {
  const agent = defineAgent({ name: 'a', instructions: 'x', model: scriptedModel([]), tools: ['x__*'] });
  const deps = { secrets: createSecrets(), warn: () => undefined };
  await expect(openConfig(defineConfig({ agents: [agent] }), deps)).rejects.toMatchObject({
    code: 'config_invalid',
    message: expect.stringContaining('mcpServers'),
  });
});

describe('tokens', () => {
  const long = (n: number): Tool => makeTool({ name: `long_${n}`, description: 'word '.repeat(1000) });
  const tools = Array.from({ length: 20 }, (_, n) => long(n));

  it('are reported when a worker starts, if a model gets very many with each request', async () => {
    const { warnings } = await open(tools);
    expect(warnings).toEqual([
      expect.stringMatching(
        /^agent clerk: the definitions of its 20 tools take about 25,\d+ tokens \(estimated\)/,
      ),
    ]);
  });

  it('are few if the model searches', async () => {
    expect((await open(tools, { findTools: { over: 10 } })).warnings).toEqual([]);
  });
});

describe('find_tools', () => {
  it('is there where the tools of servers make too many, and finds only what was allowed', async () => {
    const { names } = await open(['hostile__*', makeTool({ name: 'note' })], { findTools: { over: 1 } });
    expect(names).toEqual(['note', 'hostile__act', 'find_tools']);
    const fresh = await open(
      ['hostile__*', makeTool({ name: 'note' })],
      { findTools: { over: 1 } },
      locked({}),
    );
    expect(fresh.names).toEqual(['note']);
  });

  it.each([
    ['hostile__act', ['note', 'hostile__act']],
    ['note', ['note', 'hostile__act', 'find_tools']],
  ])('keeps %s in the core', async (core, names) => {
    const findTools = { over: 1, core: [core, 'note'] };
    expect((await open(['hostile__*', makeTool({ name: 'note' })], { findTools })).names).toEqual(names);
  });

  it('refuses a core that names no tool', async () => {
    const findTools = { core: ['hostile__acts'] };
    await expect(open(['hostile__*'], { findTools })).rejects.toMatchObject({ code: 'config_invalid' });
  });
});
