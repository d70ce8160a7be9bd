import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { resetTurn } from '../support/operator';
import { decide, eventsOf, openOf, resolve, signalDecision, verdictsOf, waitFor } from '../support/turns';
import { until } from '../support/until';

const approval = { callId: '1.2', decision: 'approved', approver: 'ann' } as const;

const BY = {
  'a signal with an id': (handle: TurnHandle) => signalDecision(handle, { ...approval, decisionId: 'ann-1' }),
  'a signal without an id': (handle: TurnHandle) => signalDecision(handle, approval),
  'an update': (handle: TurnHandle) => decide(handle, { ...approval, decisionId: 'ann-1' }),
} as const;

type By = keyof typeof BY;

const lastTask = async (handle: TurnHandle): Promise<string> => {
  const task = (await eventsOf(handle)).findLast((event) => event.workflowTaskCompletedEventAttributes);
  return String(task?.eventId);
};

/** A turn whose first call runs, and whose second one is approved once and waits for its place. */
const approvedOnce = async (fixture: Fixture, by: By) => {
  const worker = await fixture.addProcess();
  await fixture.open('second');
  const started = await fixture.startSteps(calls('work:first', 'pay:second'));
  const handle: TurnHandle = fixture.client.workflow.getHandle(started.workflowId);
  await fixture.effectsOf('first', 1);
  await waitFor(handle, '1.2');
  await BY[by](handle);
  await until('the decision to be taken', async () => (await openOf(handle)) === undefined);
  const taking = await lastTask(handle);
  await signalDecision(handle, { callId: 'any' });
  await until('a later task', async () => (await lastTask(handle)) !== taking);
  const { runId } = await handle.describe();
  await worker.kill();
  return { handle, runId, 'applied again': taking, inherited: await lastTask(handle) };
};

/** Says of the first call that it happened, then waits until the second one is in doubt. */
const toSecond = async (handle: TurnHandle): Promise<void> => {
  await waitFor(handle, '1.1', 'in_doubt');
  await resolve(handle, { callId: '1.1', resolution: 'happened' });
  await waitFor(handle, '1.2', 'in_doubt');
};

describe.each(Object.keys(BY) as By[])('approved once, by %s', (by) => {
  test.concurrent.each(['applied again', 'inherited'] as const)(
    'and %s by two resets of the same run: the call starts in neither without another decision',
    async (where) => {
      const fixture = await startFixture();
      const { handle, runId, ...tasks } = await approvedOnce(fixture, by);
      const reset = () => resetTurn(handle, '--run-id', runId, '--event-id', tasks[where]);
      await reset();
      const second = await fixture.addProcess(fixture.otherMachine());
      await toSecond(handle);
      await resolve(handle, { callId: '1.2', resolution: 'run-again', approver: 'bob' });
      await handle.result();
      expect(await fixture.effects('second')).toHaveLength(1);
      await second.kill();
      await reset();
      await fixture.addProcess(fixture.otherMachine());
      await toSecond(handle);
      await resolve(handle, { callId: '1.2', resolution: 'happened' });
      expect(await handle.result()).toMatchObject({ counts: { calls: 2, inDoubt: 2 } });
      expect(await fixture.effects('second')).toHaveLength(1);
    },
  );
});

describe('a turn that waits, reset twice to the same place', () => {
  /** A turn with one request, one task after it was asked, and no worker. */
  const waiting = async (fixture: Fixture, call: string) => {
    const worker = await fixture.addProcess();
    const started = await fixture.startSteps(calls(call));
    const handle: TurnHandle = fixture.client.workflow.getHandle(started.workflowId);
    await waitFor(handle, '1.1');
    await signalDecision(handle, { callId: 'any' });
    await until('a later task', async () => (await verdictsOf(handle)).length === 1);
    const { runId } = await handle.describe();
    await worker.kill();
    return { handle, reset: ['--run-id', runId, '--event-id', await lastTask(handle)] };
  };

  test.concurrent('a decision that names the run it was made in starts nothing in another one', async () => {
    const fixture = await startFixture();
    await fixture.open('t');
    const { handle, reset } = await waiting(fixture, 'pay:t');
    const approve = async (runId: string, decisionId: string) =>
      decide(handle, { callId: '1.1', decision: 'approved', approver: 'ann', decisionId, runId });
    await resetTurn(handle, ...reset);
    const second = await fixture.addProcess(fixture.otherMachine());
    await waitFor(handle, '1.1');
    const { runId } = await handle.describe();
    await approve(runId, 'ann-1');
    await handle.result();
    await second.kill();
    await resetTurn(handle, ...reset);
    await fixture.addProcess(fixture.otherMachine());
    await waitFor(handle, '1.1');
    await approve(runId, 'ann-1');
    await waitFor(handle, '1.1', 'in_doubt');
    await resolve(handle, { callId: '1.1', resolution: 'happened' });
    await handle.result();
    expect(await fixture.effects('t')).toHaveLength(1);
  });

  test.concurrent.each(['pay', 'save'])(
    '%s: an approval that was refused does not stand for an edit that the reset applied again',
    async (tool) => {
      const fixture = await startFixture();
      for (const tag of ['t', 'edited']) await fixture.open(tag);
      const { handle, reset } = await waiting(fixture, `${tool}:t`);
      const edit = { callId: '1.1', decision: 'modified', arguments: { tag: 'edited' }, approver: 'ann' };
      await signalDecision(handle, edit);
      await resetTurn(handle, ...reset);
      await signalDecision(handle, { callId: '1.1', decision: 'approved', approver: 'bob' });
      await fixture.addProcess(fixture.otherMachine());
      await until('a person to be asked', async () =>
        (await openOf(handle))?.items.some(({ kind, note }) => kind === 'in_doubt' || note !== undefined),
      );
      for (const tag of ['t', 'edited']) expect(await fixture.effects(tag)).toHaveLength(0);
    },
  );
});
