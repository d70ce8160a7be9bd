import { TASK_QUEUE } from '../../src/contract/names';
import { defineAgent } from '../../src/tools/define-agent';
import { defineConfig, toConfig, withAgents } from '../../src/tools/define-config';
import { inPlace } from '../../src/tools/define-tool';
import { inProcess } from '../../src/tools/run-handler';
import type { Tool } from '../../src/tools/types';
import { makeTool } from './support';

const model = { id: 'test', generate: async () => ({ text: '', toolCalls: [], finishReason: 'stop' }) };
const agentOf = (name: string, tools: Tool[] = []) =>
  defineAgent({ name, instructions: 'Be kind.', model, tools });
const clerk = agentOf('clerk');
const rich = defineAgent({ name: 'rich', instructions: 'Pay.', model, tools: [], budget: { money: 1 } });

const slowOf = (state: Tool['state']) =>
  agentOf('slow', [makeTool({ name: 'slow_tool', taskQueue: 'slow', state })]);

it('fills in the defaults', () => {
  expect(defineConfig({ agents: [clerk] })).toEqual({
    agents: [clerk],
    taskQueue: TASK_QUEUE,
    hooks: {},
    log: { level: 'INFO', calls: true },
    stateDir: undefined,
    agentWaitMs: 600_000,
    runner: inProcess,
    mcpTools: {},
    hookTools: {},
    pricing: { currency: 'USD', prices: {} },
    traces: { content: false },
    callsPerMinute: {},
    mcpLock: 'countersign.mcp.lock',
  });
});

it('takes a limit of a queue that tools have', () => {
  const config = defineConfig({ agents: [slowOf('call')], callsPerMinute: { slow: 0.5 } });
  expect(config.callsPerMinute).toEqual({ slow: 0.5 });
});

it('keeps hooks as they are given: they may have a state of their own', () => {
  class Store {
    before(): void {}
  }
  const hooks = new Store();
  expect(defineConfig({ agents: [clerk], hooks }).hooks).toBe(hooks);
});

it.each<[string, object, RegExp]>([
  ['no agents', { agents: [] }, /`agents` must name at least one/],
  ['something else than an agent', { agents: [{ name: 'x' }] }, /`agents.0` must be made with defineAgent/],
  ['two agents of one name', { agents: [clerk, agentOf('clerk')] }, /two agents named `clerk`/],
  ['an empty queue', { taskQueue: '' }, /`taskQueue`/],
  ['a hook that is no function', { hooks: { before: 1 } }, /`hooks.before`/],
  ['a currency that is none', { currency: 'euros' }, /`currency` must be three capital letters/],
  ['a negative price', { prices: { m: { input: -1, output: 1 } } }, /`prices.m.input`/],
  [
    'a budget of money without a price',
    { agents: [rich], prices: { other: { input: 1, output: 1 } } },
    /`budget.money` of agent rich needs a price of the model "test"/,
  ],
  ['a limit of no calls', { callsPerMinute: { slow: 0 } }, /`callsPerMinute.slow`/],
  [
    'a limit of a queue that no tool has',
    { callsPerMinute: { slow: 60 } },
    /of the queue `slow` is for nothing/,
  ],
  ['a limit of its own queue', { callsPerMinute: { [TASK_QUEUE]: 60 } }, /would hold model calls too/],
  [
    'a limit of a queue whose calls go by another one',
    { agents: [slowOf('session')], callsPerMinute: { slow: 60 } },
    /would not hold `slow_tool`/,
  ],
  ['an unknown level', { log: { level: 'loud' } }, /`log.level`/],
  ['a runner that is no function', { runner: {} }, /`runner`/],
  ['an option that does not exist', { agnets: [] }, /agnets/],
])('refuses %s', (_, changes, message) => {
  expect(() => Reflect.apply(defineConfig, undefined, [{ agents: [clerk], ...changes }])).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) }),
  );
});

it('refuses to be given nothing', () => {
  expect(() => Reflect.apply(defineConfig, undefined, [])).toThrow(
    expect.objectContaining({ code: 'config_invalid' }),
  );
});

describe('one name on one queue is one tool', () => {
  it('two agents may have the same tool in two places', () => {
    const agents = ['/a', '/b'].map((root, index) =>
      agentOf(`agent${index}`, [inPlace(makeTool(), { root })]),
    );
    const [one, other] = agents.map(({ registry }) => registry.list()[0]?.digest);
    expect(one).not.toBe(other);
    expect(() => defineConfig({ agents })).not.toThrow();
  });

  it('two tools with one name in one place are refused', () => {
    const tools = ['Reads.', 'Writes.'].map((description) =>
      inPlace(makeTool({ description }), { root: '/a' }),
    );
    const agents = tools.map((tool, index) => agentOf(`agent${index}`, [tool]));
    expect(() => defineConfig({ agents })).toThrow('two different tools are named');
  });

  const one = makeTool();
  const other = makeTool({ description: 'Something else.' });

  it.each<[string, Tool, Tool]>([
    ['the same tool', one, one],
    ['the same definition', one, makeTool()],
    ['different ones on different queues', one, makeTool({ description: 'x', taskQueue: 'gpu' })],
  ])('%s', (_, a, b) => {
    expect(() => defineConfig({ agents: [agentOf('a', [a]), agentOf('b', [b])] })).not.toThrow();
  });

  it.each<[string, Tool, Tool]>([
    ['different ones', one, other],
    [
      'different ones, where one names the queue they share',
      one,
      makeTool({ description: 'x', taskQueue: TASK_QUEUE }),
    ],
  ])('not %s', (_, a, b) => {
    expect(() => defineConfig({ agents: [agentOf('a', [a]), agentOf('b', [b])] })).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: expect.stringContaining('`echo` on the queue `countersign`'),
      }),
    );
  });
});

describe('toConfig', () => {
  const config = defineConfig({ agents: [clerk], taskQueue: 'x' });

  it('takes a config, an agent and a list of agents', () => {
    expect(toConfig(config)).toBe(config);
    expect(toConfig(clerk).agents).toEqual([clerk]);
    expect(toConfig([clerk, agentOf('b')]).agents).toHaveLength(2);
  });

  it.each<[unknown, RegExp]>([
    [undefined, /missing/],
    [null, /null/],
    ['clerk', /a string/],
    [() => clerk, /a function/],
    [[], /an empty list/],
    [[clerk, 1], /is not an agent/],
    [{ name: 'clerk', tools: [] }, /an object with the keys name, tools/],
    [{}, /\(none\)/],
  ])('%p: says what was found', (odd, message) => {
    expect(() => toConfig(odd)).toThrow(
      expect.objectContaining({
        code: 'config_invalid',
        message: expect.stringMatching(message),
        hint: expect.stringContaining('defineAgent'),
      }),
    );
  });
});

describe('withAgents', () => {
  it('keeps all else, and is a config still', () => {
    const config = defineConfig({ agents: [clerk], taskQueue: 'x' });
    const other = withAgents(config, [agentOf('b')]);
    expect(other).toMatchObject({ taskQueue: 'x', agents: [{ name: 'b' }] });
    expect(toConfig(other)).toBe(other);
  });

  it('refuses agents whose tools of one name differ', () => {
    const agents = ['a', 'b'].map((name) => agentOf(name, [makeTool({ description: name })]));
    const config = defineConfig({ agents: [clerk] });
    expect(() => withAgents(config, agents)).toThrow(expect.objectContaining({ code: 'config_invalid' }));
  });
});
