import { scriptedModel } from '../../../src/models/scripted';
import { agentTool, type AgentToolOptions, definitionOf } from '../../../src/tools/builtin/agent-tool';
import { type Agent, defineAgent } from '../../../src/tools/define-agent';
import { defineConfig } from '../../../src/tools/define-config';
import { createExecutor } from '../../../src/tools/executor';
import { createRegistry } from '../../../src/tools/registry';
import type { Tool } from '../../../src/tools/types';

const agentOf = (name: string, tools: Tool[] = []): Agent =>
  defineAgent({ name, instructions: 'x', model: scriptedModel([]), tools });
const helper = agentOf('my-helper');

it('has safe defaults', () => {
  const tool = agentTool(helper);
  expect(tool).toMatchObject({
    name: 'my_helper',
    safety: 'safe',
    effect: 'idempotent',
    child: { agent: 'my-helper', depth: 3, most: 50, taskQueue: undefined },
  });
  expect(tool.description).toContain('my-helper');
  expect(tool.child && definitionOf(tool.child)).toBe(helper);
});

it.each<[string, Agent | string, object, RegExp]>([
  ['an effect that may not run twice', helper, { effect: 'unsafe' }, /pure or idempotent/],
  ['a depth of 0', helper, { depth: 0 }, /depth/],
  ['a depth of 7', helper, { depth: 7 }, /depth/],
  ['no child turns at all', helper, { most: 0 }, /most/],
  ['a name that is none', helper, { name: 'No Name' }, /snake_case/],
  ['the reserved name', helper, { name: 'raise_budget' }, /reserved/],
  ['an unknown option', helper, { speed: 1 }, /speed/],
  ['a name without a description', 'nobody', {}, /description/],
  ['an empty queue', helper, { taskQueue: '' }, /taskQueue/],
])('refuses %s', (_name, agent, options, words) => {
  expect(() => agentTool(agent, options as AgentToolOptions)).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(words) }),
  );
});

it('another agent or queue is another tool', () => {
  const description = 'Helps.';
  const digests = [
    agentTool('a', { name: 'help', description }),
    agentTool('b', { name: 'help', description }),
    agentTool('b', { name: 'help', description, taskQueue: 'q' }),
  ].map(({ digest }) => digest);
  expect(new Set(digests).size).toBe(3);
});

it('a config has the agents of its tools, theirs too, once each', () => {
  const middle = agentOf('middle', [agentTool(helper)]);
  const top = agentOf('top', [agentTool(middle), agentTool(helper, { name: 'again' })]);
  const names = (agents: Agent[]) => defineConfig({ agents }).agents.map(({ name }) => name);
  expect(names([top])).toEqual(['top', 'middle', 'my-helper']);
  expect(names([helper, top])).toEqual(['my-helper', 'top', 'middle']);
});

it('an agent on another queue is not taken along; two of one name are refused', () => {
  const away = agentOf('top', [agentTool(helper, { taskQueue: 'elsewhere' })]);
  expect(defineConfig({ agents: [away] }).agents).toHaveLength(1);
  const clash = agentOf('top', [agentTool(agentOf('top'), { name: 'other' })]);
  expect(() => defineConfig({ agents: [clash] })).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  );
});

it('without a turn nothing runs, and that is said', async () => {
  const executor = createExecutor({ registry: createRegistry([agentTool(helper)]) });
  const result = await executor.execute({ name: 'my_helper', arguments: { task: 'x' } });
  expect(result).toMatchObject({ success: false, error: { code: 'tool' } });
  expect(result.error?.message).toContain('nothing ran');
});
