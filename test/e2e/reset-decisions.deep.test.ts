import { connect } from '../../src/client';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { resetRun } from '../support/operator';
import { decide, eventsOf, openOf, resolve, signalDecision, waitFor } from '../support/turns';
import { until } from '../support/until';

const started = async (
  fixture: Fixture,
  ...steps: Parameters<Fixture['startSteps']>
): Promise<TurnHandle> => {
  const { workflowId } = await fixture.startSteps(...steps);
  return fixture.client.workflow.getHandle(workflowId);
};

const ANN = { decision: 'approved', approver: 'ann' } as const;

/** The last workflow task that was completed. */
const lastTask = async (handle: TurnHandle): Promise<number> => {
  const task = (await eventsOf(handle)).findLast((event) => event.workflowTaskCompletedEventAttributes);
  return Number(task?.eventId);
};

/** One more workflow task, so that what was taken before it is inherited by a run that is reset to it. */
const laterTask = async (handle: TurnHandle): Promise<number> => {
  const before = await lastTask(handle);
  await signalDecision(handle, { callId: 'any' });
  await until('a later task', async () => (await lastTask(handle)) > before);
  return lastTask(handle);
};

const runOf = async (handle: TurnHandle): Promise<string> => (await handle.describe()).runId;

const again = (handle: TurnHandle, callId: string) =>
  until(`${callId} to be asked about again`, async () =>
    (await openOf(handle))?.items.find(
      (item) => item.callId === callId && item.summary.includes('decided before the turn was reset'),
    ),
  );

test.concurrent.each(['save', 'peek'])(
  'the same decision, sent once more after our own reset, does not run %s: a person looks again',
  async (tool) => {
    const fixture = await startFixture();
    await fixture.addProcess();
    await fixture.open('t');
    const handle = await started(fixture, calls(`${tool}:t`));
    const decision = { ...ANN, callId: '1.1', decisionId: 'ann-1', reason: 'fine' };
    await waitFor(handle, '1.1');
    await decide(handle, decision);
    await handle.result();
    const client = await connect({ client: fixture.client });
    await client.reset(await client.planReset(handle.workflowId, '1.1'));
    await waitFor(handle, '1.1');
    expect(await decide(handle, decision)).toMatchObject({ accepted: true });
    await again(handle, '1.1');
    expect(await fixture.effects('t')).toHaveLength(1);
    expect(await decide(handle, decision)).toMatchObject({ accepted: false, code: 'stale_args' });
    expect(await decide(handle, { ...decision, decisionId: 'ann-2' })).toMatchObject({ accepted: true });
    await handle.result();
    const effects = await fixture.effects('t');
    expect(effects).toHaveLength(2);
    expect(new Set(effects.map(({ key }) => key)).size).toBe(1);
    const told = (await client.timeline(handle.workflowId)).flatMap((event) =>
      event.type === 'decision_void' || event.type === 'call_ended' || event.type === 'request_opened'
        ? [event.type]
        : [],
    );
    expect(told).toEqual(['request_opened', 'decision_void', 'request_opened', 'call_ended']);
  },
);

test.concurrent(
  'a decision that a reset applies again, or inherits, does not run an idempotent call',
  async () => {
    const fixture = await startFixture();
    await fixture.addProcess();
    await fixture.open('t');
    const handle = await started(fixture, calls('work:first', 'save:t', 'pay:later'));
    const { workflowId } = handle;
    await waitFor(handle, '1.2');
    await signalDecision(handle, { ...ANN, callId: '1.2' });
    await until('the decision to be taken', async () => (await openOf(handle))?.count === 1);
    const taking = await lastTask(handle);
    const inherited = await laterTask(handle);
    const runId = await runOf(handle);
    for (const eventId of [taking, inherited]) {
      await resetRun(fixture.client, { workflowId, runId, eventId });
      await waitFor(handle, '1.1', 'in_doubt');
      await resolve(handle, { callId: '1.1', resolution: 'happened' });
      await again(handle, '1.2');
      expect(await fixture.effects('t')).toHaveLength(0);
    }
    await handle.terminate();
  },
);

test.concurrent(
  'where the run before the reset was deleted, a call of a later reply runs and one of an earlier reply is in doubt',
  async () => {
    const fixture = await startFixture();
    await fixture.addProcess();
    for (const tag of ['t', 'u']) await fixture.open(tag);
    const handle = await started(fixture, calls('pay:t'), calls('pay:u'));
    const { workflowId } = handle;
    await waitFor(handle, '1.1');
    const runId = await runOf(handle);
    await resetRun(fixture.client, { workflowId, runId, eventId: await lastTask(handle) });
    const { namespace } = fixture.client.options;
    await fixture.client.workflowService.deleteWorkflowExecution({
      namespace,
      workflowExecution: { workflowId, runId },
    });
    const base = fixture.client.workflow.getHandle(workflowId, runId);
    const isGone = (): Promise<boolean> =>
      base.describe().then(
        () => false,
        () => true,
      );
    // The server deletes some half a minute later.
    await until('the run to be gone', isGone, 90);
    await waitFor(handle, '1.1');
    await decide(handle, { ...ANN, callId: '1.1' });
    await waitFor(handle, '1.1', 'in_doubt');
    await resolve(handle, { callId: '1.1', resolution: 'run-again' });
    await waitFor(handle, '2.1');
    await decide(handle, { ...ANN, callId: '2.1' });
    expect(await handle.result()).toMatchObject({ status: 'answered' });
    expect(await fixture.effects('t')).toHaveLength(1);
    expect(await fixture.effects('u')).toHaveLength(1);
  },
);

test.concurrent(
  'a decision made in a run that a reset made does not hold in the run that comes of it',
  async () => {
    const fixture = await startFixture();
    const first = await fixture.addProcess();
    for (const tag of ['t', 'u']) await fixture.open(tag);
    const handle = await started(fixture, calls('work:first', 'pay:t', 'save:u'));
    const { workflowId } = handle;
    await waitFor(handle, '1.3');
    const eventId = await laterTask(handle);
    await first.kill();
    await resetRun(fixture.client, { workflowId, runId: await runOf(handle), eventId });
    const other = await fixture.addProcess(fixture.otherMachine());
    await waitFor(handle, '1.1', 'in_doubt');
    for (const callId of ['1.2', '1.3']) await decide(handle, { ...ANN, callId });
    const later = await laterTask(handle);
    const second = await runOf(handle);
    await resolve(handle, { callId: '1.1', resolution: 'happened' });
    expect(await handle.result()).toMatchObject({ counts: { calls: 3, failed: 0, inDoubt: 1 } });
    expect(await fixture.effects('t')).toHaveLength(1);
    await other.kill();
    await resetRun(fixture.client, { workflowId, runId: second, eventId: later });
    await fixture.addProcess(fixture.otherMachine());
    await waitFor(handle, '1.2', 'in_doubt');
    await resolve(handle, { callId: '1.2', resolution: 'happened' });
    await again(handle, '1.3');
    await decide(handle, { ...ANN, callId: '1.3' });
    await handle.result();
    expect(await fixture.effects('t')).toHaveLength(1);
    expect(await fixture.effects('u')).toHaveLength(2);
  },
);

test('a reset of an earlier run of a chain: what was decided there does not hold, what is decided after it does', async () => {
  const ownServer = { dynamicConfig: ['limit.historyCount.suggestContinueAsNew=5'] };
  const fixture = await startFixture({ ownServer });
  const first = await fixture.addProcess();
  for (const tag of ['a', 'b', 'c']) await fixture.open(tag);
  const handle = await started(fixture, calls('pay:a', 'save:b'), calls('pay:c'));
  const { workflowId } = handle;
  await waitFor(handle, '1.2');
  const earlier = await runOf(handle);
  for (const callId of ['1.1', '1.2']) await decide(handle, { ...ANN, callId });
  const run = fixture.client.workflow.getHandle(workflowId, earlier);
  await waitFor(handle, '2.1');
  expect(await runOf(handle)).not.toBe(earlier);
  const history = (await run.fetchHistory()).events ?? [];
  const save = history.find(
    ({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name === 'save',
  );
  const eventId = Number(save?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId);
  await first.kill();
  await resetRun(fixture.client, { workflowId, runId: earlier, eventId });
  await fixture.addProcess(fixture.otherMachine());
  await again(handle, '1.2');
  await decide(handle, { ...ANN, callId: '1.2' });
  await waitFor(handle, '2.1');
  await decide(handle, { ...ANN, callId: '2.1' });
  expect(await handle.result()).toMatchObject({ counts: { inDoubt: 0 } });
  expect(await fixture.effects('a')).toHaveLength(1);
  expect(await fixture.effects('b')).toHaveLength(2);
  expect(await fixture.effects('c')).toHaveLength(1);
});
