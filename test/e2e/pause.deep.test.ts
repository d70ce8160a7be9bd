import { connect, type Countersign } from '../../src/client';
import { AFTER_CLOSING } from '../../src/authority/pauses/pause';
import { CONTROL } from '../../src/contract/names';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { decide, seenOf, waitFor } from '../support/turns';
import { until } from '../support/until';

/** A pause holds everything in its namespace, so each of these has a server of its own. */
const startPlace = async (): Promise<{ fixture: Fixture; client: Countersign }> => {
  const fixture = await startFixture({ ownServer: {} });
  const client = await connect({ client: fixture.client });
  return { fixture, client };
};

const typesOf = async (client: Countersign, { workflowId }: TurnHandle): Promise<string[]> =>
  (await client.timeline(workflowId)).map(({ type }) => type);

const untilHeld = (client: Countersign, handle: TurnHandle, times = 1): Promise<unknown> =>
  until(`the call to be held ${times} times`, async () => {
    const types = await typesOf(client, handle);
    return types.filter((type) => type === 'call_held').length >= times;
  });

const by = 'ann';

test('an approved call is held, its worker killed, and it starts once when it may', async () => {
  const { fixture, client } = await startPlace();
  const first = await fixture.addProcess();
  const handle = await fixture.startSteps(calls('pay:held'));
  await waitFor(handle, '1.1');
  const taken = await client.pause({ tool: 'pay', reason: 'the bank is down', by });
  expect(taken).toMatchObject({ pause: { tool: 'pay', by } });
  await expect(client.pauses()).resolves.toEqual({ control: 'open', pauses: [taken.pause] });
  await decide(handle, { callId: '1.1', decision: 'approved', ...(await seenOf(handle)) });
  await untilHeld(client, handle);
  await first.kill();
  expect(await fixture.effects('held')).toEqual([]);
  await fixture.addHere(fixture.otherMachine());
  const [ended] = await client.resume({ tool: 'pay', by });
  expect(ended).toEqual(taken.pause);
  await fixture.open('held');
  expect(await handle.result()).toMatchObject({
    status: 'answered',
    counts: { calls: 1, failed: 0, inDoubt: 0 },
  });
  expect(await fixture.effects('held')).toHaveLength(1);
  const events = await client.timeline(handle.workflowId);
  const story = events.filter(({ type }) =>
    ['call_started', 'call_held', 'call_resumed', 'call_ended'].includes(type),
  );
  expect(story).toMatchObject([
    { type: 'call_started' },
    { type: 'call_held', message: expect.stringContaining('ann paused calls of pay') },
    { type: 'call_resumed' },
    { type: 'call_ended', attempts: 1 },
  ]);
});

test('a turn that is cancelled while a pause holds its call ends as cancelled, and nothing ran', async () => {
  const { fixture, client } = await startPlace();
  await fixture.addHere();
  await client.pause({ agent: 'crash', reason: 'an incident', by });
  const handle = await fixture.startSteps(calls('look:free', 'put:held'));
  await untilHeld(client, handle);
  // A call without an effect does not look.
  await fixture.effectsOf('free', 1);
  await fixture.open('free');
  await handle.cancel();
  await expect(handle.result()).rejects.toThrow();
  const events = await client.timeline(handle.workflowId);
  expect(events).toContainEqual(expect.objectContaining({ type: 'turn_ended', status: 'cancelled' }));
  expect(events.filter(({ type }) => type === 'call_resumed')).toEqual([]);
  expect(await fixture.effects('held')).toEqual([]);
});

test('closed, what holds the pauses starts again and holds everything', async () => {
  const { fixture, client } = await startPlace();
  await fixture.addHere();
  await until('what holds the pauses', async () => (await client.pauses()).control === 'open');
  await fixture.client.workflow.getHandle(CONTROL.workflowId).terminate();
  await expect(client.pauses()).resolves.toEqual({ control: 'closed', pauses: [] });
  const handle = await fixture.startSteps(calls('put:held'));
  await until('the model call to be held', async () =>
    (await client.pendingActivities(handle.workflowId)).activities.some(({ lastFailure = '' }) =>
      lastFailure.includes('countersign-control was closed'),
    ),
  );
  const [pause, ...others] = (await client.pauses()).pauses;
  expect(pause).toMatchObject({ ...AFTER_CLOSING });
  expect(others).toEqual([]);
  await client.resume({ all: true, by });
  await fixture.open('held');
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  expect(await fixture.effects('held')).toHaveLength(1);
});

test('a worker that finds it deleted starts it with everything paused, although no turn is open', async () => {
  const { fixture, client } = await startPlace();
  const first = await fixture.addProcess();
  await client.pause({ tool: 'put', reason: 'an incident', by });
  const before = await fixture.startSteps(calls('put:before'));
  await untilHeld(client, before);
  await before.cancel();
  await expect(before.result()).rejects.toThrow();
  await first.kill();
  const control = fixture.client.workflow.getHandle(CONTROL.workflowId);
  await control.terminate();
  await fixture.client.workflowService.deleteWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: CONTROL.workflowId },
  });
  await until('nothing that holds pauses', async () => (await client.pauses()).control === 'absent');
  await fixture.addProcess(fixture.otherMachine());
  const { pauses } = await client.pauses();
  expect(pauses).toMatchObject([{ ...AFTER_CLOSING }]);
  const handle = await fixture.startSteps(calls('put:deleted'));
  await client.resume({ all: true, by });
  await fixture.open('deleted');
  expect(await handle.result()).toMatchObject({ status: 'answered' });
});

test('model calls are held where that is asked, and pauses outlive many changes', async () => {
  const { fixture, client } = await startPlace();
  await fixture.addHere();
  const { pause } = await client.pause({ agent: 'crash', models: true, reason: 'it writes nonsense', by });
  await expect(client.pause({ agent: 'crash', reason: 'again', by: 'bob' })).resolves.toEqual({
    pause,
    already: true,
  });
  const control = fixture.client.workflow.getHandle(CONTROL.workflowId);
  const { runId } = await control.describe();
  const others = Array.from({ length: 10 }, (_, n) => `other_${n}`);
  for (let round = 0; round < 3; round++) {
    const all = (update: string) =>
      Promise.all(others.map((tool) => control.executeUpdate(update, { args: [{ tool, reason: 'x', by }] })));
    await all('pause');
    await all('resume');
  }
  await until('the next run', async () => (await control.describe()).runId !== runId);
  await expect(client.pauses()).resolves.toEqual({ control: 'open', pauses: [pause] });
  const handle = await fixture.startSteps(calls('note:held'));
  await until('the model call to be held', async () =>
    (await client.pendingActivities(handle.workflowId)).activities.some(
      ({ what, lastFailure = '' }) => what === 'think' && lastFailure.includes('it writes nonsense'),
    ),
  );
  await expect(client.resume({ tool: 'pay', by })).rejects.toMatchObject({ code: 'not_found' });
  await client.resume({ all: true, by });
  expect(await handle.result()).toMatchObject({ status: 'answered' });
  expect(await fixture.effects('held')).toHaveLength(1);
});
