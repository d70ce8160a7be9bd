import { AsyncCompletionClient } from '@temporalio/client';
import { connect, type Countersign } from '../../src/client';
import { pendingLines } from '../../src/cli/print/turn';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent, type Agent } from '../../src/tools/define-agent';
import type { ConfigOptions } from '../../src/tools/define-config';
import { TransportError } from '../../src/tools/errors';
import type { Tool, Verification } from '../../src/tools/types';
import type { RunningWorker } from '../../src/worker';
import { recordTool, useEffects } from '../support/effects';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { decide, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let client: Countersign;

beforeAll(async () => {
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

const agent = (name: string, ...tools: Tool[]): Agent =>
  defineAgent({ name, instructions: 'do', model: book.model, tools });
const tool = (name: string, more: Partial<Parameters<typeof recordTool>[1]> = {}): Tool =>
  recordTool(effects, { name, ...more });

const call = (name: string, tag: string) => ({ toolCalls: [{ name, arguments: { tag } }] });

/** A queue of one test. Most of the time a test waits for a task to be tried again, so all run side by side. */
interface Queue {
  fixture: Fixture;
  /** A worker with these agents. */
  worker(agents: readonly Agent[], more?: Partial<ConfigOptions>): Promise<RunningWorker>;
  start(name: string, tag: string): Promise<TurnHandle>;
}

const onQueue = (run: (queue: Queue) => Promise<void>) => async (): Promise<void> => {
  const fixture = await startFixture({ workers: 0, agents: [agent('ops', tool('pay'))] });
  const worker: Queue['worker'] = (agents, more = {}) => fixture.addWorker({}, { agents, ...more });
  const start: Queue['start'] = (name, tag) => fixture.start('ops', book.add(call(name, tag), readBack));
  try {
    await run({ fixture, worker, start });
  } finally {
    await fixture.stop();
  }
};

test.concurrent(
  'two workers on a queue, one without the agent: of 10 turns none fails',
  onQueue(async ({ worker, start }) => {
    await Promise.all([worker([agent('ops', tool('pay'))]), worker([agent('ops2', tool('charge'))])]);
    const tags = Array.from({ length: 10 }, (_, n) => `mixed ${n}.`);
    const handles = await Promise.all(tags.map((tag) => start('pay', tag)));
    const results = await Promise.all(handles.map((handle) => handle.result()));
    for (const result of results) expect(result).toMatchObject({ status: 'answered', counts: { failed: 0 } });
    for (const tag of tags) expect(await effects.lines(tag)).toHaveLength(1);
  }),
);

test.concurrent(
  'a turn waits for a person while its agent is renamed and back: the call runs once, on its decision',
  onQueue(async ({ worker, start }) => {
    const dangerous = tool('pay', { safety: 'dangerous' });
    const before = await worker([agent('ops', dangerous)]);
    const handle = await start('pay', 'renamed');
    await waitFor(handle, '1.1');
    await before.stop();
    const renamed = await worker([agent('ops2', dangerous)]);
    expect(await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' })).toMatchObject({
      accepted: true,
    });
    const waits = await until('the timeline to say so', async () =>
      (await client.timeline(handle.workflowId)).find(({ type }) => type === 'call_waits'),
    );
    expect(waits).toMatchObject({
      callId: '1.1',
      message: expect.stringContaining('no worker with agent "ops" here'),
    });
    await renamed.stop();
    await worker([agent('ops', dangerous)]);
    expect(await handle.result()).toMatchObject({ status: 'answered', counts: { failed: 0 } });
    expect(await effects.lines('renamed')).toEqual(['pay renamed']);
    const { calls: told } = await client.view(handle.workflowId);
    expect(told).toMatchObject([{ phase: 'done', decisions: [{ approver: 'ann' }] }]);
  }),
);

test.concurrent(
  'a turn of an agent that nobody has yet has to wait, and goes on when a worker brings it',
  onQueue(async ({ worker, start }) => {
    await worker([agent('other', tool('charge'))]);
    const handle = await start('pay', 'new agent');
    const lines = await until('the worker without the agent', async () => {
      const pending = await client.pendingActivities(handle.workflowId);
      return pending.activities.some(({ attempt }) => attempt > 1) && pendingLines(pending, Date.now());
    });
    expect(lines.join('\n')).toContain('no worker with agent "ops" here: the one that took this has other');
    await worker([agent('ops', tool('pay')), agent('other', tool('charge'))]);
    expect(await handle.result()).toMatchObject({ status: 'answered' });
  }),
);

test.concurrent(
  'an agent that was removed: the turn fails with words when agentWait is over',
  onQueue(async ({ worker, start }) => {
    await worker([agent('other', tool('charge'))], { agentWait: '2s' });
    const handle = await start('pay', 'removed');
    await expect(handle.result()).rejects.toMatchObject({
      cause: { message: expect.stringMatching(/no worker with agent "ops" here.*nobody came for 2 s/) },
    });
  }),
);

test.concurrent(
  'a tool that one of two workers lacks: an approved call runs on the other one, once, whatever its effect',
  onQueue(async ({ worker, start }) => {
    const names = ['unsafe', 'idempotent', 'pure'] as const;
    const dangerous = names.map((effect) => tool(effect, { safety: 'dangerous', effect }));
    const before = await worker([agent('ops', ...dangerous)]);
    const handles = await Promise.all(names.map((name) => start(name, `lacking ${name}`)));
    await Promise.all(handles.map((handle) => waitFor(handle, '1.1')));
    await before.stop();
    await worker([agent('ops', tool('look'))]);
    await Promise.all(handles.map((handle) => decide(handle, { callId: '1.1', decision: 'approved' })));
    const waits = async (handle: TurnHandle): Promise<boolean> =>
      (await client.timeline(handle.workflowId)).some(({ type }) => type === 'call_waits');
    await Promise.all(handles.map((handle) => until('the call to wait', () => waits(handle))));
    await worker([agent('ops', ...dangerous)]);
    for (const handle of handles)
      expect(await handle.result()).toMatchObject({ status: 'answered', counts: { failed: 0 } });
    for (const name of names)
      expect(await effects.lines(`lacking ${name}`)).toEqual([`${name} lacking ${name}`]);
  }),
);

test.concurrent(
  'a call whose tool is gone for longer than it may wait is expired, and nothing ran',
  onQueue(async ({ worker, start }) => {
    const dangerous = tool('pay', { safety: 'dangerous', startWithin: '4s' });
    const before = await worker([agent('ops', dangerous, tool('look'))]);
    const handle = await start('pay', 'gone');
    await waitFor(handle, '1.1');
    await before.stop();
    await worker([agent('ops', tool('look'))]);
    await decide(handle, { callId: '1.1', decision: 'approved' });
    const { answer } = await handle.result();
    expect(answer).toContain('no worker with the tool pay of agent "ops" on this queue');
    expect(answer).toContain('Nothing ran.');
    expect(await effects.lines('gone')).toEqual([]);
    const [told] = (await client.view(handle.workflowId)).calls;
    expect(told?.result).toMatchObject({
      error: { code: 'expired' },
      content: expect.stringContaining('pay'),
    });
  }),
);

test.concurrent(
  'a doubt that a worker without the agent takes: verify is asked where the tool is',
  onQueue(async ({ worker, start }) => {
    const verify = (): Verification => ({ outcome: 'happened', content: 'receipt 7' });
    const cut = recordTool(effects, { name: 'pay', safety: 'dangerous', verify }, () => {
      throw new TransportError('cut');
    });
    await Promise.all([worker([agent('ops', cut)]), worker([agent('other', tool('charge'))])]);
    // Each of the two takes about half of what comes.
    const tags = Array.from({ length: 8 }, (_, n) => `doubt ${n}.`);
    const handles = await Promise.all(tags.map((tag) => start('pay', tag)));
    const finish = async (handle: TurnHandle) => {
      await waitFor(handle, '1.1');
      await decide(handle, { callId: '1.1', decision: 'approved' });
      return handle.result();
    };
    for (const { answer } of await Promise.all(handles.map(finish))) expect(answer).toContain('receipt 7');
    for (const tag of tags) expect(await effects.lines(tag)).toEqual([`pay ${tag}`]);
  }),
);

test.concurrent(
  'a fork names a model that one of two workers lacks: it goes on where the model is',
  onQueue(async ({ fixture, worker, start }) => {
    const before = await worker([agent('ops', tool('pay'))]);
    const handle = await start('pay', 'model');
    await handle.result();
    await before.stop();
    const other = scriptedModel([{ text: 'the first step' }, { text: 'the other model' }], { id: 'other' });
    await worker([agent('ops', tool('pay'))]);
    const { turn } = await client.fork({ turn: handle.workflowId, at: '2', model: 'other' });
    const lines = await until('the worker without the model', async () => {
      const pending = await client.pendingActivities(turn);
      return pending.activities.some(({ attempt }) => attempt > 1) && pendingLines(pending, Date.now());
    });
    expect(lines.join('\n')).toContain('agent "ops" has no model "other" here');
    const models = { other };
    await worker([
      defineAgent({ name: 'ops', instructions: 'do', model: book.model, models, tools: [tool('pay')] }),
    ]);
    const fork: TurnHandle = fixture.client.workflow.getHandle(turn);
    expect(await fork.result()).toMatchObject({ status: 'answered', answer: 'the other model' });
  }),
);

test.concurrent(
  'a turn that is cancelled while a call waits for a worker ends at once: it never started',
  onQueue(async ({ worker, start }) => {
    const dangerous = tool('pay', { safety: 'dangerous' });
    const before = await worker([agent('ops', dangerous)]);
    const handle = await start('pay', 'cancelled');
    await waitFor(handle, '1.1');
    await before.stop();
    await worker([agent('ops', tool('look'))]);
    await decide(handle, { callId: '1.1', decision: 'approved' });
    await until('the call to wait', async () =>
      (await client.timeline(handle.workflowId)).some(({ type }) => type === 'call_waits'),
    );
    await handle.cancel();
    await expect(handle.result()).rejects.toThrow();
    const [told] = (await client.view(handle.workflowId)).calls;
    expect(told?.result?.content).toContain('cancelled before this call started. Nothing ran.');
  }),
);

test.concurrent(
  'an operator who says that a running unsafe call is not here: another machine does not start it again',
  async () => {
    const faults = await startFixture();
    const first = await faults.addProcess();
    const handle = await faults.startSteps(calls('work:forged'));
    await faults.effectsOf('forged', 1);
    const operator = new AsyncCompletionClient({ connection: faults.client.connection });
    const { workflowId } = handle;
    await operator.complete({ workflowId, activityId: 'call-1.1-0' }, { notHere: 'nothing ran, really' });
    await first.kill();
    await faults.addProcess(faults.otherMachine());
    await waitFor(handle, '1.1', 'in_doubt');
    expect(await faults.effects('forged')).toHaveLength(1);
  },
);
