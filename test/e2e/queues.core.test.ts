import { defineAgent } from '../../src/tools/define-agent';
import { defineConfig } from '../../src/tools/define-config';
import { defineTool } from '../../src/tools/define-tool';
import { TransportError } from '../../src/tools/errors';
import type { Tool } from '../../src/tools/types';
import { TAG_SCHEMA, recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { decide, eventsOf, resolve, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let far = '';

beforeEach(async () => {
  far = `far-${Math.random().toString(36).slice(2)}`;
  fixture = await startFixture({ workers: 0, agents: [agent(...farTools(far))] });
});
afterEach(() => fixture.stop());

const agent = (...tools: Tool[]) =>
  defineAgent({ name: 'agent', instructions: 'do', model: book.model, tools });

/** Tools of another queue: one that asks, one that does not, one whose doubts it can settle itself. */
const farTools = (taskQueue: string): Tool[] => [
  recordTool(effects, {
    name: 'deploy',
    safety: 'dangerous',
    heartbeat: '3s',
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
  fixture.start(
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
  await fixture.addWorker({ queues: [fixture.taskQueue] });
  await fixture.addWorker({ queues: [far] });
  const handle = await start('far', 'deploy', 'inspect');
  await waitFor(handle, '1.1');
  expect(await effects.lines('preview far')).toHaveLength(1);
  const misfit = { tag: 5 };
  expect(await decide(handle, { callId: '1.1', decision: 'modified', arguments: misfit })).toMatchObject({
    code: 'validation',
  });
  await decide(handle, { callId: '1.1', decision: 'approved' });
  expect((await handle.result()).answer).toBe('deploy did far | inspect did far');
  expect(await scheduled(handle)).toEqual([
    ['countersign.think', fixture.taskQueue],
    ['countersign.prepare', far],
    ['countersign.prepare', far],
    ['inspect', far],
    ['deploy', far],
    ['countersign.think', fixture.taskQueue],
  ]);
});

test('a doubt is verified where the tool lives', async () => {
  await fixture.addWorker({ queues: [fixture.taskQueue] });
  await fixture.addWorker({ queues: [far] });
  const handle = await start('shipped', 'ship');
  expect((await handle.result()).answer).toContain('tracking 7');
  expect(await scheduled(handle)).toContainEqual(['countersign.verify', far]);
});

test('invalid arguments for a far tool are an error result from there', async () => {
  await fixture.addWorker();
  const calls = [
    { name: 'inspect', arguments: '{"tag":' },
    { name: 'inspect', arguments: { tag: 1 } },
  ];
  const handle = await fixture.start('agent', book.add({ toolCalls: calls }, readBack));
  const { counts, answer } = await handle.result();
  expect(counts).toMatchObject({ calls: 2, failed: 2 });
  expect(answer.match(/Error \[validation\]/g)).toHaveLength(2);
});

test('a queue without a worker: the turn waits, and goes on when one comes', async () => {
  await fixture.addWorker({ queues: [fixture.taskQueue] });
  const handle = await start('nobody there', 'inspect');
  await until('the preparation', async () => (await scheduled(handle)).length === 2);
  expect((await handle.describe()).status.name).toBe('RUNNING');
  await fixture.addWorker({ queues: [far] });
  expect((await handle.result()).answer).toBe('inspect did nobody there');
});

test('a turn that waits for a queue without a worker can be cancelled', async () => {
  await fixture.addWorker({ queues: [fixture.taskQueue] });
  const handle = await start('cancelled there', 'inspect');
  await until('the preparation', async () => (await scheduled(handle)).length === 2);
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
});

/** A turn whose approved call waits for a worker on its queue. */
const untaken = async (tag: string): Promise<TurnHandle> => {
  await fixture.addWorker({ queues: [fixture.taskQueue] });
  const remote = await fixture.addWorker({ queues: [far] });
  const handle = await start(tag, 'deploy');
  await waitFor(handle, '1.1');
  await remote.stop();
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await until('the call to be scheduled', async () => (await scheduled(handle)).length === 3);
  return handle;
};

test('a turn that is cancelled before a worker took its unsafe call ends: nothing ran', async () => {
  const handle = await untaken('untaken');
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
  expect(await effects.lines('untaken')).toEqual(['preview untaken']);
});

test('cancelled after a time in which an earlier attempt could have been lost: a person is asked', async () => {
  const handle = await untaken('long untaken');
  await new Promise((done) => setTimeout(done, 3200));
  await handle.cancel();
  await waitFor(handle, '1.1', 'in_doubt');
  await resolve(handle, { callId: '1.1', resolution: 'did-not', approver: 'ann' });
  await expect(handle.result()).rejects.toThrow();
  expect((await handle.describe()).status.name).toBe('CANCELLED');
});

test('a far worker that lacks the agent until agentWait is over: an error result says so, and nothing runs', async () => {
  await fixture.addWorker({ queues: [fixture.taskQueue] });
  const other = defineAgent({ name: 'other', instructions: 'do', model: book.model, tools: farTools(far) });
  await fixture.addWorker({
    queues: [far],
    config: defineConfig({
      agents: [other],
      taskQueue: fixture.taskQueue,
      log: { calls: false },
      agentWait: '1s',
    }),
  });
  const { answer } = await (await start('wrong worker', 'inspect')).result();
  expect(answer).toContain(
    'could not prepare this call: no worker with agent "agent" here: the one that took this has other',
  );
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
    const own = await startFixture({ agents: [agent(...local)] });
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
