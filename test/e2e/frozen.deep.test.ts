import { useFaultProxies } from '../support/fault-proxy';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { groupGone, isAlive, type ProcessWorker, type Trap } from '../support/process-worker';
import { decide, eventsOf, openOf, resolve, waitFor } from '../support/turns';
import { until } from '../support/until';
import type { WorkerHere } from '../support/worker-here';

const newProxy = useFaultProxies();

interface Frozen {
  handle: TurnHandle;
  frozen: ProcessWorker;
  other: WorkerHere;
}

const frozenInside = (fixture: Fixture, ...asked: string[]): Promise<Frozen> =>
  frozenOnce(fixture, asked, () => fixture.effectsOf('t', 1));

/** Freezes a worker inside a call, past its heartbeat timeout, while another machine takes over. */
const frozenOnce = async (
  fixture: Fixture,
  asked: readonly string[],
  isInside: () => Promise<unknown>,
): Promise<Frozen> => {
  const proxy = await newProxy();
  const frozen = await fixture.addProcess({ address: proxy.address });
  const handle = await fixture.startSteps(calls(...asked));
  await isInside();
  frozen.signal('SIGSTOP');
  await frozen.stopped();
  proxy.cut();
  return { handle, frozen, other: await fixture.addHere(fixture.otherMachine()) };
};

test.concurrent('a pure call runs again elsewhere, once; the late result is not taken', async () => {
  const fixture = await startFixture();
  const { handle, frozen, other } = await frozenInside(fixture, 'look:t');
  await fixture.effectsOf('t', 2);
  await fixture.open('t');
  frozen.signal('SIGCONT');
  expect((await handle.result()).answer).toBe(`look did t in ${other.pid}`);
  expect(await fixture.effects('t')).toHaveLength(2);
});

test.concurrent(
  'an unsafe call that is given up aborts; that proves nothing, and a person is asked',
  async () => {
    const fixture = await startFixture();
    const { handle, frozen } = await frozenInside(fixture, 'work:t');
    await waitFor(handle, '1.1', 'in_doubt');
    frozen.signal('SIGCONT');
    frozen.signal('SIGTERM');
    expect(await frozen.gone).toBe(0);
    expect(await openOf(handle)).toMatchObject({ count: 1, items: [{ kind: 'in_doubt' }] });
    await resolve(handle, { callId: '1.1', resolution: 'happened', approver: 'ann' });
    const { answer, counts } = await handle.result();
    expect(answer).toContain('ann found that it did take effect');
    expect(counts).toMatchObject({ inDoubt: 1, failed: 0 });
    expect(await fixture.effects('t')).toHaveLength(1);
  },
);

test.concurrent('a handler that does not listen ends late; its outcome settles the doubt', async () => {
  const fixture = await startFixture();
  const { handle, frozen } = await frozenInside(fixture, 'stubborn:t');
  await waitFor(handle, '1.1', 'in_doubt');
  frozen.signal('SIGCONT');
  await fixture.open('t');
  const { answer, counts } = await handle.result();
  expect(answer).toMatch(/^\[Late: this call succeeded, but only after [^\]]+\]/);
  expect(answer).toContain(`stubborn did t in ${frozen.pid}`);
  expect(counts).toMatchObject({ inDoubt: 1, failed: 0 });
  expect(await fixture.effects('t')).toHaveLength(1);
});

test.concurrent('a person who resolved first stays first; the late outcome is only in history', async () => {
  const fixture = await startFixture();
  const { handle, frozen } = await frozenInside(fixture, 'stubborn:t', 'pay:open');
  await waitFor(handle, '1.1', 'in_doubt');
  const did = { callId: '1.1', resolution: 'did-not', reason: 'looked', approver: 'ann' } as const;
  expect(await resolve(handle, did)).toMatchObject({ accepted: true });
  frozen.signal('SIGCONT');
  await fixture.open('t');
  await until('the late outcome', async () => {
    const events = await eventsOf(handle);
    return events.some((event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'outcome');
  });
  await decide(handle, { callId: '1.2', decision: 'denied' });
  expect((await handle.result()).answer).toContain('ann found that it did not take effect. Reason: looked');
  expect(await fixture.effects('t')).toHaveLength(1);
});

test.concurrent('the process group of a call that was given up is killed', async () => {
  const fixture = await startFixture();
  const { handle, frozen } = await frozenOnce(fixture, ['group:t'], () => fixture.groupOf('t'));
  const group = await fixture.groupOf('t');
  await waitFor(handle, '1.1', 'in_doubt');
  expect(isAlive(-group)).toBe(true);
  frozen.signal('SIGCONT');
  await groupGone(group);
  expect((await handle.result()).answer).toContain('cancelled while it ran');
  expect(await fixture.effects('t')).toHaveLength(1);
});

/** Freezes a worker right before the handler of an unsafe call until another machine has the turn in doubt, then drains it. */
const frozenBefore = async (
  fixture: Fixture,
  at: Trap['at'],
  meanwhile: (handle: TurnHandle) => Promise<unknown> = (handle) => waitFor(handle, '1.1', 'in_doubt'),
): Promise<TurnHandle> => {
  const [proxy, trap] = [await newProxy(), { at, tag: 't', signal: 'SIGSTOP' } as const];
  const frozen = await fixture.addProcess({ address: proxy.address, trap });
  await fixture.open('t');
  const handle = await fixture.startSteps(calls('work:t', 'pay:open'));
  await frozen.stopped();
  proxy.cut();
  await fixture.addHere(fixture.otherMachine());
  await meanwhile(handle);
  frozen.signal('SIGCONT');
  frozen.signal('SIGTERM');
  expect(await frozen.gone).toBe(0);
  expect(await fixture.effects('t')).toHaveLength(0);
  return handle;
};

test.concurrent('frozen after the intent: the handler never starts, and that settles the doubt', async () => {
  const fixture = await startFixture();
  const handle = await frozenBefore(fixture, 'before');
  await until('the doubt to be settled', async () => (await openOf(handle))?.count === 1);
  await decide(handle, { callId: '1.2', decision: 'denied' });
  expect((await handle.result()).answer).toMatch(/nothing ran/i);
  expect(await fixture.effects('t')).toHaveLength(0);
});

test.concurrent('frozen before the intent: it never starts; running it again takes a person', async () => {
  const fixture = await startFixture();
  const handle = await frozenBefore(fixture, 'policy');
  await waitFor(handle, '1.1', 'in_doubt');
  await resolve(handle, {
    callId: '1.1',
    resolution: 'run-again',
    approver: 'ann',
    reason: 'it was frozen',
  });
  await decide(handle, { callId: '1.2', decision: 'denied' });
  expect((await handle.result()).answer).toContain('work did t');
  expect(await fixture.effects('t')).toHaveLength(1);
});

test.concurrent('frozen before the intent, and the turn terminated meanwhile: it never starts', async () => {
  const fixture = await startFixture();
  const handle = await frozenBefore(fixture, 'policy', (turn) => turn.terminate('by the test'));
  expect((await handle.describe()).status.name).toBe('TERMINATED');
});
