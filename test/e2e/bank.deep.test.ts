import { useBank } from '../support/bank';
import { useFaultProxies } from '../support/fault-proxy';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import type { FixtureSettings } from '../support/process-worker';
import { decide, openOf, resolve, waitFor } from '../support/turns';

const newProxy = useFaultProxies();
const bank = useBank();

const PAID = { callId: '1.1', resolution: 'happened', approver: 'ann', reason: 'it is booked' } as const;

const withBank = (timeout: string): Partial<FixtureSettings> => ({ bank: { url: bank().url, timeout } });

/** A turn whose payment is booked, and whose answer the tool still waits for. */
const paying = async (fixture: Fixture, tool: string, tag: string): Promise<TurnHandle> => {
  const handle = await fixture.startSteps(calls(`${tool}:${tag}`));
  if (tool === 'transfer') {
    await waitFor(handle, '1.1');
    await decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann' });
  }
  await bank().booked(tag);
  return handle;
};

/** A person says that it happened, and only then the model goes on. There was one payment all the time. */
const settledByPerson = async (handle: TurnHandle, tag: string): Promise<void> => {
  await waitFor(handle, '1.1', 'in_doubt');
  expect(await resolve(handle, PAID)).toMatchObject({ accepted: true });
  const { answer, counts } = await handle.result();
  expect(answer).toContain('ann found that it did take effect');
  expect(counts).toMatchObject({ calls: 1, inDoubt: 1, failed: 0 });
  expect(bank().payments(tag)).toHaveLength(1);
};

test.concurrent.each(['charge', 'transfer'])(
  'a payment that is booked and never answered is in doubt after the timeout of the tool: %s',
  async (tool) => {
    const fixture = await startFixture();
    await fixture.addHere(withBank('1s'));
    await settledByPerson(await paying(fixture, tool, `timeout-${tool}`), `timeout-${tool}`);
  },
);

test.concurrent.each(['charge', 'transfer'])(
  'a worker that has to end cuts its request off; the payment is in doubt: %s',
  async (tool) => {
    const fixture = await startFixture();
    const first = await fixture.addProcess(withBank('1 minute'));
    const handle = await paying(fixture, tool, `drain-${tool}`);
    first.signal('SIGTERM');
    await fixture.addHere(withBank('1 minute'));
    expect(await first.gone).toBe(0);
    await settledByPerson(handle, `drain-${tool}`);
  },
);

test.concurrent(
  'a turn that is cancelled while it pays stays open until a person says how it ended',
  async () => {
    const fixture = await startFixture();
    await fixture.addHere(withBank('1 minute'));
    const handle = await paying(fixture, 'transfer', 'cancel');
    await handle.cancel();
    await waitFor(handle, '1.1', 'in_doubt');
    expect((await handle.describe()).status.name).toBe('RUNNING');
    await resolve(handle, PAID);
    await expect(handle.result()).rejects.toThrow();
    expect((await handle.describe()).status.name).toBe('CANCELLED');
    expect(bank().payments('cancel')).toHaveLength(1);
  },
);

test.concurrent('a worker that was frozen aborts its own request; that settles nothing', async () => {
  const fixture = await startFixture();
  const proxy = await newProxy();
  const frozen = await fixture.addProcess({ ...withBank('1 minute'), address: proxy.address });
  const handle = await paying(fixture, 'charge', 'frozen');
  frozen.signal('SIGSTOP');
  await frozen.stopped();
  proxy.cut();
  await fixture.addHere({ ...fixture.otherMachine(), ...withBank('1 minute') });
  await waitFor(handle, '1.1', 'in_doubt');
  frozen.signal('SIGCONT');
  frozen.signal('SIGTERM');
  expect(await frozen.gone).toBe(0);
  expect(await openOf(handle)).toMatchObject({ items: [{ callId: '1.1', kind: 'in_doubt' }] });
  await settledByPerson(handle, 'frozen');
});
