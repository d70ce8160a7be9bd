import { defineAgent } from '../../src/tools/define-agent';
import { defineConfig } from '../../src/tools/define-config';
import { defineTool } from '../../src/tools/define-tool';
import { TransportError } from '../../src/tools/errors';
import type { Tool } from '../../src/tools/types';
import { TAG_SCHEMA, recordTool, useEffects } from '../support/effects';
import { readBack, scriptBook } from '../support/script-book';
import { decide, eventsOf, waitFor } from '../support/turns';
import { startBench, until, type TestBench, type TurnHandle } from '../support/worker';

const effects = useEffects();
const book = scriptBook();
let bench: TestBench;
let far = '';

beforeEach(async () => {
  far = `far-${Math.random().toString(36).slice(2)}`;
  bench = await startBench({ workers: 0, agents: [agent(...farTools(far))] });
});
afterEach(() => bench.stop());

const agent = (...tools: Tool[]) =>
  defineAgent({ name: 'agent', instructions: 'do', model: book.model, tools });

/** Tools of another queue: one that asks, one that does not, one whose doubts it can settle itself. */
const farTools = (taskQueue: string): Tool[] => [
  recordTool(effects, {
    name: 'deploy',
    safety: 'dangerous',
    taskQueue,
    preview: async (args) => {
      await effects.add(`preview ${String(args['tag'])}`);
      return 'the diff of the far files';
    },
  }),
  recordTool(effects, { name: 'inspect', taskQueue }),
  recordTool(
    effects,
    {
      name: 'ship',
      safety: 'cautious',
      taskQueue,
      verify: () => ({ outcome: 'happened', content: 'tracking 7' }),
    },
    () => {
      throw new TransportError('the line broke');
    },
  ),
];

const start = (tag: string, ...names: string[]): Promise<TurnHandle> =>
  bench.start(
    'agent',
    book.add({ toolCalls: names.map((name) => ({ name, arguments: { tag } })) }, readBack),
  );

/** Activities that were scheduled: what, and where. */
const scheduled = async (handle: TurnHandle): Promise<[string, string][]> =>
  (await eventsOf(handle)).flatMap(
    ({ activityTaskScheduledEventAttributes: attributes }): [string, string][] =>
      attributes ? [[attributes.activityType?.name ?? '', attributes.taskQueue?.name ?? '']] : [],
  );

test('a tool with a queue of its own is prepared, decided on and run there', async () => {
  await bench.addWorker({ queues: [bench.taskQueue] });
  await bench.addWorker({ queues: [far] });
  const handle = await start('far', 'deploy', 'inspect');
  await waitFor(handle, '1.1');
  expect(await effects.lines('preview far')).toHaveLength(1);
  const misfit = { tag: 5 };
  expect(await decide(handle, { callId: '1.1', decision: 'modified', arguments: misfit })).toMatchObject({
    code: 'invalid_arguments',
  });
  await decide(handle, { callId: '1.1', decision: 'approved' });
  expect((await handle.result()).answer).toBe('deploy did far | inspect did far');
  expect(await scheduled(handle)).toEqual([
    ['countersign.think', bench.taskQueue],
    ['countersign.prepare', far],
    ['countersign.prepare', far],
    ['inspect', far],
    ['deploy', far],
    ['countersign.think', bench.taskQueue],
  ]);
});

test('a doubt is verified where the tool lives', async () => {
  await bench.addWorker({ queues: [bench.taskQueue] });
  await bench.addWorker({ queues: [far] });
  const handle = await start('shipped', 'ship');
  expect((await handle.result()).answer).toContain('tracking 7');
  expect(await scheduled(handle)).toContainEqual(['countersign.verify', far]);
});

test('invalid arguments for a far tool are an error result from there', async () => {
  await bench.addWorker();
  const calls = [
    { name: 'inspect', arguments: '{"tag":' },
    { name: 'inspect', arguments: { tag: 1 } },
  ];
  const handle = await bench.start('agent', book.add({ toolCalls: calls }, readBack));
  const { counts, answer } = await handle.result();
  expect(counts).toMatchObject({ calls: 2, failed: 2 });
  expect(answer.match(/Error \[validation\]/g)).toHaveLength(2);
});

test('a queue without a worker: the turn waits, and goes on when one comes', async () => {
  await bench.addWorker({ queues: [bench.taskQueue] });
  const handle = await start('nobody there', 'inspect');
  await until('the preparation', async () => (await scheduled(handle)).length === 2);
  expect((await handle.describe()).status.name).toBe('RUNNING');
  await bench.addWorker({ queues: [far] });
  expect((await handle.result()).answer).toBe('inspect did nobody there');
});

test('a turn that waits for a queue without a worker can be cancelled', async () => {
  await bench.addWorker({ queues: [bench.taskQueue] });
  const handle = await start('cancelled there', 'inspect');
  await until('the preparation', async () => (await scheduled(handle)).length === 2);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
});

test('a far worker that lacks the tool or the agent: an error result says so, and nothing runs', async () => {
  await bench.addWorker({ queues: [bench.taskQueue] });
  const other = defineAgent({ name: 'other', instructions: 'do', model: book.model, tools: farTools(far) });
  await bench.addWorker({
    queues: [far],
    config: defineConfig({ agents: [other], taskQueue: bench.taskQueue, log: { calls: false } }),
  });
  const { answer } = await (await start('wrong worker', 'inspect')).result();
  expect(answer).toContain('could not prepare this call: this worker has no agent "agent"; it has: other');
  expect(await effects.lines('wrong worker')).toEqual([]);
});

describe('local tools', () => {
  const local = [
    recordTool(effects, { name: 'peek', local: true }),
    recordTool(effects, { name: 'linger', local: true }, async (_, { signal }) => {
      await until('two beats', () => signal.aborted || performance.now() - lingering > 2200);
    }),
    recordTool(effects, { name: 'trip', local: true }, () => {
      throw new Error('it broke');
    }),
    defineTool({
      name: 'stall',
      description: 'Never ends by itself.',
      parameters: TAG_SCHEMA,
      local: true,
      timeout: 300,
      handler: (_, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(new Error('stopped'))),
        ),
    }),
  ];
  let lingering = 0;

  test.each([
    ['peek', 'peek did'],
    ['linger', 'linger did'],
    ['trip', 'Error [tool]: it broke'],
    ['stall', 'Error [timeout]'],
  ])('%s runs inside the workflow task: a marker in history, no activity', async (name, told) => {
    lingering = performance.now();
    const own = await startBench({ agents: [agent(...local)] });
    const calls = [{ name, arguments: { tag: `local ${name}` } }];
    const handle = await own.start('agent', book.add({ toolCalls: calls }, readBack));
    expect((await handle.result()).answer).toContain(told);
    expect((await scheduled(handle)).map(([type]) => type)).toEqual([
      'countersign.think',
      'countersign.think',
    ]);
    const markers = (await eventsOf(handle)).filter(
      (event) => event.markerRecordedEventAttributes?.markerName === 'core_local_activity',
    );
    expect(markers).toHaveLength(1);
    await own.stop();
  });
});
