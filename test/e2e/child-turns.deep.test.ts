import { connect, type Countersign } from '../../src/client';
import { callOfChild } from '../../src/contract/turn';
import { ModelError } from '../../src/models/model';
import type { ScriptedReply } from '../../src/models/scripted';
import { agentTool } from '../../src/tools/builtin/agent-tool';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { resetRun } from '../support/operator';
import { readBack, scriptBook } from '../support/script-book';
import { testAddress } from '../support/server';
import { attemptsOf, decide, eventsOf, type HistoryEvent, resolve, seenOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;

const worker = defineAgent({
  name: 'helper',
  instructions: 'do',
  model: book.model,
  tools: [
    recordTool(effects, { name: 'look' }),
    recordTool(effects, { name: 'pay', safety: 'dangerous' }),
    agentTool('helper', { name: 'deeper', description: 'Goes one deeper.', depth: 2 }),
  ],
  limits: { steps: 3 },
});

const boss = defineAgent({
  name: 'boss',
  instructions: 'do',
  model: book.model,
  tools: [
    agentTool(worker),
    agentTool(worker, { name: 'many', effect: 'pure', most: 20, outputLimit: 200 }),
    agentTool(worker, { name: 'careful', safety: 'dangerous' }),
    agentTool('nobody', { name: 'away', description: 'An agent that no worker has.', taskQueue: 'nowhere' }),
  ],
});

beforeAll(async () => {
  fixture = await startFixture({ agents: [boss] });
  client = await connect({ address: testAddress() });
});
afterAll(() => client.close());

const call = (name: string, tag: string): ScriptedReply => ({
  toolCalls: [{ name, arguments: { tag } }],
});
const give = (task: string, name = 'helper'): { name: string; arguments: { task: string } } => ({
  name,
  arguments: { task },
});

/** A turn of the boss that gives out tasks in its first step, then says what they came to. */
const start = async (...given: ReturnType<typeof give>[]): Promise<TurnHandle> => {
  const prompt = book.add({ toolCalls: given }, readBack);
  const about = { requester: 'ann', metadata: { tenant: 'acme' } };
  const { turn } = await client.start({ agent: 'boss', prompt, taskQueue: fixture.taskQueue, ...about });
  return fixture.client.workflow.getHandle(turn);
};

/** The child turn of a call, once it runs. */
const childOf = async (parent: TurnHandle, callId = '1.1'): Promise<TurnHandle> => {
  const child = await until(`the child of ${callId}`, async () => {
    const view = await client.view(parent.workflowId);
    return view.calls.find((one) => one.callId === callId)?.child;
  });
  return fixture.client.workflow.getHandle(child);
};

const resultsOf = async (parent: TurnHandle) => {
  const { calls: made } = await client.view(parent.workflowId);
  return made.map(({ result }) => result);
};

test.each([
  ['a long id', 1000, 'x'],
  ['a long id of three bytes a character', 342, '\u65e5'],
])('a turn with %s has a child turn, too', async (_case, characters, character) => {
  const prompt = book.add({ toolCalls: [give(book.add({ text: 'yes' }))] }, readBack);
  const { taskQueue } = fixture;
  const id = `${Date.now()}`.padEnd(characters, character).slice(0, characters);
  const handle = await fixture.client.workflow.start('agentTurn', {
    ...{ workflowId: id, taskQueue, args: [{ agent: 'boss', prompt }] },
  });
  expect(await handle.result()).toMatchObject({ status: 'answered', answer: expect.stringContaining('yes') });
  const [call] = (await client.view(id)).calls;
  expect(call).toMatchObject({ callId: '1.1', phase: 'done', result: { content: 'yes' } });
  expect(callOfChild(id, call?.child ?? '')).toBe('1.1');
});

test('the answer of the child turn is the result of the call; record and workflow agree', async () => {
  const task = book.add(call('look', 'plain'), { text: 'all is well' });
  const parent = await start(give(task));
  const { answer, status } = await parent.result();
  expect(status).toBe('answered');
  expect(answer).toContain('all is well');
  const child = await childOf(parent);
  expect(callOfChild(parent.workflowId, child.workflowId)).toBe('1.1');
  expect(await resultsOf(parent)).toMatchObject([
    { success: true, content: 'all is well', metadata: { child: child.workflowId } },
  ]);
  const view = await client.view(child.workflowId);
  expect(view).toMatchObject({
    status: 'answered',
    origin: { requester: 'ann', metadata: { tenant: 'acme' } },
    lineage: [{ turn: parent.workflowId, callId: '1.1', agent: 'boss' }],
  });
  expect(await effects.lines('plain')).toHaveLength(1);
  const { spent } = await parent.result();
  expect(spent?.steps).toBe(4);
});

test('a request of a child turn is in the inbox with what led to it, and is decided there', async () => {
  const task = book.add(call('pay', 'asks'), readBack);
  const parent = await start(give(task));
  const child = await childOf(parent);
  await waitFor(child, '1.1');
  const item = await until('the inbox', async () => {
    const items = await client.inbox({ agent: 'helper', limit: Infinity });
    return items.find(({ turn }) => turn === child.workflowId);
  });
  expect(item.lineage).toEqual([{ turn: parent.workflowId, callId: '1.1', agent: 'boss' }]);
  const listed = await client.list({ metadata: { tenant: 'acme' }, agent: 'helper', limit: 50 });
  expect(listed.map(({ turn }) => turn)).toContain(child.workflowId);
  await decide(child, { callId: '1.1', decision: 'approved', ...(await seenOf(child)) });
  expect((await parent.result()).answer).toContain('pay did asks');
});

test.each([
  ['fails', new Error('no key'), 'tool', 'The sub-agent failed: '],
  [
    'stops at its step limit',
    { toolCalls: [{ name: 'look', arguments: { tag: 'on' } }] },
    'tool',
    'without an answer',
  ],
])('a child turn that %s is a result', async (_name, step, code, words) => {
  const last = step instanceof Error ? new ModelError('auth', 'no key', { retryable: false }) : step;
  const parent = await start(give(book.add(last, last, last, last)));
  expect((await parent.result()).status).toBe('answered');
  const [result] = await resultsOf(parent);
  expect(result).toMatchObject({ success: false, error: { code } });
  expect(result?.error?.message).toContain(words);
});

test('a cancelled turn cancels its child turn, and waits for it', async () => {
  const parent = await start(give(book.add(call('pay', 'cancelled'), readBack)));
  const child = await childOf(parent);
  await waitFor(child, '1.1');
  await parent.cancel();
  await expect(parent.result()).rejects.toThrow();
  expect((await client.view(child.workflowId)).status).toBe('cancelled');
  expect(await resultsOf(parent)).toMatchObject([{ error: { code: 'cancelled' } }]);
  expect(await effects.lines('cancelled')).toHaveLength(0);
});

test('a child turn that is cancelled alone, or terminated, is a result; the turn goes on', async () => {
  for (const [end, code] of [
    ['cancel', 'cancelled'],
    ['terminate', 'tool'],
  ] as const) {
    const parent = await start(give(book.add(call('pay', end), readBack)));
    const child = await childOf(parent);
    await waitFor(child, '1.1');
    await child[end]();
    expect((await parent.result()).status).toBe('answered');
    expect(await resultsOf(parent)).toMatchObject([{ error: { code } }]);
  }
});

test('a terminated turn asks its child turn to end', async () => {
  const parent = await start(give(book.add(call('pay', 'orphan'), readBack)));
  const child = await childOf(parent);
  await waitFor(child, '1.1');
  await parent.terminate('test');
  await expect(child.result()).rejects.toThrow();
  expect((await client.view(child.workflowId)).status).toBe('cancelled');
});

test('a child turn runs on the queue of another worker; its requests and what it spent come back', async () => {
  const clerk = defineAgent({
    ...{ name: 'clerk', instructions: 'do', model: book.model },
    tools: [recordTool(effects, { name: 'pay', safety: 'dangerous' })],
  });
  const there = await startFixture({ agents: [clerk] });
  const { taskQueue } = there;
  const tool = agentTool('clerk', { description: 'Pays.', taskQueue });
  const head = defineAgent({ name: 'head', instructions: 'do', model: book.model, tools: [tool] });
  const here = await startFixture({ agents: [head] });
  try {
    const task = book.add(call('pay', 'elsewhere'), { text: 'paid there' });
    const prompt = book.add({ toolCalls: [give(task, 'clerk')] }, readBack);
    const { turn } = await client.start({ agent: 'head', prompt, taskQueue: here.taskQueue });
    const parent = fixture.client.workflow.getHandle(turn);
    const child = await childOf(parent);
    await waitFor(child, '1.1');
    expect(await client.view(child.workflowId)).toMatchObject({ taskQueue, lineage: [{ turn }] });
    await decide(child, { callId: '1.1', decision: 'approved', ...(await seenOf(child)) });
    const { answer, spent } = await parent.result();
    expect(answer).toContain('paid there');
    expect(spent?.steps).toBe(4);
    expect(await effects.lines('elsewhere')).toHaveLength(1);
  } finally {
    await Promise.all([here.stop(), there.stop()]);
  }
});

test('a dangerous sub-agent starts once a person approves, and with their task if they change it', async () => {
  const parent = await start(give('not this', 'careful'));
  const first = await waitFor(parent, '1.1');
  expect(first.summary).toContain('not this');
  const task = book.add({ text: 'the other task' });
  await decide(parent, {
    callId: '1.1',
    decision: 'modified',
    arguments: { task },
    ...(await seenOf(parent)),
  });
  await until('another look', async () => {
    const item = (await client.view(parent.workflowId)).requests[0];
    return item !== undefined && item.seenDigest !== first.seenDigest;
  });
  await decide(parent, { callId: '1.1', decision: 'approved', ...(await seenOf(parent)) });
  expect((await parent.result()).answer).toContain('the other task');
  const [result] = await resultsOf(parent);
  expect(result?.content).toContain('changed the arguments');
});

test('no deeper than the tool lets it: the call is refused, and nothing starts', async () => {
  const last = book.add({ toolCalls: [give('x', 'deeper')] }, readBack);
  const parent = await start(give(book.add({ toolCalls: [give(last, 'deeper')] }, readBack)));
  expect((await parent.result()).answer).toContain('lets 2 child turns be below one another');
});

test('sixteen at once, and no more than the tool lets a turn start; long answers are cut', async () => {
  const tasks = Array.from({ length: 16 }, (_, n) =>
    give(book.add({ text: `answer ${n} ${'x'.repeat(500)}` }), 'many'),
  );
  const prompt = book.add({ toolCalls: tasks }, { toolCalls: tasks.slice(0, 5) }, readBack);
  const { turn } = await client.start({ agent: 'boss', prompt, taskQueue: fixture.taskQueue });
  await fixture.client.workflow.getHandle(turn).result();
  const { calls: made } = await client.view(turn);
  const done = made.filter(({ tool, result }) => tool === 'many' && result?.success === true);
  expect(done).toHaveLength(20);
  expect(new Set(done.map(({ child }) => child)).size).toBe(20);
  for (const [n, { result }] of done.slice(0, 16).entries()) {
    expect(result?.content).toContain(`answer ${n} `);
    expect(result?.content.length).toBeLessThanOrEqual(200);
  }
  expect(made.at(-1)?.result?.error?.message).toContain('has started 20 child turns');
});

/** The workflow task that an event came of, by the event that completed it. */
const taskOf = async (handle: TurnHandle, isIt: (event: HistoryEvent) => boolean) => {
  const events = await eventsOf(handle);
  const at = events.findIndex(isIt);
  const task = events.slice(0, at).findLast((event) => event.workflowTaskCompletedEventAttributes);
  return Number(task?.eventId);
};

const isCallScheduled = ({ activityTaskScheduledEventAttributes: scheduled }: HistoryEvent): boolean =>
  scheduled?.activityType?.name === 'helper';

const childrenOf = async (handle: TurnHandle): Promise<string[]> => {
  const found: string[] = [];
  for await (const { workflowId } of fixture.client.workflow.list({
    query: `WorkflowType = 'agentTurn' AND ParentWorkflowId = '${handle.workflowId}'`,
  }))
    found.push(workflowId);
  return found;
};

test.each([
  ['before it was looked for', 'activityTaskScheduledEventAttributes'],
  ['between the look and the start', 'startChildWorkflowExecutionInitiatedEventAttributes'],
] as const)('reset to %s: a child turn that has ended is not run again', async (_name, attribute) => {
  const task = book.add(call('look', `reset ${attribute}`), readBack);
  const parent = await start(give(task));
  const first = await parent.result();
  const eventId = await taskOf(
    parent,
    (event) => event[attribute] !== undefined && event[attribute] !== null && Number(event.eventId) > 10,
  );
  const { runId } = await parent.describe();
  await resetRun(fixture.client, { workflowId: parent.workflowId, runId, eventId });
  const again = fixture.client.workflow.getHandle(parent.workflowId);
  expect((await again.result()).answer).toBe(first.answer);
  expect((await attemptsOf(again, 'countersign.child')).scheduled).toBe(1);
  expect(await effects.lines(`reset ${attribute}`)).toHaveLength(1);
  expect(new Set(await childrenOf(parent)).size).toBe(1);
});

test('reset, and the record of the child turn is deleted: it is not started again, and nobody says that nothing ran', async () => {
  const parent = await start(give(book.add(call('look', 'deleted'), readBack)));
  await parent.result();
  const eventId = await taskOf(parent, isCallScheduled);
  const { workflowId } = await childOf(parent);
  const { namespace } = fixture.client.options;
  await fixture.client.workflowService.deleteWorkflowExecution({
    namespace,
    workflowExecution: { workflowId },
  });
  // The server deletes in its own time: half a minute where it has much to do.
  await until(
    'the end of the record',
    () =>
      fixture.client.workflow
        .getHandle(workflowId)
        .describe()
        .then(
          () => false,
          () => true,
        ),
    100,
  );
  const { runId } = await parent.describe();
  await resetRun(fixture.client, { workflowId: parent.workflowId, runId, eventId });
  await fixture.client.workflow.getHandle(parent.workflowId).result();
  expect(await resultsOf(parent)).toMatchObject([{ error: { code: 'in_doubt' } }]);
  expect(await effects.lines('deleted')).toHaveLength(1);
});

test.each([
  ['before it was looked for', 'activityTaskScheduledEventAttributes'],
  ['between the look and the start', 'startChildWorkflowExecutionInitiatedEventAttributes'],
  ['after it was started', 'childWorkflowExecutionStartedEventAttributes'],
] as const)(
  'reset to %s: a child turn that waits goes on, and its answer counts',
  async (name, attribute) => {
    const tag = `alive ${name}`;
    const parent = await start(give(book.add(call('look', tag), call('pay', tag), readBack)));
    const child = await childOf(parent);
    await waitFor(child, '2.1');
    const { runId } = await child.describe();
    const eventId = await taskOf(
      parent,
      (event) => event[attribute] !== undefined && event[attribute] !== null && Number(event.eventId) > 10,
    );
    const parentRun = (await parent.describe()).runId;
    const at = attribute.startsWith('child')
      ? Number(
          (await eventsOf(parent)).findLast((event) => event.workflowTaskCompletedEventAttributes)?.eventId,
        )
      : eventId;
    await resetRun(fixture.client, { workflowId: parent.workflowId, runId: parentRun, eventId: at });
    await until('the new run', async () => (await parent.describe()).runId !== parentRun);
    const alive = fixture.client.workflow.getHandle(child.workflowId);
    await waitFor(alive, '2.1');
    expect((await alive.describe()).runId).toBe(runId);
    await decide(alive, { callId: '2.1', decision: 'approved', ...(await seenOf(alive, '2.1')) });
    const again = fixture.client.workflow.getHandle(parent.workflowId);
    expect((await again.result()).answer).toContain(`pay did ${tag}`);
    expect(await effects.lines(tag)).toHaveLength(2);
  },
);

test('its worker is killed while a child turn runs: both go on, the child runs once', async () => {
  const own = await startFixture();
  const first = await own.addProcess();
  const task = JSON.stringify([calls('pay:child')]);
  const parent = await own.startSteps({ toolCalls: [{ name: 'delegate', arguments: { task } }] });
  const child = await childOf(parent);
  await waitFor(child, '1.1');
  await first.kill();
  await own.addProcess();
  await decide(child, { callId: '1.1', decision: 'approved', ...(await seenOf(child)) });
  await own.effectsOf('child', 1);
  await own.open('child');
  expect((await parent.result()).status).toBe('answered');
  expect(await own.effects('child')).toHaveLength(1);
});

test('an unsafe call of a child turn that was killed is in doubt there; resolved, the turn above goes on', async () => {
  const own = await startFixture();
  const first = await own.addProcess();
  const task = JSON.stringify([calls('pay:doubt')]);
  const parent = await own.startSteps({ toolCalls: [{ name: 'delegate', arguments: { task } }] });
  const child = await childOf(parent);
  await waitFor(child, '1.1');
  await decide(child, { callId: '1.1', decision: 'approved', ...(await seenOf(child)) });
  await own.effectsOf('doubt', 1);
  await first.kill();
  await own.addProcess();
  await waitFor(child, '1.1', 'in_doubt');
  expect(await resolve(child, { callId: '1.1', resolution: 'did-not' })).toMatchObject({ accepted: true });
  expect((await parent.result()).status).toBe('answered');
  expect(await own.effects('doubt')).toHaveLength(1);
});
