import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils';
import { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { connect } from '../../src/client';
import type { CallInput } from '../../src/contract/call';
import type { JsonObject } from '../../src/contract/json';
import { CONTROL, grantWorkflowId } from '../../src/contract/names';
import { makeSuccess } from '../../src/contract/result';
import { ModelError } from '../../src/models/model';
import { turnIdOf } from '../../src/history/read';
import { scriptedModel, type ScriptedStep } from '../../src/models/scripted';
import { agentTool } from '../../src/tools/builtin/agent-tool';
import { askUser } from '../../src/tools/builtin/ask-user';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool, type ToolOptions } from '../../src/tools/define-tool';
import { ToolError, TransportError } from '../../src/tools/errors';
import type { Tool } from '../../src/tools/types';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { resetTurn } from '../support/operator';
import { testBundle } from '../support/server';
import * as turns from '../support/turns';
import { eventsOf, openOf, verdictsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const folder = join(__dirname, '..', 'histories');
/** Of sessions and of turns in them: the other tests of recorded histories read turns alone. */
const sessions = join(__dirname, '..', 'session-histories');
/** Of the workflows that hold pauses and grants. */
const controls = join(__dirname, '..', 'control-histories');

const tool = (name: string, more: Partial<ToolOptions> = {}): Tool =>
  defineTool({
    name,
    description: `The tool ${name}.`,
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
    handler: ({ n }) => `${name} ${String(n)}`,
    ...more,
  });

const tools = [
  tool('look'),
  tool('glance', { local: true, timeout: '1s' }),
  tool('fail', {
    handler: () => {
      throw new ToolError('it could not');
    },
  }),
  tool('pay', { safety: 'dangerous' }),
  tool('hurry', { safety: 'dangerous', requestExpires: '1s' }),
  tool('lose', {
    safety: 'dangerous',
    handler: () => {
      throw new TransportError('cut');
    },
  }),
  askUser(),
  askUser({ name: 'ask_soon', expires: '1s' }),
  tool('edit', { safety: 'dangerous', preview: ({ n }) => Promise.resolve({ text: `plan ${String(n)}` }) }),
];

const stateful = [
  tool('recall', { state: 'turn', stateGroup: 'memory' }),
  tool('commit', { state: 'turn', stateGroup: 'memory', safety: 'dangerous' }),
];
const call = (name: string, n = 1) => ({ name, arguments: { n } });
const AGE = {
  type: 'object',
  properties: { age: { type: 'integer' }, unit: { type: 'string', default: 'years' } },
  required: ['age', 'unit'],
};
const asks = (name: string, schema?: JsonObject) => ({
  name,
  arguments: { question: 'How old?', ...(schema && { schema }) },
});
const end: ScriptedStep = { text: 'done' };
const scripts: Record<string, ScriptedStep[]> = {
  plain: [{ toolCalls: [call('look'), call('glance'), call('fail'), { name: 'nothing' }] }, end],
  approved: [{ toolCalls: [call('look'), call('pay')] }, end],
  edited: [{ toolCalls: [call('pay', 500)] }, end],
  denied: [{ toolCalls: [call('pay'), call('pay', 2)] }, end],
  expired: [{ toolCalls: [call('hurry')] }, end],
  'in-doubt': [{ toolCalls: [call('lose')] }, end],
  cancelled: [{ toolCalls: [call('pay')] }, end],
  reset: [{ toolCalls: [call('look'), call('pay')] }, end],
  many: [
    {
      toolCalls: [
        ...[call('look'), call('glance'), call('pay', 2), call('pay')],
        ...[call('nothing'), { name: 'look', arguments: { n: 'x' } }, call('fail')],
      ],
    },
    { toolCalls: [call('pay', 7)] },
    end,
  ],
  replanned: [{ toolCalls: [call('edit')] }, end],
  'expired-cancelled': [{ toolCalls: [call('hurry'), call('pay')] }, end],
  lost: [{ toolCalls: [call('lose'), call('pay', 2)] }, { toolCalls: [call('lose', 3)] }, end],
  late: [{ toolCalls: [call('lose')] }, end],
  abandoned: [{ toolCalls: [call('lose')] }, end],
  terminated: [{ toolCalls: [call('pay')] }, end],
  'step-limit': [{ toolCalls: [call('look')] }, end],
  failed: [{ toolCalls: [call('look')] }, new ModelError('auth', 'no key', { retryable: false })],
  asked: [
    { toolCalls: [asks('ask_user', AGE), asks('ask_user', AGE), asks('ask_soon'), call('look')] },
    { toolCalls: [asks('ask_user')] },
    end,
  ],
  gate: [
    { toolCalls: [call('look')] },
    { toolCalls: [call('look', 2), call('fail')] },
    { toolCalls: [call('look', 3), { name: 'nothing' }] },
    { toolCalls: [call('look', 4), call('pay')] },
    { toolCalls: [call('look', 5)] },
    end,
  ],
  reapplied: [{ toolCalls: [call('pay'), call('pay', 2)] }, { toolCalls: [call('pay')] }, end],
};

/** How those end that no answer ends; a turn without a result closes as Cancelled, Failed or Terminated. */
const ENDS: Record<string, string> = {
  cancelled: 'no result',
  'expired-cancelled': 'no result',
  abandoned: 'no result',
  terminated: 'no result',
  failed: 'no result',
  'step-limit': 'step_limit',
};

const waiting = (handle: TurnHandle, state: string): Promise<unknown> =>
  until(`state ${state}`, async () => {
    const { searchAttributes } = await handle.describe();
    return searchAttributes['CountersignState']?.[0] === state;
  });

/** By somebody who says what they saw. */
const decide = async (
  handle: TurnHandle,
  decision: { callId: string } & Record<string, unknown>,
): Promise<void> => {
  await waiting(handle, 'waiting');
  const item = (await openOf(handle))?.items.find(({ callId }) => callId === decision.callId);
  await handle.executeUpdate('decide', { args: [{ ...decision, seenDigest: item?.seenDigest }] });
};

const resolve = async (handle: TurnHandle, resolution: Record<string, unknown>): Promise<void> => {
  await waiting(handle, 'in_doubt');
  await handle.executeUpdate('resolve', { args: [{ approver: 'ann', reason: 'looked', ...resolution }] });
};

/** The call reports its outcome after it was given up, as a worker does that was frozen. */
const reportLate = async (handle: TurnHandle): Promise<void> => {
  await until('no check', async () => (await handle.describe()).raw.pendingActivities?.length === 0);
  const scheduled = (await eventsOf(handle)).map((event) => event.activityTaskScheduledEventAttributes);
  const payload = scheduled.find((one) => one?.activityType?.name === 'lose')?.input?.payloads?.[0];
  const { id, callId, callKey, generation, secret, arguments: args } = callInput(payload);
  const at = new Date().toISOString();
  const result = makeSuccess(
    { id, callId, tool: 'lose', arguments: args },
    { content: 'thawed', contentType: 'text' },
    { timestamp: at, safety: 'dangerous', approved: true },
  );
  await handle.signal('outcome', { callKey, generation, secret, result });
};

const callInput = (payload: Payload | null | undefined): CallInput =>
  defaultPayloadConverter.fromPayload(payload ?? {});

/** Two decisions, then a reset to before both by Temporal's own command line, which applies them again. */
const resetDecided = async (handle: TurnHandle): Promise<void> => {
  await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' });
  await handle.signal('approval', { callId: '1.2', decision: 'denied', approver: 'bob' });
  await waitFor(handle, '2.1');
  await until('the verdict on the signal', async () => (await verdictsOf(handle)).length === 1);
  const pay = (await eventsOf(handle))
    .map((event) => event.activityTaskScheduledEventAttributes)
    .find((one) => one?.activityType?.name === 'pay');
  await resetTurn(handle, '--event-id', String(pay?.workflowTaskCompletedEventId));
  const turn: TurnHandle = fixture.client.workflow.getHandle(handle.workflowId);
  await until('the end', async () => {
    for (const { callId, kind } of (await openOf(turn))?.items ?? [])
      if (kind === 'request') await turns.decide(turn, { callId, decision: 'denied', approver: 'eve' });
      else await turns.resolve(turn, { callId, resolution: 'happened' });
    return (await turn.describe()).status.name !== 'RUNNING';
  });
};

/** What a person does in each. */
const acts: Record<string, (handle: TurnHandle) => Promise<unknown>> = {
  plain: async () => {},
  approved: (handle) => decide(handle, { callId: '1.2', decision: 'approved', approver: 'ann' }),
  edited: (handle) =>
    decide(handle, { callId: '1.1', decision: 'modified', arguments: { n: 50 }, reason: 'less' }),
  denied: async (handle) => {
    await waiting(handle, 'waiting');
    await handle.signal('approval', null);
    await handle.signal('approval', { callId: '1.1', decision: 'denied', reason: 'no' });
    await handle.signal('approval', { callId: '1.2', decision: 'denied' });
  },
  expired: (handle) => waiting(handle, 'waiting'),
  'in-doubt': async (handle) => {
    await decide(handle, { callId: '1.1', decision: 'approved' });
    await waiting(handle, 'in_doubt');
    await handle.executeUpdate('resolve', {
      args: [{ callId: '1.1', resolution: 'happened', content: 'seen' }],
    });
  },
  reset: async (handle) => {
    await waiting(handle, 'waiting');
    await resetTurn(handle, '--type', 'FirstWorkflowTask');
    await decide(handle, { callId: '1.2', decision: 'approved', approver: 'ann' });
  },
  cancelled: async (handle) => {
    await waiting(handle, 'waiting');
    await handle.cancel();
  },
  many: async (handle) => {
    await decide(handle, {
      ...{ callId: '1.3', decision: 'modified', arguments: { n: 22 }, approver: 'ann', reason: 'more' },
    });
    await handle.signal('approval', null);
    await handle.signal('approval', 7);
    await handle.signal('approval', { callId: '1.4', decision: 'denied', approver: 'bob', reason: 'no' });
    await waitFor(handle, '2.1');
    await handle.signal('approval', { callId: '2.1', decision: 'approved', approver: 'cy' });
  },
  replanned: async (handle) => {
    await decide(handle, { callId: '1.1', decision: 'modified', arguments: { n: 5 } });
    await decide(handle, { callId: '1.1', decision: 'approved' });
  },
  'expired-cancelled': async (handle) => {
    await waiting(handle, 'waiting');
    await until('one to expire', async () => (await openOf(handle))?.count === 1);
    await handle.cancel();
  },
  lost: async (handle) => {
    await decide(handle, { callId: '1.2', decision: 'approved', approver: 'ann' });
    await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' });
    await resolve(handle, { callId: '1.1', resolution: 'run-again' });
    await resolve(handle, { callId: '1.1', resolution: 'happened', content: 'paid it' });
    await decide(handle, { callId: '2.1', decision: 'approved', approver: 'ann' });
    await resolve(handle, { callId: '2.1', resolution: 'did-not' });
  },
  late: async (handle) => {
    await decide(handle, { callId: '1.1', decision: 'approved' });
    await waiting(handle, 'in_doubt');
    await reportLate(handle);
  },
  abandoned: async (handle) => {
    await decide(handle, { callId: '1.1', decision: 'approved' });
    await waiting(handle, 'in_doubt');
    await handle.cancel();
    await handle.signal('abandon', { approver: 'ann', reason: 'We moved.' });
  },
  terminated: async (handle) => {
    await waiting(handle, 'waiting');
    await handle.terminate('by the test');
  },
  asked: async (handle) => {
    await waitFor(handle, '1.1', 'question');
    await handle.signal('answer', { callId: '1.1', answer: 'answered', content: { age: 'old' } });
    await handle.signal('answer', { callId: '1.2', answer: 'declined', approver: 'bob', reason: 'mine' });
    await handle.executeUpdate('answer', {
      args: [{ callId: '1.1', answer: 'answered', content: { age: 7 }, approver: 'ann', reason: 'soon 8' }],
    });
    await waitFor(handle, '2.1', 'question');
    await handle.signal('answer', { callId: '2.1', answer: 'answered', content: { answer: 'old' } });
  },
  gate: (handle) => decide(handle, { callId: '4.2', decision: 'approved', approver: 'ann' }),
  reapplied: resetDecided,
};

let fixture: Fixture;
beforeAll(async () => {
  const agents = Object.entries(scripts).map(([name, steps]) =>
    defineAgent({
      ...{ name, instructions: 'x', model: scriptedModel(steps), tools },
      ...(name === 'step-limit' ? { limits: { steps: 1 } } : {}),
      ...(name === 'gate' ? { durability: 'gate' as const } : {}),
    }),
  );
  fixture = await startFixture({ agents });
});

test.each(Object.keys(scripts))('the turn "%s" replays from its exported history', async (name) => {
  const handle = await fixture.start(name, `turn ${name}`);
  await acts[name]?.(handle);
  // The handle of the start would wait for the run that a reset ended.
  const turn: TurnHandle = fixture.client.workflow.getHandle(handle.workflowId);
  const status = await turn.result().then(
    ({ status: end }) => end,
    () => 'no result',
  );
  expect(status).toBe(ENDS[name] ?? 'answered');
  await keepAndReplay(name, await handle.fetchHistory());
});

test('a fork of a turn replays', async () => {
  const handle = await fixture.start('approved', 'turn forked');
  await acts['approved']?.(handle);
  await handle.result();
  const client = await connect({ client: fixture.client });
  const change = { what: 'decision', decision: 'denied', approver: 'ben' } as const;
  const { turn } = await client.fork({ turn: handle.workflowId, at: '1.2', change });
  const fork: TurnHandle = fixture.client.workflow.getHandle(turn);
  expect(await fork.result()).toMatchObject({ status: 'answered' });
  await keepAndReplay('forked', await fork.fetchHistory());
});

test('a turn with child turns that a reset finds again, and a budget that was raised, replays', async () => {
  const task = 'look once';
  const helper = defineAgent({
    ...{
      name: 'helper',
      instructions: 'x',
      model: scriptedModel([{ toolCalls: [call('look')] }, end]),
      tools,
    },
  });
  const give = { name: 'helper', arguments: { task } };
  const agent = defineAgent({
    ...{ name: 'child', instructions: 'x', tools: [...tools, agentTool(helper)] },
    model: scriptedModel([{ toolCalls: [give, give] }, end]),
    budget: { steps: 5, then: 'ask' },
  });
  const own = await startFixture({ agents: [agent] });
  const handle = await own.start('child', 'turn child');
  await waitFor(handle, '1.budget');
  const asked = (await eventsOf(handle)).find(
    (event) => event.startChildWorkflowExecutionInitiatedEventAttributes,
  );
  const { workflowTaskCompletedEventId } = asked?.startChildWorkflowExecutionInitiatedEventAttributes ?? {};
  await resetTurn(handle, '--event-id', String(workflowTaskCompletedEventId));
  const turn: TurnHandle = own.client.workflow.getHandle(handle.workflowId);
  await waitFor(turn, '1.budget');
  await decide(turn, { callId: '1.budget', decision: 'modified', arguments: { steps: 50 } });
  expect((await turn.result()).status).toBe('answered');
  await keepAndReplay('child', await turn.fetchHistory());
});

test('a turn that continued as new replays, both its runs', async () => {
  const ownServer = { dynamicConfig: ['limit.historyCount.suggestContinueAsNew=40'] };
  const steps: ScriptedStep[] = [
    ...Array.from({ length: 12 }, (_, n) => ({ toolCalls: [call('look', n)] })),
    end,
  ];
  const agent = defineAgent({ name: 'continued', instructions: 'x', model: scriptedModel(steps), tools });
  const own = await startFixture({ agents: [agent], ownServer });
  const handle = await own.start('continued', 'go on');
  expect(await handle.result()).toMatchObject({ status: 'answered', steps: 13, counts: { calls: 12 } });
  const last = await handle.describe();
  const first = own.client.workflow.getHandle(
    handle.workflowId,
    last.raw.workflowExecutionInfo?.firstRunId ?? '',
  );
  expect(last.runId).not.toBe(last.raw.workflowExecutionInfo?.firstRunId);
  await keepAndReplay('continued', await handle.fetchHistory());
  await keepAndReplay('continuing', await first.fetchHistory());
});

test.each([
  ['stateful', 'stays', 1],
  ['state-lost', 'goes while a person decides', 2],
])('the turn "%s" replays, whose worker with its state %s', async (name, how, rounds) => {
  const steps = [{ toolCalls: [call('recall', 1), call('recall', 2)] }, { toolCalls: [call('commit', 3)] }];
  const model = scriptedModel([...steps, { toolCalls: [call('recall', 4)] }, end]);
  const own = await startFixture({
    agents: [defineAgent({ name, instructions: 'x', model, tools: stateful })],
  });
  const [first] = own.workers;
  const handle = await own.start(name, `turn ${name}`);
  await waitFor(handle, '2.1');
  if (how !== 'stays') {
    await own.addWorker();
    await first?.stop();
  }
  await decide(handle, { callId: '2.1', decision: 'approved', approver: 'ann' });
  expect(await handle.result()).toMatchObject({ counts: { calls: 4, failed: 0, inDoubt: 0 } });
  expect((await turns.attemptsOf(handle, 'commit')).scheduled).toBe(rounds);
  await keepAndReplay(name, await handle.fetchHistory());
});

test('the turn "granted" replays, whose call runs by a grant', async () => {
  const model = scriptedModel([{ toolCalls: [call('pay')] }, end]);
  const agents = [defineAgent({ name: 'granted', instructions: 'x', model, tools })];
  // Grants are of a namespace.
  const own = await startFixture({ agents, ownServer: {} });
  const client = await connect({ client: own.client });
  const asked = await own.start('granted', 'turn asked');
  await waitFor(asked, '1.1');
  const { terms } = await client.grants.plan(asked.workflowId, '1.1', { by: 'ann', times: 2 });
  await client.grants.give(terms);
  await decide(asked, { callId: '1.1', decision: 'denied', approver: 'ann' });
  const handle = await own.start('granted', 'turn granted');
  expect(await handle.result()).toMatchObject({ status: 'answered', counts: { calls: 1, failed: 0 } });
  const { calls } = await client.view(handle.workflowId);
  expect(calls).toMatchObject([{ grant: { id: terms.id, use: 1, by: 'ann' } }]);
  await keepAndReplay('granted', await handle.fetchHistory());
  await client.grants.revoke({ id: terms.id, by: 'ann' });
  const grant = own.client.workflow.getHandle(grantWorkflowId(terms.id));
  await keepAndReplay('grant', await grant.fetchHistory(), controls);
});

test('what holds the pauses replays, with a run for each change', async () => {
  const agents = [defineAgent({ name: 'idle', instructions: 'x', model: scriptedModel([end]), tools: [] })];
  const own = await startFixture({ agents, ownServer: {} });
  const client = await connect({ client: own.client });
  const control = own.client.workflow.getHandle(CONTROL.workflowId);
  const runs = [(await control.describe()).runId];
  await client.pause({ tool: 'pay', reason: 'an incident', by: 'ann' });
  runs.push((await control.describe()).runId);
  await client.resume({ tool: 'pay', by: 'ann' });
  expect(new Set(runs).size).toBe(2);
  for (const [n, runId] of runs.entries()) {
    const run = own.client.workflow.getHandle(CONTROL.workflowId, runId);
    await keepAndReplay(n === 0 ? 'paused' : 'resumed', await run.fetchHistory(), controls);
  }
});

test('a session and a turn of it that was steered replay', async () => {
  const gate = makeGate();
  const steps: ScriptedStep[] = [
    async () => ({ text: await gate.opened, toolCalls: [call('look')] }),
    { text: 'steered' },
    { toolCalls: [call('pay')] },
    end,
  ];
  // The replies of earlier turns count as steps; the third turn has those of the cancelled one before it.
  const agent = defineAgent({ name: 'session', instructions: 'x', model: scriptedModel(steps), tools });
  const own = await startFixture({ agents: [agent] });
  const client = await connect({ client: own.client });
  const session = client.session('session-1', { agent: 'session', taskQueue: own.taskQueue });
  await session.send({ text: 'look', messageId: 'm1' });
  await until('the turn', async () => (await session.state()).turn !== undefined);
  await session.send({ text: 'and hurry', messageId: 'm2', mode: 'steer' });
  gate.open();
  await until('its end', async () => (await session.state()).state === 'idle');
  await session.send({ text: 'pay', messageId: 'm3' });
  const paying: TurnHandle = own.client.workflow.getHandle('session-1.t2');
  await until('the request', () => waitFor(paying, '1.1').catch(() => undefined));
  await own.client.workflow
    .getHandle('session-1')
    .signal('send', { messageId: 'm1', text: 'other', mode: 'queue' });
  await session.send({ text: 'rather not', messageId: 'm4', mode: 'interrupt' });
  await until('the last turn', async () => {
    const { turns, state } = await session.state();
    return turns === 3 && state === 'idle';
  });
  await session.pause();
  await session.close();
  const handle = own.client.workflow.getHandle('session-1');
  expect(await handle.result()).toEqual({ status: 'closed', turns: 3, left: [] });
  const first = await own.client.workflow.getHandle('session-1.t1').result();
  expect(first).toMatchObject({ answer: 'steered', conversation: { took: ['m2'] } });
  await keepAndReplay('session', await handle.fetchHistory(), sessions);
  await keepAndReplay(
    'steered',
    await own.client.workflow.getHandle('session-1.t1').fetchHistory(),
    sessions,
  );
});

/** What comes while nobody works on the turn, in this order; the worker that comes back finds it in one workflow task. */
type Meanwhile = 'ended' | 'cancelled' | 'approved' | 'approved by both' | 'denied' | 'refused' | 'void';

const meanwhile: Record<Exclude<Meanwhile, 'ended'>, (handle: TurnHandle) => Promise<unknown>> = {
  cancelled: (handle) => handle.cancel(),
  approved: (handle) => handle.signal('approval', { callId: '1.2', decision: 'approved' }),
  // As the client does where no worker answers; the update waits for a worker.
  'approved by both': async (handle) => {
    const decision = { callId: '1.2', decision: 'approved', approver: 'cy', decisionId: 'both' };
    await handle.signal('approval', decision);
    void handle.executeUpdate('decide', { args: [decision] }).catch(() => undefined);
  },
  denied: (handle) => handle.signal('approval', { callId: '1.2', decision: 'denied', reason: 'no' }),
  refused: (handle) => handle.signal('approval', null),
  // What a worker says of a decision that does not hold.
  void: ({ workflowId }) =>
    fixture.client.activity.complete(
      { workflowId, activityId: 'call-1.1-0' },
      { askAgain: 'the rules changed' },
    ),
};

interface Together {
  calls: string[];
  /** Activities that run when the worker goes. */
  running: string[];
  then: Meanwhile[];
  status: 'answered' | 'no result';
}

const together: Record<string, Together> = {
  'ended-cancelled': {
    calls: ['hold'],
    running: ['call-1.1-0'],
    then: ['ended', 'cancelled'],
    status: 'no result',
  },
  'ended-denied': {
    calls: ['hold', 'remit'],
    running: ['call-1.1-0'],
    then: ['ended', 'denied'],
    status: 'answered',
  },
  'ended-approved-twice': {
    calls: ['hold', 'remit'],
    running: ['call-1.1-0'],
    then: ['ended', 'approved by both'],
    status: 'answered',
  },
  'ended-approved-cancelled': {
    calls: ['hold', 'remit'],
    running: ['call-1.1-0'],
    then: ['ended', 'approved', 'cancelled'],
    status: 'no result',
  },
  'refused-ended': {
    calls: ['hold'],
    running: ['call-1.1-0'],
    then: ['refused', 'ended'],
    status: 'answered',
  },
  'two-ended-cancelled': {
    calls: ['hold', 'hold'],
    running: ['call-1.1-0', 'call-1.2-0'],
    then: ['ended', 'cancelled'],
    status: 'no result',
  },
  'lane-cancelled': {
    calls: ['write', 'write'],
    running: ['call-1.1-0'],
    then: ['ended', 'cancelled'],
    status: 'no result',
  },
  'void-cancelled': {
    calls: ['renew'],
    running: ['call-1.1-0'],
    then: ['void', 'cancelled'],
    status: 'no result',
  },
  'prepared-cancelled': {
    calls: ['slow', 'slow'],
    running: ['prepare-1.1', 'prepare-1.2'],
    then: ['ended', 'cancelled'],
    status: 'no result',
  },
};

test.each(Object.entries(together))('a turn with %s in one workflow task replays', async (name, made) => {
  const taskQueue = `${name}-${randomUUID()}`;
  const callsQueue = `${taskQueue}-calls`;
  const gate = makeGate();
  const held = { taskQueue: callsQueue, handler: () => gate.opened };
  const steps: ScriptedStep[] = [{ toolCalls: made.calls.map((one) => call(one)) }, end];
  const agent = defineAgent({
    name,
    instructions: 'x',
    model: scriptedModel(steps),
    tools: [
      tool('hold', held),
      tool('write', { ...held, safety: 'cautious' }),
      tool('remit', { ...held, safety: 'dangerous' }),
      tool('renew', { ...held, safety: 'dangerous', effect: 'idempotent' }),
      tool('slow', { ...held, safety: 'dangerous', preview: async () => ({ text: await gate.opened }) }),
    ],
  });
  const own = await startFixture({ agents: [agent], taskQueue, workers: 0 });
  const turns = { queues: [taskQueue], maxCachedWorkflows: 0 };
  const first = await own.addWorker(turns);
  await own.addWorker({ queues: [callsQueue] });
  const handle = await own.start(name, `turn ${name}`);
  if (made.calls.includes('renew')) await decide(handle, { callId: '1.1', decision: 'approved' });
  await until('what runs', async () => {
    const { raw, searchAttributes } = await handle.describe();
    const started = raw.pendingActivities?.filter(({ state }) => state === STARTED) ?? [];
    const asked = !made.calls.includes('remit') || searchAttributes['CountersignState']?.[0] === 'waiting';
    return started.length === made.running.length && asked;
  });
  await first.stop();
  for (const one of made.then) {
    if (one !== 'ended') await meanwhile[one](handle);
    else {
      gate.open();
      await until('nothing runs', async () => (await handle.describe()).raw.pendingActivities?.length === 0);
    }
  }
  await own.addWorker(turns);
  const status = await handle.result().then(
    (result) => result.status,
    () => 'no result',
  );
  expect(status).toBe(made.status);
  await keepAndReplay(name, await handle.fetchHistory());
});

const STARTED = temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_STARTED;

function makeGate(): { opened: Promise<string>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<string>((resolve) => {
    open = () => resolve('ok');
  });
  return { opened, open: () => open() };
}

/** Workers and their own queues are named after process and machine; those of state stand in inputs and results, too. */
function withoutMachine(json: string): string {
  const inData = json.replaceAll(/"data": ?"([A-Za-z0-9+/=]+)"/g, (whole, data: string) => {
    const text = Buffer.from(data, 'base64').toString();
    const named = text.replaceAll(OWN_QUEUE, HERE);
    return named === text ? whole : `"data": "${Buffer.from(named).toString('base64')}"`;
  });
  return inData
    .replaceAll(OWN_QUEUE, HERE)
    .replaceAll(`${join(__dirname, '..', '..')}/`, '/app/')
    .replaceAll(/"identity": ?"\d+@[^"]+"/g, '"identity": "1@host"')
    .replaceAll(/"\d+@[^"]+?(-[0-9a-f]{32})"/g, '"1@host$1"');
}

const OWN_QUEUE = /countersign-worker:\d+@[^:"]+:/g;
const HERE = 'countersign-worker:1@host:';

/** Replays a fresh history; with `COUNTERSIGN_RECORD=1` also keeps it, for every later change to replay. */
async function keepAndReplay(
  name: string,
  history: temporal.api.history.v1.IHistory,
  place = folder,
): Promise<void> {
  const json = withoutMachine(historyToJSON(history));
  const file = join(place, `${name}.json`);
  if (process.env['COUNTERSIGN_RECORD'] === '1') await writeFile(file, `${json}\n`);
  const options = { workflowBundle: { codePath: testBundle() } };
  const parsed = historyFromJSON(JSON.parse(json));
  // Sessions and child turns have ids that begin with that of what started them.
  const replay = Worker.runReplayHistory(options, parsed, turnIdOf(parsed).turn);
  await expect(replay).resolves.toBeUndefined();
}
