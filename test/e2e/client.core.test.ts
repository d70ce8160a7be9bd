import { randomUUID } from 'node:crypto';
import { connect, CountersignError, viewOf, type Countersign, type TurnEvent } from '../../src/client';
import type { JsonSchema } from '../../src/contract/tool';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { TransportError } from '../../src/tools/errors';
import { startFixture, type Fixture } from '../support/fixture';
import { testAddress } from '../support/server';
import { listedItem } from '../support/turns';
import { until } from '../support/until';

const parameters: JsonSchema = {
  type: 'object',
  properties: { n: { type: 'number' } },
  required: ['n'],
  additionalProperties: false,
};
const tool = (name: string, handler: () => unknown) =>
  defineTool({ name, description: `${name} something`, parameters, safety: 'dangerous', handler });
const tools = [
  tool('pay', () => 'paid'),
  tool('lose', () => {
    throw new TransportError('the line broke');
  }),
];
const agent = (name: string, tool_: string, count = 1) => {
  const toolCalls = Array.from({ length: count }, (_, n) => ({ name: tool_, arguments: { n } }));
  const model = scriptedModel([{ text: 'let me', toolCalls }, { text: 'done' }]);
  return defineAgent({ name, instructions: 'do', model, tools });
};

/** A name of its own for each run of this file: visibility is shared. */
const tag = randomUUID().slice(0, 8);
const agents = [agent(`one-${tag}`, 'pay'), agent(`crowd-${tag}`, 'pay', 25), agent(`lose-${tag}`, 'lose')];
const ONE = `one-${tag}`;

let client: Countersign;
let fixture: Fixture;

beforeAll(async () => {
  client = await connect({ address: testAddress() });
  fixture = await startFixture({ agents });
});

afterAll(() => client.close());

const start = async (name = ONE, taskQueue = fixture.taskQueue): Promise<string> =>
  (await client.start({ agent: name, prompt: `please ${name}`, taskQueue })).turn;

/** Follows a turn to its end and acts on events as they come. */
async function follow(
  turn: string,
  act: (event: TurnEvent) => unknown = () => undefined,
): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of client.follow(turn)) {
    events.push(event);
    await act(event);
  }
  return events;
}

const requested = (turn: string) => until('a request', async () => (await client.view(turn)).requests[0]);

test('start, follow, approve what was seen, and the record afterwards is what was followed', async () => {
  const turn = await start();
  const events = await follow(turn, async (event) => {
    if (event.type !== 'request_opened') return;
    const { callId, callKey, seenDigest } = event;
    const answer = await client.decide(turn, {
      callId,
      callKey,
      seenDigest,
      decision: 'approved',
      approver: 'ann',
    });
    expect(answer).toMatchObject({ status: 'accepted', verdict: { decision: 'approved', approver: 'ann' } });
  });
  expect(events.at(-1)).toMatchObject({ type: 'turn_ended', status: 'answered', answer: 'done' });
  expect(await client.timeline(turn)).toEqual(events);
  expect(await client.view(turn)).toEqual(viewOf(events));
  const [call] = viewOf(events).calls;
  expect(call).toMatchObject({
    phase: 'done',
    result: { success: true },
    decisions: [{ channel: 'client', door: 'update' }],
  });
});

test('an id is used once, ever', async () => {
  const turn = await start();
  await client.cancel(turn);
  await follow(turn);
  const again = client.start({ agent: ONE, prompt: 'x', id: turn, taskQueue: fixture.taskQueue });
  await expect(again).rejects.toMatchObject({ code: 'exists' });
});

test('refusals: arguments that do not fit, stale ones, a second decision, a call that is none', async () => {
  const turn = await start();
  const { callId } = await requested(turn);
  const code = async (decision: object) => {
    const answer = await client.decide(turn, { callId, decision: 'approved', ...decision });
    return answer.status === 'refused' ? answer.verdict.code : answer.status;
  };
  expect(await code({ decision: 'modified', arguments: { n: 'x' } })).toBe('validation');
  expect(await code({ seenDigest: '0'.repeat(64) })).toBe('stale_args');
  expect(await code({ callId: '7.7' })).toBe('unknown_call');
  expect(await code({ decisionId: 'mine', approver: 'ann' })).toBe('accepted');
  expect(await code({ decisionId: 'mine', approver: 'ann' })).toBe('accepted');
  expect(await code({ decisionId: 'other' })).toBe('already_decided');
  await follow(turn);
  expect(await code({ decisionId: 'later' })).toBe('already_decided');
  expect(await code({ decisionId: 'mine', approver: 'ann' })).toBe('accepted');
  expect(await code({ callId: '7.7' })).toBe('unknown_call');
});

test('with no worker up a decision is recorded, and taken when one returns', async () => {
  const own = await startFixture({ agents, workers: 0 });
  try {
    const worker = await own.addWorker();
    const turn = await start(ONE, own.taskQueue);
    const { callId } = await requested(turn);
    await worker.stop();
    const answer = await client.decide(turn, { callId, decision: 'denied', reason: 'no', approver: 'bob' });
    expect(answer).toMatchObject({ status: 'recorded', decisionId: expect.any(String) });
    expect((await client.view(turn)).unjudged).toBe(1);
    await listedItem(client, turn, { agent: ONE });
    await own.addWorker();
    const events = await follow(turn);
    expect(events.filter((event) => event.type === 'decision')).toMatchObject([
      { decision: 'denied', approver: 'bob', reason: 'no', judgement: { accepted: true } },
    ]);
  } finally {
    await own.stop();
  }
});

test('the inbox lists all, also what the memo has no room for, with what is needed to decide', async () => {
  const turn = await start(`crowd-${tag}`);
  const items = await until('25 items', async () => {
    const found = await client.inbox({ tool: 'pay', agent: `crowd-${tag}` });
    return found.length === 25 && found;
  });
  const view = await client.view(turn);
  expect(items.map((item) => item.callKey).sort()).toEqual(
    view.requests.map((request) => request.callKey).sort(),
  );
  expect(items[0]).toMatchObject({
    turn,
    kind: 'request',
    tool: 'pay',
    agent: `crowd-${tag}`,
    prompt: `please crowd-${tag}`,
  });
  expect(await client.inbox({ agent: `crowd-${tag}`, limit: 3 })).toHaveLength(3);
  expect(await client.inbox({ tool: 'mail', agent: `crowd-${tag}` })).toEqual([]);
  expect(await client.inbox({ agent: "it's \\ nobody" })).toEqual([]);
  await client.cancel(turn, 'too many');
  expect((await follow(turn)).at(-1)).toMatchObject({ status: 'cancelled' });
});

test('a call in doubt is resolved, or the turn is abandoned', async () => {
  const approve = (turn: string) => (event: TurnEvent) =>
    event.type === 'request_opened' && client.decide(turn, { callId: event.callId, decision: 'approved' });
  const first = await start(`lose-${tag}`);
  const events = await follow(first, async (event) => {
    await approve(first)(event);
    if (event.type !== 'in_doubt') return;
    const said = {
      callId: event.callId,
      callKey: event.callKey,
      resolution: 'happened' as const,
      content: 'saw it',
    };
    expect(await client.resolve(first, said)).toMatchObject({
      status: 'accepted',
      verdict: { decision: 'happened' },
    });
  });
  expect(viewOf(events).calls[0]).toMatchObject({
    result: { success: true, content: expect.stringContaining('saw it') },
  });
  expect(await client.resolve(first, { callId: '1.1', resolution: 'did-not' })).toMatchObject({
    verdict: { code: 'already_decided' },
  });

  const second = await start(`lose-${tag}`);
  const abandoned = await follow(second, async (event) => {
    await approve(second)(event);
    if (event.type === 'in_doubt') await client.abandon(second, { approver: 'bob', reason: 'give up' });
  });
  expect(abandoned.at(-1)).toMatchObject({ type: 'turn_ended', status: 'cancelled' });
  expect(viewOf(abandoned)).toMatchObject({
    abandoned: true,
    calls: [{ result: { error: { code: 'in_doubt' } } }],
  });
});

test('ids by prefix, and turns by state', async () => {
  const id = `find-${tag}`;
  for (const suffix of ['', '-a', '-b']) {
    await client.start({ agent: ONE, prompt: 'x', id: `${id}${suffix}`, taskQueue: `nobody-${tag}` });
  }
  expect(await client.find(id)).toBe(id);
  await until('two candidates', async () => {
    const failed = await client.find(`${id}-`).catch((error: unknown) => error);
    return failed instanceof CountersignError && failed.code === 'usage' && failed;
  });
  await expect(client.find(`none-${tag}`)).rejects.toMatchObject({ code: 'not_found' });
  await expect(client.find(`-${tag}`)).rejects.toMatchObject({
    code: 'usage',
    hint: expect.stringContaining('letter or digit first'),
  });
  await expect(client.find("x' OR 'a'='a")).rejects.toMatchObject({ code: 'not_found' });
  const running = await until('three turns', async () => {
    const turns = await client.list({ agent: ONE, state: 'running' });
    return turns.filter((turn) => turn.turn.startsWith(id)).length === 3 && turns;
  });
  expect(running[0]).toMatchObject({ agent: ONE, state: 'running', pending: 0, endedAt: null });
  await client.client.workflow.getHandle(id).terminate('over');
  await until('one terminated', async () =>
    (await client.list({ agent: ONE, state: 'terminated' })).some((turn) => turn.turn === id),
  );
  expect(await client.pendingActivities(`${id}-a`)).toEqual({
    activities: [],
    idleQueues: [`nobody-${tag}`],
  });
});

test('an operator resets a turn: the followed view is that of the new run', async () => {
  const turn = await start();
  await requested(turn);
  let reset = false;
  const events = await follow(turn, async (event) => {
    if (event.type === 'request_opened' && !reset) {
      reset = true;
      await client.client.workflowService.resetWorkflowExecution({
        namespace: client.namespace,
        workflowExecution: { workflowId: turn },
        workflowTaskFinishEventId: { toNumber: () => 4, low: 4, high: 0, unsigned: false } as never,
        requestId: randomUUID(),
        reason: 'trial',
      });
    } else if (event.type === 'request_opened')
      await client.decide(turn, { callId: event.callId, decision: 'approved' });
  });
  expect(events.filter((event) => event.type === 'reset')).toHaveLength(1);
  expect(events.filter((event) => event.type === 'turn_ended')).toMatchObject([{ status: 'answered' }]);
  expect(viewOf(events)).toEqual(await client.view(turn));
});
