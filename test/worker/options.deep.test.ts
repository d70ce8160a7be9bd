import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, type Connection } from '@temporalio/client';
import { type BundleOptions, NativeConnection, Worker } from '@temporalio/worker';
import { connect, type Countersign } from '../../src/client';
import { bundleWorkflows } from '../../src/worker/bundle-workflows';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineConfig } from '../../src/tools/define-config';
import { defineTool, type ToolOptions } from '../../src/tools/define-tool';
import { startWorker } from '../../src/worker';
import { createWorkerOptions } from '../../src/worker/options';
import type { OwnWorkerOptions } from '../../src/worker/settings';
import { isAlive } from '../../src/system/lock';
import { formatLock } from '../../src/tools/mcp/lock-file';
import { allow, HOSTILE, hostile } from '../tools/mcp/support';
import { scratchDirectory } from '../support/scratch';
import { testAddress, testBundle, testConnection } from '../support/server';
import { listedItem } from '../support/turns';
import { until } from '../support/until';

const scratch = scratchDirectory();
const workflowsPath = require.resolve('../fixtures/own-workflows.ts');
let connection: Connection;
let client: Client;
let countersign: Countersign;

beforeAll(async () => {
  connection = await testConnection();
  client = new Client({ connection });
  countersign = await connect({ client });
});
afterAll(() => connection.close());

/** An agent with a dangerous tool, on a queue of its own. */
const makeConfig = (toolQueue?: string, more: Pick<ToolOptions, 'state'> = {}) => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    parameters: { type: 'object', properties: {} },
    safety: 'dangerous',
    handler: () => 'paid',
    ...(toolQueue === undefined ? {} : { taskQueue: toolQueue }),
    ...more,
  });
  const model = scriptedModel([{ toolCalls: [{ name: 'pay', arguments: {} }] }, { text: 'done' }]);
  const agent = defineAgent({ name: 'payer', instructions: 'Pay.', model, tools: [pay] });
  const taskQueue = `own-${randomUUID()}`;
  return defineConfig({ agents: [agent], taskQueue, stateDir: scratch(), log: { calls: false } });
};

const refunds: string[] = [];
const activities = {
  refund: (order: string, key: string): Promise<string> => {
    refunds.push(key);
    return Promise.resolve(`refunded ${order}`);
  },
};

/** Approves what the workflow asks, and returns what it then returns. */
const approved = async (type: string, taskQueue: string, arg: unknown): Promise<unknown> => {
  const handle = await client.workflow.start(type, {
    taskQueue,
    workflowId: `own-${randomUUID()}`,
    args: [arg],
  });
  const item = await listedItem(countersign, handle.workflowId);
  const { callId, seenDigest = '' } = item;
  await countersign.decide(item.turn, { callId, seenDigest, decision: 'approved' });
  return handle.result();
};
const turn = { agent: 'payer', prompt: 'pay' };

const own: OwnWorkerOptions = { workflowsPath, activities, maxConcurrentActivityTaskExecutions: 7 };

it.each([
  ['its own queue', undefined, undefined],
  ['the queue of the tool', 'far', 'far'],
])('one worker for %s refuses a tool with state and names startWorker', async (_, toolQueue, taskQueue) => {
  const native = await NativeConnection.connect({ address: testAddress() });
  try {
    const config = makeConfig(toolQueue, { state: 'turn' });
    const place = { config, connection: native, ...(taskQueue === undefined ? {} : { taskQueue }) };
    await expect(createWorkerOptions(place)).rejects.toMatchObject({
      code: 'config_invalid',
      message: 'the tool pay has state of a turn',
      hint: expect.stringContaining('startWorker'),
    });
  } finally {
    await native.close();
  }
});

it('one worker has nothing against state of tools on another queue', async () => {
  const native = await NativeConnection.connect({ address: testAddress() });
  try {
    const config = makeConfig('far', { state: 'turn' });
    await expect(createWorkerOptions({ config, connection: native })).resolves.toBeDefined();
  } finally {
    await native.close();
  }
});

it('startWorker runs turns beside workflows and activities of one’s own', async () => {
  const config = makeConfig();
  const worker = await startWorker({ config, address: testAddress(), logLevel: 'ERROR', worker: own });
  try {
    expect(await approved('refundOrder', config.taskQueue, '17')).toBe('refunded 17');
    expect(await approved('agentTurn', config.taskQueue, turn)).toMatchObject({ answer: 'done' });
    expect(refunds).toHaveLength(1);
  } finally {
    await worker.stop();
  }
});

it('Worker.create runs turns, its own workflows, and calls of a queue that a tool names', async () => {
  const toolQueue = `tools-${randomUUID()}`;
  const config = makeConfig(toolQueue);
  const file = join(scratch(), 'bundle.js');
  writeFileSync(file, (await bundleWorkflows({ workflowsPath })).code);
  const native = await NativeConnection.connect({ address: testAddress() });
  const shared = { config, connection: native, workflowBundle: file, worker: own };
  const workers = [
    await Worker.create(await createWorkerOptions(shared)),
    await Worker.create(await createWorkerOptions({ ...shared, taskQueue: toolQueue })),
  ];
  const ran = Promise.all(workers.map((worker) => worker.run()));
  try {
    expect(await approved('refundOrder', config.taskQueue, '18')).toBe('refunded 18');
    expect(await approved('agentTurn', config.taskQueue, turn)).toMatchObject({ answer: 'done' });
    const { taskQueue } = config;
    const session = countersign.session(`talk-${randomUUID()}`, { agent: 'payer', taskQueue });
    expect(await session.send('pay')).toMatchObject({ status: 'taken' });
    await session.close({ cancel: true });
    await client.workflow.getHandle(session.id).result();
  } finally {
    for (const worker of workers) worker.shutdown();
    await ran;
    await native.close();
  }
});

it('a worker of one’s own ends its MCP servers when it has ended', async () => {
  const config = makeConfig();
  const mcpLock = join(scratch(), 'countersign.mcp.lock');
  writeFileSync(mcpLock, formatLock({ version: 1, servers: { hostile: await allow(hostile()) } }));
  const asks = { name: 'hostile__act', arguments: { how: 'child', with: '' } };
  const model = scriptedModel([
    { toolCalls: [asks] },
    ({ messages }) => ({ text: messages.at(-1)?.content ?? '' }),
  ]);
  const native = await NativeConnection.connect({ address: testAddress() });
  try {
    const worker = await Worker.create(
      await createWorkerOptions({
        config: {
          ...config,
          agents: [defineAgent({ name: 'payer', instructions: 'x', model, tools: ['hostile__*'] })],
          mcpServers: { hostile: { command: process.execPath, args: [HOSTILE] } },
          mcpTools: { hostile__act: { safety: 'safe', effect: 'pure' } },
          mcpLock,
        },
        connection: native,
        workflowBundle: testBundle(),
      }),
    );
    const start = { taskQueue: config.taskQueue, workflowId: `own-${randomUUID()}`, args: [turn] };
    const { answer } = await worker.runUntil(() => client.workflow.execute('agentTurn', start));
    const pid = Number(answer);
    expect(pid).toBeGreaterThan(1);
    await until('the end of the server', () => !isAlive(pid));
  } finally {
    await native.close();
  }
});

describe('the options', () => {
  const optionsOf = async (worker: OwnWorkerOptions, workflowBundle = testBundle()) => {
    const native = await NativeConnection.connect({ address: testAddress() });
    try {
      return await createWorkerOptions({ config: makeConfig(), connection: native, workflowBundle, worker });
    } finally {
      await native.close();
    }
  };

  it.each([
    ['of a tool', { pay: () => Promise.resolve('') }, 'pay'],
    ['of one of ours', { 'countersign.think': () => Promise.resolve('') }, 'countersign.think'],
    ['that stands for all others', { default: () => Promise.resolve('') }, 'default'],
  ])('refuse an activity with the name %s', async (_case, activities, name) => {
    await expect(optionsOf({ activities })).rejects.toMatchObject({
      code: 'config_invalid',
      message: `two activities are called ${name}`,
    });
  });

  it('refuse a bundle that is not there', async () => {
    await expect(optionsOf({}, '/nowhere/bundle.js')).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringContaining('/nowhere/bundle.js'),
    });
  });

  it('keep what is one’s own beside what turns need', async () => {
    const interceptors = { activity: [() => ({ inbound: {} })] };
    const plugin = { name: 'mine' };
    const options = await optionsOf({ interceptors, plugins: [plugin], shutdownGraceTime: '3s' });
    expect(options).toMatchObject({
      interceptors: { activity: [...interceptors.activity, expect.any(Function)] },
      plugins: [{ name: 'countersign.agent/payer' }, plugin, { name: 'countersign.close' }],
      shutdownGraceTime: '3s',
      shutdownForceTime: '30s',
      tuner: expect.anything(),
    });
  });

  it('have a bundle that a plugin may change', async () => {
    const native = await NativeConnection.connect({ address: testAddress() });
    const given: (string | undefined)[] = [];
    const plugin = {
      name: 'mine',
      configureBundler: (options: BundleOptions) => {
        given.push(options.workflowsPath);
        return { ...options, workflowsPath };
      },
    };
    const settings = { config: makeConfig(), connection: native, worker: { plugins: [plugin] } };
    const { workflowBundle } = await createWorkerOptions(settings);
    await native.close();
    expect(given).toEqual([expect.stringContaining('workflows')]);
    expect(JSON.stringify(workflowBundle)).toContain('refundOrder');
  });

  it.each([
    ['the rate of the queue in calls a second', 'far', 90, 1.5],
    ['a rate under one call a second', 'far', 3, 0.05],
    ['no rate of another queue', undefined, 90, undefined],
  ])('have %s', async (_case, taskQueue, perMinute, rate) => {
    const native = await NativeConnection.connect({ address: testAddress() });
    try {
      const config = { ...makeConfig('far'), callsPerMinute: { far: perMinute } };
      // The rate of the config takes precedence, because all workers of a queue need the same.
      const worker = taskQueue === undefined ? {} : { maxTaskQueueActivitiesPerSecond: 100 };
      const place = { config, connection: native, workflowBundle: testBundle(), worker };
      const options = await createWorkerOptions({
        ...place,
        ...(taskQueue === undefined ? {} : { taskQueue }),
      });
      expect(options.maxTaskQueueActivitiesPerSecond).toBe(rate);
    } finally {
      await native.close();
    }
  });

  it.each<OwnWorkerOptions>([
    { maxConcurrentActivityTaskExecutions: 5 },
    { maxConcurrentWorkflowTaskExecutions: 5 },
    { maxConcurrentLocalActivityExecutions: 5 },
  ])('leave the number of tasks at once to %j', async (worker) => {
    expect(await optionsOf(worker)).not.toHaveProperty('tuner', expect.anything());
  });
});
