import { calls, useFaultBenches, type FaultBench } from '../support/fault-bench';
import { onCall } from '../support/operator';
import type { ProcessWorker } from '../support/process-worker';
import { resolve, waitFor } from '../support/turns';
import { until, type TurnHandle } from '../support/worker';

jest.setTimeout(120_000);

const newBench = useFaultBenches();

/** A turn inside an unsafe call. */
const inside = async (bench: FaultBench): Promise<[TurnHandle, ProcessWorker]> => {
  const worker = await bench.worker();
  const handle = await bench.start(calls('work:t'));
  await bench.effectsOf('t', 1);
  return [handle, worker];
};

/** The call is in doubt, ran once, and ends as a person says. */
const expectDoubt = async (bench: FaultBench, handle: TurnHandle): Promise<void> => {
  await waitFor(handle, '1.1', 'in_doubt');
  expect(await bench.effects('t')).toHaveLength(1);
  await resolve(handle, { callId: '1.1', resolution: 'did-not', reason: 'looked' });
  expect(await handle.result()).toMatchObject({ status: 'answered', counts: { calls: 1, inDoubt: 1 } });
  expect(await bench.effects('t')).toHaveLength(1);
};

const REFRESH = ['--reset-attempts', '--reset-heartbeats'];

/** What an operator does to a call, one command after another. */
type Commands = readonly (readonly [verb: string, ...options: string[]])[];

const operate = async (handle: TurnHandle, commands: Commands): Promise<void> => {
  for (const [verb, ...options] of commands) await onCall(handle, verb, ...options);
};

const ON_RUNNING: [string, Commands][] = [
  ['reset', [['reset']]],
  ['reset, heartbeats too', [['reset', ...REFRESH]]],
  ['paused', [['pause']]],
  [
    'given more attempts and reset',
    [
      ['update-options', '--retry-maximum-attempts', '5'],
      ['reset', ...REFRESH],
    ],
  ],
];

test.concurrent.each(ON_RUNNING)(
  'F19: an unsafe call that runs is %s: it stops, nothing is run again',
  async (_, commands) => {
    const bench = await newBench();
    const [handle] = await inside(bench);
    await operate(handle, commands);
    await until('the end of the call', async () => (await pendingOf(handle)) === undefined);
    const { counts } = await handle.result();
    expect(counts).toMatchObject({ calls: 1, failed: 1 });
    expect(await bench.effects('t')).toHaveLength(1);
  },
);

/** The worker does not hear of the commands: it is frozen meanwhile, and then dead. */
const ON_DEAD: [string, Commands][] = [
  ['reset', [['reset']]],
  ['reset, heartbeats too', [['reset', ...REFRESH]]],
  ['paused and unpaused', [['pause'], ['unpause', ...REFRESH]]],
  ['given more attempts', [['update-options', '--retry-maximum-attempts', '5']]],
];

describe.each(['this machine', 'another machine'])('F19: seen by %s', (where) => {
  test.concurrent.each(ON_DEAD)(
    'a call whose worker died is %s: in doubt, not started again',
    async (_, commands) => {
      const bench = await newBench();
      const [handle, worker] = await inside(bench);
      worker.signal('SIGSTOP');
      await worker.stopped();
      await operate(handle, commands);
      await worker.kill();
      await bench.worker(where === 'this machine' ? {} : bench.otherMachine());
      await expectDoubt(bench, handle);
    },
  );
});

const pendingOf = async (handle: TurnHandle) => {
  const { pendingActivities } = (await handle.describe()).raw;
  return pendingActivities?.find(({ activityId }) => activityId === 'call-1.1-0');
};

test.concurrent(
  'F19: attempts raised, the second one waits, then reset: another machine still sees a start',
  async () => {
    const bench = await newBench();
    const [handle, worker] = await inside(bench);
    await onCall(handle, 'update-options', '--retry-maximum-attempts', '5');
    await worker.kill();
    await until('the second attempt', async () => ((await pendingOf(handle))?.attempt ?? 0) > 1);
    await onCall(handle, 'reset', ...REFRESH);
    await bench.worker(bench.otherMachine());
    await expectDoubt(bench, handle);
  },
);

/** An approved call that waits for a worker of its queue while an operator does something to it; then the worker comes. */
const beforeStart = async (bench: FaultBench, commands: Commands): Promise<TurnHandle> => {
  const callsQueue = `${bench.taskQueue}-calls`;
  await bench.worker({ callsQueue, queues: [bench.taskQueue] });
  const preparing = await bench.worker({ callsQueue, queues: [callsQueue] });
  await bench.open('t');
  const handle = await bench.start(calls('pay:t'));
  await waitFor(handle, '1.1');
  await preparing.kill();
  await handle.executeUpdate('decide', { args: [{ callId: '1.1', decision: 'approved' }] });
  await until('the call to wait for a worker', () => pendingOf(handle));
  await operate(handle, commands);
  await bench.worker({ callsQueue, queues: [callsQueue] });
  return handle;
};

test.concurrent('F19: a call that has not started and is given other options runs, once', async () => {
  const bench = await newBench();
  const handle = await beforeStart(bench, [['update-options', '--retry-maximum-attempts', '5']]);
  expect(await handle.result()).toMatchObject({ counts: { calls: 1, failed: 0, inDoubt: 0 } });
  expect(await bench.effects('t')).toHaveLength(1);
});

// The server then keeps nothing that tells it from one that had started: we ask.
test.concurrent.each([
  ['reset', [['reset', ...REFRESH]]],
  ['paused and unpaused', [['pause'], ['unpause', ...REFRESH]]],
] as [string, Commands][])(
  'F19: a call that has not started and is %s runs when a person says so, once',
  async (_, commands) => {
    const bench = await newBench();
    const handle = await beforeStart(bench, commands);
    await waitFor(handle, '1.1', 'in_doubt');
    expect(await bench.effects('t')).toHaveLength(0);
    await resolve(handle, { callId: '1.1', resolution: 'run-again', reason: 'it never ran' });
    expect(await handle.result()).toMatchObject({ counts: { calls: 1, failed: 0 } });
    expect(await bench.effects('t')).toHaveLength(1);
  },
);
