import { temporal } from '@temporalio/proto';
import { connect, type Countersign } from '../../src/client';
import type { RunningServer } from '../../src/engine/server-launch';
import { defineAgent } from '../../src/tools/define-agent';
import { drawKey, ringOf } from '../encryption/ring';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { startOwnServer, testAddress } from '../support/server';
import { decide, eventsOf, send, verdictsOf, waitFor } from '../support/turns';
import { until } from '../support/until';
import { clientWith, handleOf } from '../support/vault';

type Payload = temporal.api.common.v1.IPayload;
type HistoryEvent = Awaited<ReturnType<typeof eventsOf>>[number];
const UNHANDLED = temporal.api.enums.v1.WorkflowTaskFailedCause.WORKFLOW_TASK_FAILED_CAUSE_UNHANDLED_COMMAND;

const effects = useEffects();
const book = scriptBook();
const stays = (_: unknown, { signal }: { signal: AbortSignal }): Promise<string> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve('late'), { once: true }));
const tools = [
  recordTool(
    effects,
    { name: 'pay', safety: 'dangerous', verify: () => ({ outcome: 'cannot_tell' }) },
    stays,
  ),
  recordTool(effects, { name: 'ask', safety: 'dangerous' }),
];
const key = drawKey('first');
/** Two workers: one without keys, and one with a key that reads plaintext, too. */
const rings = { 'without keys': { required: false }, 'with keys': { keys: [key], required: false } };
const fixtures = new Map<string, Fixture>();
let server: RunningServer;
let slow: Fixture;
const clients = new Map<string, Countersign>();

// A server of its own: without keys nobody could read an inbox with turns of this file.
beforeAll(async () => {
  server = await startOwnServer();
  process.env['COUNTERSIGN_TEST_ADDRESS'] = server.address;
  const agents = [defineAgent({ name: 'unreadable', instructions: 'do', model: book.model, tools })];
  for (const [ring, encryption] of Object.entries(rings)) {
    fixtures.set(ring, await startFixture({ agents, worker: { encryption } }));
    clients.set(ring, await clientWith(encryption));
  }
  const sleeper = { id: 'sleeper', generate: () => new Promise<never>(() => {}) };
  const asleep = [defineAgent({ name: 'slow', instructions: 'do', model: sleeper, tools: [] })];
  slow = await startFixture({ agents: asleep, worker: { encryption: rings['with keys'] } });
});
afterAll(async () => {
  await Promise.all([...clients.values()].map((countersign) => countersign.close()));
  await server.stop();
});

const of = <T>(ring: string, map: ReadonlyMap<string, T>): T => {
  const found = map.get(ring);
  if (found === undefined) throw new Error(`nothing for ${ring}`);
  return found;
};
const benchOf = (ring: string): Fixture => of(ring, fixtures);

/** A turn whose client has the keys of its worker. */
const startOn = async (ring: string, prompt: string): Promise<TurnHandle> =>
  handleOf(of(ring, clients), (await benchOf(ring).start('unreadable', prompt)).workflowId);

const plain = (encoding: string, data: string): Payload => ({
  metadata: { encoding: Buffer.from(encoding) },
  data: Buffer.from(data),
});

/** What is sealed for this workflow, and then altered by one bit. */
const sealed = async (workflowId: string, isAltered: boolean): Promise<Payload> => {
  const [codec] = ringOf({ keys: [key] }).client().payloadCodecs ?? [];
  const context = { type: 'workflow' as const, namespace: 'default', workflowId };
  const [payload] =
    (await codec?.encode([plain('json/plain', '{"callId":"1.1","decision":"approved"}')], context)) ?? [];
  const data = Buffer.from(payload?.data ?? []);
  if (isAltered) data[20] = (data[20] ?? 0) ^ 1;
  return { metadata: payload?.metadata ?? {}, data };
};

/** Payloads that a worker of this ring cannot read. */
const kinds: [string, string, (workflowId: string) => Payload | Promise<Payload>][] = [
  ['without keys', 'of an encoding nobody knows', () => plain('binary/other', 'x')],
  ['without keys', 'without an encoding', () => ({ data: Buffer.from('1') })],
  ['without keys', 'of JSON that is cut off', () => plain('json/plain', '{"a":')],
  ['without keys', 'encrypted', (id) => sealed(id, false)],
  ['with keys', 'encrypted and altered', (id) => sealed(id, true)],
  ['with keys', 'moved from another workflow', () => sealed('elsewhere', false)],
];

const execution = ({ workflowId }: TurnHandle) => ({ namespace: 'default', workflowId });
/** One that a message came upon while it was answered is not a failure: the server has it done again. */
const isTaskFailure = ({ workflowTaskFailedEventAttributes: failed }: HistoryEvent): boolean =>
  failed != null && failed.cause !== UNHANDLED;
const noTaskFailed = async (handle: TurnHandle): Promise<void> =>
  expect((await eventsOf(handle)).filter(isTaskFailure)).toEqual([]);

const calling = async (ring: string, tag: string): Promise<TurnHandle> => {
  const handle = await startOn(ring, book.add({ toolCalls: [{ name: 'pay', arguments: { tag } }] }));
  await waitFor(handle, '1.1', 'request');
  await decide(handle, { callId: '1.1', decision: 'approved' });
  await until('the call', async () => (await effects.lines(tag)).length > 0);
  return handle;
};

const settles = async (handle: TurnHandle, tag: string): Promise<void> => {
  await waitFor(handle, '1.1', 'in_doubt');
  expect(await send(handle, 'resolve', { callId: '1.1', resolution: 'happened' })).toMatchObject({
    accepted: true,
  });
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  expect(await effects.lines(tag)).toHaveLength(1);
  await noTaskFailed(handle);
};

describe.each(kinds)('a worker %s, and a payload %s', (ring, what, draw) => {
  const tagOf = (how: string): string => `${how} ${ring} ${what}`;

  test('as the result of an unsafe call: the call is in doubt', async () => {
    const { client } = benchOf(ring);
    const handle = await calling(ring, tagOf('result'));
    const payload = await draw(handle.workflowId);
    await client.workflowService.respondActivityTaskCompletedById({
      ...{ ...execution(handle), activityId: 'call-1.1-0' },
      result: { payloads: [payload] },
    });
    await settles(handle, tagOf('result'));
  });

  test('as the details of a failure: the call is in doubt', async () => {
    const { client } = benchOf(ring);
    const handle = await calling(ring, tagOf('failed'));
    const payload = await draw(handle.workflowId);
    await client.workflowService.respondActivityTaskFailedById({
      ...{ ...execution(handle), activityId: 'call-1.1-0' },
      failure: {
        message: 'the operator said so',
        encodedAttributes: payload,
        applicationFailureInfo: { type: 'Operator', nonRetryable: true, details: { payloads: [payload] } },
      },
    });
    await settles(handle, tagOf('failed'));
  });

  test('as a signal, an update and a query, and behind one that can be read: the turn stays decidable', async () => {
    const { client } = benchOf(ring);
    const tag = tagOf('messages');
    const handle = await startOn(ring, book.add({ toolCalls: [{ name: 'ask', arguments: { tag } }] }));
    await waitFor(handle, '1.1', 'request');
    const payload = await draw(handle.workflowId);
    const workflowExecution = { workflowId: handle.workflowId };
    for (const signalName of ['approval', 'resolution', 'outcome', 'nobody'])
      for (const payloads of [[payload], [plain('json/plain', '{}'), payload, payload]])
        await client.workflowService.signalWorkflowExecution({
          ...{ namespace: 'default', workflowExecution, signalName },
          input: { payloads },
          header: { fields: { odd: payload } },
        });
    await until('the verdicts', async () => (await verdictsOf(handle)).length === 4);
    expect((await verdictsOf(handle)).map(({ verdict }) => verdict)).toEqual(Array(4).fill('malformed'));
    const asked = { namespace: 'default', execution: workflowExecution };
    for (const queryArgs of [
      { payloads: [payload] },
      { payloads: [plain('json/plain', '{"from":0}'), payload] },
    ])
      expect(
        await client.workflowService.queryWorkflow({
          ...asked,
          query: { queryType: 'transcript', queryArgs },
        }),
      ).toMatchObject({ queryResult: { payloads: [expect.anything()] } });
    expect(await decide(handle, { callId: '1.1', decision: 'approved' })).toMatchObject({ accepted: true });
    expect(await handle.result()).toMatchObject({ status: 'answered' });
    expect(await effects.lines(tag)).toHaveLength(1);
    await noTaskFailed(handle);
  });

  test('as the memo and a header of a turn: it runs', async () => {
    const fixture = benchOf(ring);
    const workflowId = `memo-${Math.random()}`;
    const payload = await draw(workflowId);
    const input = { agent: 'unreadable', prompt: book.add({ text: 'done' }) };
    await fixture.client.workflowService.startWorkflowExecution({
      ...{ namespace: 'default', workflowId, requestId: workflowId },
      workflowType: { name: 'agentTurn' },
      taskQueue: { name: fixture.taskQueue },
      input: { payloads: [plain('json/plain', JSON.stringify(input)), payload] },
      memo: { fields: { odd: payload } },
      header: { fields: { odd: payload } },
    });
    const handle = handleOf(of(ring, clients), workflowId);
    expect(await handle.result()).toMatchObject({ answer: 'done' });
    // Who lists sees it, and all others.
    for (const options of [{ address: testAddress() }, { client: fixture.client }]) {
      const lister = await connect(options);
      await until('the turn to be listed', async () =>
        (await lister.list({ limit: 200 })).some(({ turn }) => turn === workflowId),
      );
      await lister.close();
    }
  });
});

test.each(kinds.filter(([ring, what]) => ring === 'with keys' || what !== 'encrypted'))(
  'a turn that is started on a worker %s with an input %s fails at once',
  async (ring, _, draw) => {
    const fixture = benchOf(ring);
    const workflowId = `input-${Math.random()}`;
    await fixture.client.workflowService.startWorkflowExecution({
      ...{ namespace: 'default', workflowId, requestId: workflowId },
      workflowType: { name: 'agentTurn' },
      taskQueue: { name: fixture.taskQueue },
      input: { payloads: [await draw(workflowId)] },
    });
    const handle = handleOf(of(ring, clients), workflowId);
    await expect(handle.result()).rejects.toMatchObject({ name: 'WorkflowFailedError' });
  },
);

test('a model that an operator answered for with altered results is asked again', async () => {
  const handle = handleOf(of('with keys', clients), (await slow.start('slow', 'go')).workflowId);
  for (const activityId of ['think-1', 'think-1-again-1', 'think-1-again-2']) {
    await until(activityId, async () => {
      const { raw } = await handle.describe();
      return raw.pendingActivities?.some((one) => one.activityId === activityId && one.state === 2);
    });
    await slow.client.workflowService.respondActivityTaskCompletedById({
      ...{ ...execution(handle), activityId },
      result: { payloads: [await sealed(handle.workflowId, true)] },
    });
  }
  await expect(handle.result()).rejects.toMatchObject({ name: 'WorkflowFailedError' });
  await noTaskFailed(handle);
});
