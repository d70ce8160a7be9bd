import { calls, groupOf, useFaultBenches, type FaultBench } from '../support/fault-bench';
import { useFaultProxies } from '../support/fault-proxy';
import { groupGone, isAlive, type ProcessWorker, type Trap } from '../support/process-worker';
import { decide, eventsOf, openOf, resolve, waitFor } from '../support/turns';
import { until, type TurnHandle } from '../support/worker';

jest.setTimeout(120_000);

const newBench = useFaultBenches();
const newProxy = useFaultProxies();

interface Frozen {
  handle: TurnHandle;
  frozen: ProcessWorker;
  other: ProcessWorker;
}

const frozenInside = (bench: FaultBench, ...asked: string[]): Promise<Frozen> =>
  frozenOnce(bench, asked, () => bench.effectsOf('t', 1));

/** Freezes a worker inside a call, past its heartbeat timeout, while another machine takes over. */
const frozenOnce = async (
  bench: FaultBench,
  asked: readonly string[],
  isInside: () => Promise<unknown>,
): Promise<Frozen> => {
  const proxy = await newProxy();
  const frozen = await bench.worker({ address: proxy.address });
  const handle = await bench.start(calls(...asked));
  await isInside();
  frozen.signal('SIGSTOP');
  await frozen.stopped();
  proxy.cut();
  return { handle, frozen, other: await bench.worker(bench.otherMachine()) };
};

test.concurrent('F3: a pure call runs again elsewhere, once; the late result is not taken', async () => {
  const bench = await newBench();
  const { handle, frozen, other } = await frozenInside(bench, 'look:t');
  await bench.effectsOf('t', 2);
  await bench.open('t');
  frozen.signal('SIGCONT');
  expect((await handle.result()).answer).toBe(`look did t in ${other.pid}`);
  expect(await bench.effects('t')).toHaveLength(2);
});

test.concurrent(
  'F3: an unsafe call that is given up aborts, and what it knows settles the doubt',
  async () => {
    const bench = await newBench();
    const { handle, frozen } = await frozenInside(bench, 'work:t');
    await waitFor(handle, '1.1', 'in_doubt');
    frozen.signal('SIGCONT');
    const { answer, counts } = await handle.result();
    expect(answer).toContain('cancelled while it ran');
    expect(counts).toMatchObject({ inDoubt: 1, failed: 1 });
    expect(await bench.effects('t')).toHaveLength(1);
  },
);

test.concurrent('F3: a handler that does not listen ends late; its outcome settles the doubt', async () => {
  const bench = await newBench();
  const { handle, frozen } = await frozenInside(bench, 'stubborn:t');
  await waitFor(handle, '1.1', 'in_doubt');
  frozen.signal('SIGCONT');
  await bench.open('t');
  expect((await handle.result()).answer).toContain(`stubborn did t in ${frozen.pid}`);
  expect(await bench.effects('t')).toHaveLength(1);
});

test.concurrent(
  'F3: a person who resolved first stays first; the late outcome is only in history',
  async () => {
    const bench = await newBench();
    const { handle, frozen } = await frozenInside(bench, 'stubborn:t', 'pay:open');
    await waitFor(handle, '1.1', 'in_doubt');
    const did = { callId: '1.1', resolution: 'did-not', reason: 'looked', approver: 'ann' } as const;
    expect(await resolve(handle, did)).toMatchObject({ accepted: true });
    frozen.signal('SIGCONT');
    await bench.open('t');
    await until('the late outcome', async () => {
      const events = await eventsOf(handle);
      return events.some((event) => event.workflowExecutionSignaledEventAttributes?.signalName === 'outcome');
    });
    await decide(handle, { callId: '1.2', decision: 'denied' });
    expect((await handle.result()).answer).toContain('ann found that it did not take effect. Reason: looked');
    expect(await bench.effects('t')).toHaveLength(1);
  },
);

test.concurrent('F3: the process group of a call that was given up is killed', async () => {
  const bench = await newBench();
  const { handle, frozen } = await frozenOnce(bench, ['group:t'], () => groupOf(bench, 't'));
  const group = await groupOf(bench, 't');
  await waitFor(handle, '1.1', 'in_doubt');
  expect(isAlive(-group)).toBe(true);
  frozen.signal('SIGCONT');
  await groupGone(group);
  expect((await handle.result()).answer).toContain('cancelled while it ran');
  expect(await bench.effects('t')).toHaveLength(1);
});

/** Freezes a worker right before the handler of an unsafe call until another machine has the turn in doubt, then drains it. */
const frozenBefore = async (
  bench: FaultBench,
  at: Trap['at'],
  meanwhile: (handle: TurnHandle) => Promise<unknown> = (handle) => waitFor(handle, '1.1', 'in_doubt'),
): Promise<TurnHandle> => {
  const [proxy, trap] = [await newProxy(), { at, tag: 't', signal: 'SIGSTOP' } as const];
  const frozen = await bench.worker({ address: proxy.address, trap });
  await bench.open('t');
  const handle = await bench.start(calls('work:t', 'pay:open'));
  await frozen.stopped();
  proxy.cut();
  await bench.worker(bench.otherMachine());
  await meanwhile(handle);
  frozen.signal('SIGCONT');
  frozen.signal('SIGTERM');
  expect(await frozen.gone).toBe(0);
  expect(await bench.effects('t')).toHaveLength(0);
  return handle;
};

test.concurrent(
  'F3: frozen after the intent: the handler never starts, and that settles the doubt',
  async () => {
    const bench = await newBench();
    const handle = await frozenBefore(bench, 'before');
    await until('the doubt to be settled', async () => (await openOf(handle))?.count === 1);
    await decide(handle, { callId: '1.2', decision: 'denied' });
    expect((await handle.result()).answer).toMatch(/nothing ran/i);
    expect(await bench.effects('t')).toHaveLength(0);
  },
);

test.concurrent(
  'F3: frozen before the intent: it never starts; running it again takes a person',
  async () => {
    const bench = await newBench();
    const handle = await frozenBefore(bench, 'policy');
    await waitFor(handle, '1.1', 'in_doubt');
    await resolve(handle, {
      callId: '1.1',
      resolution: 'run-again',
      approver: 'ann',
      reason: 'it was frozen',
    });
    await decide(handle, { callId: '1.2', decision: 'denied' });
    expect((await handle.result()).answer).toContain('work did t');
    expect(await bench.effects('t')).toHaveLength(1);
  },
);

test.concurrent(
  'F3: frozen before the intent, and the turn terminated meanwhile: it never starts',
  async () => {
    const bench = await newBench();
    const handle = await frozenBefore(bench, 'policy', (turn) => turn.terminate('by the test'));
    expect((await handle.describe()).status.name).toBe('TERMINATED');
  },
);
