import { randomUUID } from 'node:crypto';
import { connect, CountersignError, viewOf, type Countersign, type TurnEvent } from '../../src/client';
import type { JsonSchema } from '../../src/contract/tool';
import { scriptedModel } from '../../src/models/scripted';
import { defineAgent } from '../../src/tools/define-agent';
import { defineTool } from '../../src/tools/define-tool';
import { TransportError } from '../../src/tools/errors';
import { testAddress } from '../support/server';
import { startBench, until, type TestBench } from '../support/worker';

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

let desk: Countersign;
let bench: TestBench;

beforeAll(async () => {
  desk = await connect({ address: testAddress() });
  bench = await startBench({ agents });
});

afterAll(async () => {
  await desk.close();
  await bench.stop();
});

const start = async (name = ONE, taskQueue = bench.taskQueue): Promise<string> =>
  (await desk.start({ agent: name, prompt: `please ${name}`, taskQueue })).turn;

/** Follows a turn to its end and acts on events as they come. */
async function follow(
  turn: string,
  act: (event: TurnEvent) => unknown = () => undefined,
): Promise<TurnEvent[]> {
  const events: TurnEvent[] = [];
  for await (const event of desk.follow(turn)) {
    events.push(event);
    await act(event);
  }
  return events;
}

const requested = (turn: string) => until('a request', async () => (await desk.view(turn)).requests[0]);

test('start, follow, approve what was seen, and the record afterwards is what was followed', async () => {
  const turn = await start();
  const events = await follow(turn, async (event) => {
    if (event.type !== 'request_opened') return;
    const { callId, callKey, argsDigest } = event;
    const answer = await desk.decide(turn, {
      callId,
      callKey,
      argsDigest,
      decision: 'approved',
      approver: 'ann',
    });
    expect(answer).toMatchObject({ status: 'accepted', verdict: { decision: 'approved', approver: 'ann' } });
  });
  expect(events.at(-1)).toMatchObject({ type: 'turn_ended', status: 'answered', answer: 'done' });
  expect(await desk.timeline(turn)).toEqual(events);
  expect(await desk.view(turn)).toEqual(viewOf(events));
  const [call] = viewOf(events).calls;
  expect(call).toMatchObject({
    phase: 'done',
    result: { success: true },
    decisions: [{ channel: 'client', door: 'update' }],
  });
});

test('an id is used once, ever', async () => {
  const turn = await start();
  await desk.cancel(turn);
  await follow(turn);
  const again = desk.start({ agent: ONE, prompt: 'x', id: turn, taskQueue: bench.taskQueue });
  await expect(again).rejects.toMatchObject({ code: 'turn_exists' });
});

test('refusals: arguments that do not fit, stale ones, a second decision, a call that is none', async () => {
  const turn = await start();
  const { callId } = await requested(turn);
  const code = async (decision: object) => {
    const answer = await desk.decide(turn, { callId, decision: 'approved', ...decision });
    return answer.status === 'refused' ? answer.verdict.code : answer.status;
  };
  expect(await code({ decision: 'modified', arguments: { n: 'x' } })).toBe('invalid_arguments');
  expect(await code({ argsDigest: 'other' })).toBe('stale_args');
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
  const own = await startBench({ agents, workers: 0 });
  try {
    const worker = await own.addWorker();
    const turn = await start(ONE, own.taskQueue);
    const { callId } = await requested(turn);
    await worker.stop();
    const answer = await desk.decide(turn, { callId, decision: 'denied', reason: 'no', approver: 'bob' });
    expect(answer).toMatchObject({ status: 'recorded', decisionId: expect.any(String) });
    expect((await desk.view(turn)).unjudged).toBe(1);
    const inbox = await desk.inbox({ agent: ONE });
    expect(inbox.map((item) => item.turn)).toContain(turn);
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
    const found = await desk.inbox({ tool: 'pay', agent: `crowd-${tag}` });
    return found.length === 25 && found;
  });
  const view = await desk.view(turn);
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
  expect(await desk.inbox({ agent: `crowd-${tag}`, limit: 3 })).toHaveLength(3);
  expect(await desk.inbox({ tool: 'mail', agent: `crowd-${tag}` })).toEqual([]);
  expect(await desk.inbox({ agent: "it's \\ nobody" })).toEqual([]);
  await desk.cancel(turn, 'too many');
  expect((await follow(turn)).at(-1)).toMatchObject({ status: 'cancelled' });
});

test('a call in doubt is resolved, or the turn is abandoned', async () => {
  const approve = (turn: string) => (event: TurnEvent) =>
    event.type === 'request_opened' && desk.decide(turn, { callId: event.callId, decision: 'approved' });
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
    expect(await desk.resolve(first, said)).toMatchObject({
      status: 'accepted',
      verdict: { decision: 'happened' },
    });
  });
  expect(viewOf(events).calls[0]).toMatchObject({
    result: { success: true, content: expect.stringContaining('saw it') },
  });
  expect(await desk.resolve(first, { callId: '1.1', resolution: 'did-not' })).toMatchObject({
    verdict: { code: 'already_decided' },
  });

  const second = await start(`lose-${tag}`);
  const abandoned = await follow(second, async (event) => {
    await approve(second)(event);
    if (event.type === 'in_doubt') await desk.abandon(second, { approver: 'bob', reason: 'give up' });
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
    await desk.start({ agent: ONE, prompt: 'x', id: `${id}${suffix}`, taskQueue: `nobody-${tag}` });
  }
  expect(await desk.find(id)).toBe(id);
  await until('two candidates', async () => {
    const failed = await desk.find(`${id}-`).catch((error: unknown) => error);
    return failed instanceof CountersignError && failed.code === 'ambiguous_id' && failed;
  });
  await expect(desk.find(`none-${tag}`)).rejects.toMatchObject({ code: 'turn_not_found' });
  await expect(desk.find("x' OR 'a'='a")).rejects.toMatchObject({ code: 'turn_not_found' });
  const running = await until('three turns', async () => {
    const turns = await desk.list({ agent: ONE, state: 'running' });
    return turns.filter((turn) => turn.turn.startsWith(id)).length === 3 && turns;
  });
  expect(running[0]).toMatchObject({ agent: ONE, state: 'running', pending: 0, endedAt: null });
  await desk.client.workflow.getHandle(id).terminate('over');
  await until('one terminated', async () =>
    (await desk.list({ agent: ONE, state: 'terminated' })).some((turn) => turn.turn === id),
  );
  expect(await desk.pendingActivities(`${id}-a`)).toEqual({ activities: [], idleQueues: [`nobody-${tag}`] });
});

test('an operator resets a turn: the followed view is that of the new run', async () => {
  const turn = await start();
  await requested(turn);
  let reset = false;
  const events = await follow(turn, async (event) => {
    if (event.type === 'request_opened' && !reset) {
      reset = true;
      await desk.client.workflowService.resetWorkflowExecution({
        namespace: desk.namespace,
        workflowExecution: { workflowId: turn },
        workflowTaskFinishEventId: { toNumber: () => 4, low: 4, high: 0, unsigned: false } as never,
        requestId: randomUUID(),
        reason: 'trial',
      });
    } else if (event.type === 'request_opened')
      await desk.decide(turn, { callId: event.callId, decision: 'approved' });
  });
  expect(events.filter((event) => event.type === 'reset')).toHaveLength(1);
  expect(events.filter((event) => event.type === 'turn_ended')).toMatchObject([{ status: 'answered' }]);
  expect(viewOf(events)).toEqual(await desk.view(turn));
});
