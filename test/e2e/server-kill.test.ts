import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunningServer } from '../../src/engine';
import { calls, useFaultBenches, type FaultBench } from '../support/fault-bench';
import { scratchDirectory } from '../support/scratch';
import { startOwnServer } from '../support/server';
import { decide, eventsOf, openOf, signalDecision, waitFor } from '../support/turns';
import type { TurnHandle } from '../support/worker';

jest.setTimeout(120_000);

const directory = scratchDirectory();
const newBench = useFaultBenches();
let server: RunningServer;

beforeEach(async () => {
  server = await startOwnServer({ dbFile: join(directory(), 'temporal.db') });
});

afterEach(() => server.stop());

const crash = async (): Promise<void> => {
  process.kill(server.pid, 'SIGKILL');
  await server.exited;
};

/** Starts it again: same file, same port. */
const revive = async (): Promise<void> => {
  const port = Number(server.address.split(':')[1]);
  server = await startOwnServer({ dbFile: join(directory(), 'temporal.db'), port });
};

/** A turn that waits for a decision; its calls may miss beats while the server is down. */
const waiting = async (): Promise<[FaultBench, TurnHandle]> => {
  const bench = await newBench(server.address);
  await bench.worker({ heartbeat: '30s' });
  const handle = await bench.start(calls('pay:t'));
  await waitFor(handle, '1.1');
  return [bench, handle];
};

const approval = { callId: '1.1', decision: 'approved', approver: 'ann', decisionId: 'one' } as const;

const expectOnce = async (bench: FaultBench, handle: TurnHandle): Promise<void> => {
  expect(await handle.result()).toMatchObject({ counts: { calls: 1, failed: 0, requests: 1, inDoubt: 0 } });
  expect(await bench.effects('t')).toHaveLength(1);
};

test('killed while a turn waits: the request is still there, and approving it works', async () => {
  const [bench, handle] = await waiting();
  const before = await openOf(handle);
  await crash();
  await revive();
  expect(await openOf(handle)).toEqual(before);
  await decide(handle, approval);
  await bench.open('t');
  await expectOnce(bench, handle);
});

test.each(['before', 'after'])(
  'killed inside a call that ends %s it is back: one effect, known',
  async (when) => {
    const [bench, handle] = await waiting();
    await decide(handle, approval);
    await bench.effectsOf('t', 1);
    await crash();
    if (when === 'before') await bench.open('t');
    await revive();
    if (when === 'after') await bench.open('t');
    await expectOnce(bench, handle);
  },
);

/** Sends the same decision until it is answered, whatever becomes of the server meanwhile; a minute and more. */
const insist = async (send: () => Promise<unknown>): Promise<unknown> => {
  let failure: unknown;
  for (let attempt = 0; attempt < 600; attempt++) {
    try {
      return (await send()) ?? 'sent';
    } catch (error) {
      failure = error;
      await delay(100);
    }
  }
  throw failure;
};

test('F5: killed again and again while a decision is sent by both doors: it is taken once', async () => {
  const [bench, handle] = await waiting();
  const senders = [
    ...[1, 2, 3].map(() => insist(() => decide(handle, approval, 'one'))),
    ...[1, 2, 3].map(() => insist(() => signalDecision(handle, approval))),
  ];
  for (let round = 0; round < 3; round++) {
    await crash();
    await revive();
  }
  // Opened only now: a sender whose answer was lost with the server must still find the turn.
  const answers = await Promise.all(senders);
  await bench.open('t');
  for (const answer of answers.slice(0, 3)) {
    expect(answer).toMatchObject({ accepted: true, approver: 'ann', decisionId: 'one' });
  }
  await expectOnce(bench, handle);
  const events = await eventsOf(handle);
  const updates = events.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
  expect(updates.length).toBeLessThanOrEqual(1);
  const scheduled = events.filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'pay',
  );
  expect(scheduled).toHaveLength(1);
});
