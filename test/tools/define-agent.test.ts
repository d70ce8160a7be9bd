import { LIMITS } from '../../src/contract/limits';
import { defineAgent, isAgent, withTools } from '../../src/tools/define-agent';
import type { Model } from '../../src/models/model';
import { makeTool } from './support';

const model: Model = {
  id: 'test',
  generate: async () => ({ text: '', toolCalls: [], finishReason: 'stop' }),
};
const valid = { name: 'clerk', instructions: 'Be kind.', model, tools: [makeTool()] };

it('fills in the defaults', () => {
  const agent = defineAgent(valid);
  expect(agent).toMatchObject({
    name: 'clerk',
    instructions: 'Be kind.',
    policy: undefined,
    order: 'lane',
    maxSteps: LIMITS.stepsPerTurn,
    modelTimeoutMs: 300_000,
  });
  expect(agent.model).toBe(model);
  expect(agent.registry.get('echo')).toBeDefined();
  expect(Object.isFrozen(agent)).toBe(true);
  expect(isAgent(agent)).toBe(true);
});

it('takes what is given', () => {
  const policy = () => 'ask' as const;
  const agent = defineAgent({ ...valid, policy, order: 'strict', limits: { steps: 3, modelTimeout: '30s' } });
  expect(agent).toMatchObject({ policy, order: 'strict', maxSteps: 3, modelTimeoutMs: 30_000 });
});

it('may have no tools', () => {
  expect(defineAgent({ ...valid, tools: [] }).registry.list()).toEqual([]);
});

it.each<[string, object, RegExp]>([
  ['a name with capitals', { name: 'Clerk' }, /agent `Clerk`.*`name`/],
  ['a name with a space', { name: 'a b' }, /`name`/],
  ['an empty name', { name: '' }, /without a name/],
  ['no name', { name: undefined }, /without a name/],
  ['empty instructions', { instructions: ' ' }, /`instructions`/],
  ['no model', { model: undefined }, /`model` must be a model/],
  ['a model by name', { model: 'gpt' }, /`model` must be a model/],
  ['a model without generate', { model: { id: 'x' } }, /`model` must be a model/],
  ['tools that are no list', { tools: makeTool() }, /`tools` must be a list/],
  ['a list in the list of tools', { tools: [[makeTool()]] }, /is not a tool/],
  ['two tools of one name', { tools: [makeTool(), makeTool()] }, /two tools named `echo`/],
  ['text that names no tool of a server', { tools: ['read_file'] }, /`server__tool`/],
  ['all tools of all servers', { tools: ['*'] }, /`server__\*`/],
  ['a policy that is no function', { policy: 'ask' }, /`policy`/],
  ['an unknown order', { order: 'random' }, /`order`/],
  ['no steps', { limits: { steps: 0 } }, /`limits.steps`/],
  ['half a step', { limits: { steps: 1.5 } }, /`limits.steps`/],
  ['a time that is none', { limits: { modelTimeout: 'soon' } }, /`limits.modelTimeout` 'soon' is not a time/],
  ['a search over no tool', { findTools: { over: 0 } }, /`findTools/],
  ['a search with an option that does not exist', { findTools: { most: 3 } }, /`findTools/],
  ['a core that is no name', { findTools: { core: ['Read File'] } }, /`findTools/],
  ['an option that does not exist', { tool: [] }, /tool/],
])('refuses %s', (_, changes, message) => {
  expect(() => Reflect.apply(defineAgent, undefined, [{ ...valid, ...changes }])).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) }),
  );
});

it.each([[undefined], [null], [{}], [valid], ['clerk']])('%p is not an agent', (value) => {
  expect(isAgent(value)).toBe(false);
});

it('keeps the names of tools of servers apart from its own tools', () => {
  const agent = defineAgent({ ...valid, tools: ['files__*', makeTool(), 'a_b__read'] });
  expect(agent.toolPatterns).toEqual(['files__*', 'a_b__read']);
  expect(agent.registry.list()).toHaveLength(1);
});

describe('withTools', () => {
  const agent = defineAgent(valid);

  it('adds tools to those that are there', () => {
    const more = withTools(agent, [makeTool({ name: 'files__read' })]);
    expect(more.registry.list().map(({ name }) => name)).toEqual(['echo', 'files__read']);
    expect({ isAgent: isAgent(more), isFrozen: Object.isFrozen(more) }).toEqual({
      isAgent: true,
      isFrozen: true,
    });
  });

  it('refuses one that has the name of another', () => {
    expect(() => withTools(agent, [makeTool()])).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });
});
