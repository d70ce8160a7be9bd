import { connect, type Countersign } from '../../src/client';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { decide, seenOf, waitFor } from '../support/turns';
import { until } from '../support/until';

jest.setTimeout(120_000);

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
  await fixture.addProcess(fixture.otherMachine());
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
