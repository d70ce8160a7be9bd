import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { RunningServer } from '../../src/engine/server-launch';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { scratchDirectory } from '../support/scratch';
import { startOwnServer } from '../support/server';
import { decide, eventsOf, openOf, signalDecision, waitFor } from '../support/turns';

const directory = scratchDirectory();
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
const waiting = async (): Promise<[Fixture, TurnHandle]> => {
  const fixture = await startFixture({ address: server.address });
  await fixture.addProcess({ heartbeat: '30s' });
  const handle = await fixture.startSteps(calls('pay:t'));
  await waitFor(handle, '1.1');
  return [fixture, handle];
};

const approval = { callId: '1.1', decision: 'approved', approver: 'ann', decisionId: 'one' } as const;

const expectOnce = async (fixture: Fixture, handle: TurnHandle): Promise<void> => {
  expect(await handle.result()).toMatchObject({ counts: { calls: 1, failed: 0, requests: 1, inDoubt: 0 } });
  expect(await fixture.effects('t')).toHaveLength(1);
};

test('killed while a turn waits: the request is still there, and approving it works', async () => {
  const [fixture, handle] = await waiting();
  const before = await openOf(handle);
  await crash();
  await revive();
  expect(await openOf(handle)).toEqual(before);
  await decide(handle, approval);
  await fixture.open('t');
  await expectOnce(fixture, handle);
});

test.each(['before', 'after'])(
  'killed inside a call that ends %s it is back: one effect, known',
  async (when) => {
    const [fixture, handle] = await waiting();
    await decide(handle, approval);
    await fixture.effectsOf('t', 1);
    await crash();
    if (when === 'before') await fixture.open('t');
    await revive();
    if (when === 'after') await fixture.open('t');
    await expectOnce(fixture, handle);
  },
);

/** Sends the same decision until it is answered, whatever becomes of the server meanwhile; a minute and more. */
const retryWhileUnavailable = async (send: () => Promise<unknown>): Promise<unknown> => {
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

test('killed again and again while a decision is sent by both doors: it is taken once', async () => {
  const [fixture, handle] = await waiting();
  const senders = [
    ...[1, 2, 3].map(() => retryWhileUnavailable(() => decide(handle, approval, 'one'))),
    ...[1, 2, 3].map(() => retryWhileUnavailable(() => signalDecision(handle, approval))),
  ];
  for (let round = 0; round < 3; round++) {
    await crash();
    await revive();
  }
  // Opened only now: a sender whose answer was lost with the server must still find the turn.
  const answers = await Promise.all(senders);
  await fixture.open('t');
  for (const answer of answers.slice(0, 3)) {
    expect(answer).toMatchObject({ accepted: true, approver: 'ann', decisionId: 'one' });
  }
  await expectOnce(fixture, handle);
  const events = await eventsOf(handle);
  const updates = events.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
  expect(updates.length).toBeLessThanOrEqual(1);
  const scheduled = events.filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'pay',
  );
  expect(scheduled).toHaveLength(1);
});
