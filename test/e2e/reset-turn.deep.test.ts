import { CountersignError } from '../../src/contract/errors';
import { connect, type Countersign, type ResetPlan } from '../../src/client';
import { denyNext, waitForEnd, waitForRequest } from '../../src/testing';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { scriptBook } from '../support/script-book';
import { decide, openOf, resolve, scheduledInputs, signalDecision, waitFor } from '../support/turns';
import { until } from '../support/until';

const current = ({ client }: Fixture, { workflowId }: TurnHandle): TurnHandle =>
  client.workflow.getHandle(workflowId);

const approval = { callId: '1.4', decision: 'approved', approver: 'ann', decisionId: 'ann-1' } as const;

/** A turn of every effect whose payment was approved; it ended with one more step. */
const paid = async (fixture: Fixture, how: 'update' | 'signal' = 'update'): Promise<TurnHandle> => {
  await fixture.open('t');
  const handle = current(
    fixture,
    await fixture.startSteps(calls('look:t', 'put:t', 'note:t', 'pay:t'), calls('note:later')),
  );
  await waitFor(handle, '1.4');
  await fixture.effectsOf('t', 3);
  if (how === 'update') await decide(handle, approval);
  else await signalDecision(handle, approval);
  await handle.result();
  return handle;
};

const clientOf = ({ client }: Fixture): Promise<Countersign> => connect({ client });

const resetTo = async (client: Countersign, handle: TurnHandle, before: string): Promise<ResetPlan> => {
  const plan = await client.planReset(handle.workflowId, before);
  await client.reset(plan, { reason: 'again', approver: 'bob' });
  return plan;
};

/** Plans again where the turn still does something, as the refusal says; gives the id of the new run. */
const resetOnceSettled = (client: Countersign, turn: string): Promise<string> =>
  until('a turn that does nothing more', async () => {
    try {
      return (await client.reset(await client.planReset(turn, '1.1'), { reason: 'corrected' })).runId;
    } catch (error) {
      if (error instanceof CountersignError && error.code === 'reset_refused') return undefined;
      throw error;
    }
  });

const told = ({ calls: all }: ResetPlan): string[] =>
  all.map(({ callId, outcome, ran }) => `${callId} ${outcome} ${ran}`);

test.concurrent(
  'before a call whose tool was corrected since it started: in doubt, never "nothing ran"',
  async () => {
    const fixture = await startFixture();
    const first = await fixture.addProcess();
    const handle = current(fixture, await fixture.startSteps(calls('work:t')));
    await fixture.effectsOf('t', 1);
    await first.kill();
    await fixture.addProcess({ description: 'Says it better.' });
    await waitFor(handle, '1.1', 'in_doubt');
    const client = await clientOf(fixture);
    await until('the end of the check', async () =>
      (await client.timeline(handle.workflowId)).some(({ type }) => type === 'verified'),
    );
    const next: TurnHandle = fixture.client.workflow.getHandle(
      handle.workflowId,
      await resetOnceSettled(client, handle.workflowId),
    );
    await waitFor(next, '1.1', 'in_doubt');
    await resolve(next, { callId: '1.1', resolution: 'happened', approver: 'ann' });
    const { answer, counts } = await next.result();
    expect(answer).toContain('ann found that it did take effect');
    expect(counts).toMatchObject({ calls: 1, inDoubt: 1, failed: 0 });
    expect(await fixture.effects('t')).toHaveLength(1);
  },
);

const PLANNED = [
  '1.1 runs_again true',
  '1.2 runs_again true',
  '1.3 in_doubt true',
  '1.4 asked_again true',
  '2.1 forgotten true',
];

test.concurrent.each(['update', 'signal'] as const)(
  'before a payment that was approved by %s, on another machine: as planned, nothing unsafe twice',
  async (how) => {
    const fixture = await startFixture();
    const first = await fixture.addProcess();
    const handle = await paid(fixture, how);
    await first.kill();
    const client = await clientOf(fixture);
    expect(told(await resetTo(client, handle, '1.4'))).toEqual(PLANNED);
    await fixture.addProcess(fixture.otherMachine());
    await waitFor(handle, '1.3', 'in_doubt');
    await resolve(handle, { callId: '1.3', resolution: 'happened' });
    expect((await openOf(handle))?.items).toMatchObject([{ callId: '1.4', kind: 'request' }]);
    await decide(handle, { callId: '1.4', decision: 'approved', approver: 'cleo' });
    await waitFor(handle, '1.4', 'in_doubt');
    await resolve(handle, { callId: '1.4', resolution: 'happened' });
    expect(await handle.result()).toMatchObject({ status: 'answered', counts: { inDoubt: 2 } });
    const effects = await fixture.effects('t');
    expect(effects.map(({ tool }) => tool).sort()).toEqual(['look', 'look', 'note', 'pay', 'put', 'put']);
    expect(new Set(effects.filter(({ tool }) => tool === 'put').map(({ key }) => key)).size).toBe(1);
    expect(await scheduledInputs(handle, 'pay')).toMatchObject([{ decision: { approver: 'cleo' } }]);
  },
);

test.concurrent(
  'on its own machine the journal knows what ran, and gives it for the same arguments only',
  async () => {
    const fixture = await startFixture();
    await fixture.addProcess();
    const handle = await paid(fixture);
    const client = await clientOf(fixture);
    await resetTo(client, handle, '1.4');
    await waitForRequest(client, handle.workflowId, { tool: 'pay' });
    await decide(handle, { callId: '1.4', decision: 'approved' });
    expect((await handle.result()).answer).toContain('pay did t');
    await resetTo(client, handle, '1.4');
    await waitForRequest(client, handle.workflowId, { tool: 'pay' });
    await fixture.open('other');
    await decide(handle, { callId: '1.4', decision: 'modified', arguments: { tag: 'other' } });
    await waitFor(handle, '1.4', 'in_doubt');
    expect(await fixture.effects('other')).toEqual([]);
    await resolve(handle, { callId: '1.4', resolution: 'run-again' });
    expect((await handle.result()).answer).toContain('pay did other');
    expect((await fixture.effects('t')).filter(({ tool }) => tool === 'pay')).toHaveLength(1);
  },
);

test.concurrent('a denial is taken back: the call waits again, and runs once it is approved', async () => {
  const fixture = await startFixture();
  await fixture.addProcess();
  await fixture.open('t');
  const handle = current(fixture, await fixture.startSteps(calls('pay:t')));
  const client = await clientOf(fixture);
  await denyNext(client, handle.workflowId, { reason: 'no' });
  await waitForEnd(client, handle.workflowId);
  expect(told(await resetTo(client, handle, '1.1'))).toEqual(['1.1 asked_again false']);
  await waitForRequest(client, handle.workflowId);
  await decide(handle, { callId: '1.1', decision: 'approved' });
  const view = await waitForEnd(client, handle.workflowId);
  expect(view).toMatchObject({ status: 'answered', answer: expect.stringContaining('pay did t') });
  expect(view.calls[0]?.decisions.map(({ decision }) => decision)).toEqual(['approved']);
  const reasons = (await client.timeline(handle.workflowId)).flatMap((one) =>
    one.type === 'reset' ? [one.reason] : [],
  );
  expect(reasons).toEqual([expect.stringContaining('bob went back to before 1.1: again')]);
});

test.concurrent('a cancelled turn goes on after a reset; its cancellation is not applied again', async () => {
  const fixture = await startFixture();
  await fixture.addProcess();
  const handle = current(fixture, await fixture.startSteps(calls('pay:t')));
  const client = await clientOf(fixture);
  await waitForRequest(client, handle.workflowId);
  await client.cancel(handle.workflowId);
  expect((await waitForEnd(client, handle.workflowId)).status).toBe('cancelled');
  await resetTo(client, handle, '1.1');
  await denyNext(client, handle.workflowId);
  expect(await waitForEnd(client, handle.workflowId)).toMatchObject({
    status: 'answered',
    cancelRequested: false,
  });
});

test.concurrent('a plan that is no longer true is refused, and so is what cannot be reset', async () => {
  const fixture = await startFixture();
  await fixture.addProcess();
  const handle = await paid(fixture);
  const client = await clientOf(fixture);
  const { workflowId: turn } = handle;
  const plan = await client.planReset(turn, '2.1');
  expect(told(plan)).toEqual(['2.1 in_doubt true']);
  await client.reset(await client.planReset(turn, '1.4'));
  await expect(client.reset(plan)).rejects.toMatchObject({ code: 'reset_refused' });
  await waitForRequest(client, turn, { tool: 'pay' });
  await expect(client.planReset(turn, '1.4')).rejects.toMatchObject({
    code: 'reset_refused',
    message: 'there is nothing to reset: 1.4 waits for a decision as it is',
  });
  await expect(client.planReset(turn, '7.7')).rejects.toMatchObject({ code: 'call_not_found' });
  await expect(client.planReset('turn-nowhere', '1.1')).rejects.toMatchObject({ code: 'turn_not_found' });
  await client.cancel(turn);
});

describe('a turn that continued as new', () => {
  const effects = useEffects();
  const book = scriptBook();

  test('a call of an earlier run is refused with the way out; one of the last run is reset', async () => {
    const ownServer = { dynamicConfig: ['limit.historyCount.suggestContinueAsNew=5'] };
    const look = { toolCalls: [{ name: 'look', arguments: { tag: 'long' } }] };
    const tools = [recordTool(effects, { name: 'look' })];
    const agents = [defineAgent({ name: 'long', instructions: 'do', model: book.model, tools })];
    const fixture = await startFixture({ ownServer, agents });
    const client = await connect({ client: fixture.client });
    const { workflowId: turn } = await fixture.start('long', book.add(look, look, look, { text: 'done' }));
    const { calls: all, steps } = await waitForEnd(client, turn);
    expect(all).toHaveLength(3);
    await expect(client.planReset(turn, '1.1')).rejects.toMatchObject({
      code: 'reset_refused',
      hint: `Fork it instead: countersign fork ${turn} --at 1.1`,
    });
    expect(steps).toHaveLength(4);
  });
});
