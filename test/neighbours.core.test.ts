import { connect, type Countersign } from '../src/client';
import { checkAgents, checkQueue } from '../src/cli/doctor/server';
import type { Finding } from '../src/cli/doctor/machine';
import { workersOf } from '../src/client/pollers';
import { scriptedModel } from '../src/models/scripted';
import { defineAgent, type Agent } from '../src/tools/define-agent';
import { defineTool, type ToolOptions } from '../src/tools/define-tool';
import type { Tool } from '../src/tools/types';
import type { RunningWorker } from '../src/worker';
import { startFixture, type Fixture, type TurnHandle } from './support/fixture';
import { waitFor } from './support/turns';
import { until } from './support/until';

let fixture: Fixture;
let client: Countersign;
let warnings: string[];

beforeEach(async () => {
  warnings = [];
  fixture = await startFixture({ workers: 0, agents: [agent('ops')] });
  client = await connect({ client: fixture.client });
});
afterEach(() => fixture.stop());

const tool = (name: string, more: Partial<ToolOptions> = {}): Tool =>
  defineTool({
    name,
    description: `The tool ${name}.`,
    parameters: { type: 'object' },
    handler: () => 'done',
    ...more,
  });
const agent = (name: string, ...tools: Tool[]): Agent => {
  const model = scriptedModel([{ toolCalls: [{ name: 'pay', arguments: {} }] }, { text: 'done' }]);
  return defineAgent({ name, instructions: 'do', model, tools });
};

/** A worker with these agents on the queue of the fixture; what it says at start is kept. */
const worker = (...agents: Agent[]): Promise<RunningWorker> =>
  fixture.addWorker({ warn: (line) => warnings.push(line) }, { agents });

const names = async (): Promise<string[]> => {
  const queue = { name: fixture.taskQueue, half: 'turns' } as const;
  const live = await workersOf(fixture.client.connection, client.namespace, queue);
  return live.map(({ identity }) => identity).sort();
};
const polling = (count: number): Promise<string[]> =>
  until(`${count} workers that poll`, async () => {
    const live = await names();
    return live.length === count && live;
  });
const doctor = (): Promise<Finding> => checkQueue(client, { name: fixture.taskQueue, half: 'turns' });
const agentsFinding = (): Promise<Finding> => checkAgents(client, fixture.taskQueue);

it.each<[string, () => Agent[], () => Agent[]]>([
  ['another agent', () => [agent('ops')], () => [agent('other')]],
  ['one agent more', () => [agent('ops')], () => [agent('ops'), agent('other')]],
  ['another tool', () => [agent('ops', tool('pay'))], () => [agent('ops', tool('look'))]],
  [
    'a tool that changed',
    () => [agent('ops', tool('pay'))],
    () => [agent('ops', tool('pay', { description: 'New.' }))],
  ],
])('a worker with %s than the one that is there says so once, and doctor does', async (_, there, comes) => {
  await worker(...there());
  const [first] = await polling(1);
  expect(first).toMatch(/^\d+@[^#@]+#[0-9a-f]{8}$/);
  expect(warnings).toEqual([]);
  await worker(...comes());
  expect(warnings).toEqual([
    expect.stringContaining(
      `queue "${fixture.taskQueue}" has workers with other agents or tools: "${first}". `,
    ),
  ]);
  const both = await polling(2);
  const finding = await doctor();
  expect(finding).toMatchObject({
    state: 'warning',
    detail: expect.stringContaining('different agents or tools'),
  });
  for (const name of both) expect(finding.detail).toContain(name);
});

it('says nothing beside a worker with the same agents and tools, nor after another one that ended', async () => {
  await worker(agent('ops', tool('pay')));
  await polling(1);
  await worker(agent('ops', tool('pay')));
  expect(warnings).toEqual([]);
  const other = await worker(agent('other'));
  expect(warnings).toHaveLength(1);
  await polling(2);
  await other.stop();
  await polling(1);
  await worker(agent('ops', tool('pay')));
  expect(warnings).toHaveLength(1);
});

it('doctor names only workers that live', async () => {
  const gone = await worker(agent('other'));
  const [name] = await polling(1);
  await gone.stop();
  expect(await doctor()).toMatchObject({ state: 'bad', detail: 'no worker takes work from it' });
  await worker(agent('ops'));
  const [live] = await polling(1);
  expect(live).not.toBe(name);
  expect(await doctor()).toMatchObject({ state: 'ok', detail: `workers: ${live}` });
});

it('doctor names an agent that an open turn needs and no worker has, until a worker brings it', async () => {
  expect(await agentsFinding()).toMatchObject({ state: 'skipped' });
  const before = await worker(agent('ops', tool('pay', { safety: 'dangerous' })));
  const { turn } = await client.start({ agent: 'ops', prompt: 'pay it', taskQueue: fixture.taskQueue });
  const handle: TurnHandle = fixture.client.workflow.getHandle(turn);
  await waitFor(handle, '1.1');
  await before.stop();
  await worker(agent('other'), agent('more'));
  const lacking = await until('the worker to tell its agents', async () => {
    const finding = await agentsFinding();
    return finding.state === 'warning' && finding;
  });
  expect(lacking.detail).toBe(`no worker with agent "ops" here, which turn ${turn} needs`);
  await worker(agent('ops', tool('pay', { safety: 'dangerous' })));
  await until('no agent to be lacking', async () => (await agentsFinding()).state === 'ok');
  await handle.terminate();
});
