import { connect, type Countersign, type ResetPlan } from '../../src/client';
import { denyNext, waitForEnd, waitForRequest } from '../../src/testing';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { calls, useFaultBenches, type FaultBench } from '../support/fault-bench';
import { scriptBook } from '../support/script-book';
import { startOwnServer } from '../support/server';
import { decide, openOf, resolve, scheduledInputs, signalDecision, waitFor } from '../support/turns';
import { startBench, type TurnHandle } from '../support/worker';

jest.setTimeout(120_000);

const newBench = useFaultBenches();

const current = ({ client }: FaultBench, { workflowId }: TurnHandle): TurnHandle =>
  client.workflow.getHandle(workflowId);

const approval = { callId: '1.4', decision: 'approved', approver: 'ann', decisionId: 'ann-1' } as const;

/** A turn of every effect whose payment was approved; it ended with one more step. */
const paid = async (bench: FaultBench, how: 'update' | 'signal' = 'update'): Promise<TurnHandle> => {
  await bench.open('t');
  const handle = current(
    bench,
    await bench.start(calls('look:t', 'put:t', 'note:t', 'pay:t'), calls('note:later')),
  );
  await waitFor(handle, '1.4');
  await bench.effectsOf('t', 3);
  if (how === 'update') await decide(handle, approval);
  else await signalDecision(handle, approval);
  await handle.result();
  return handle;
};

const deskOf = ({ client }: FaultBench): Promise<Countersign> => connect({ client });

const resetTo = async (desk: Countersign, handle: TurnHandle, before: string): Promise<ResetPlan> => {
  const plan = await desk.planReset(handle.workflowId, before);
  await desk.reset(plan, { reason: 'again', approver: 'bob' });
  return plan;
};

const told = ({ calls: all }: ResetPlan): string[] =>
  all.map(({ callId, fate, ran }) => `${callId} ${fate} ${ran}`);

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
    const bench = await newBench();
    const first = await bench.worker();
    const handle = await paid(bench, how);
    await first.kill();
    const desk = await deskOf(bench);
    expect(told(await resetTo(desk, handle, '1.4'))).toEqual(PLANNED);
    await bench.worker(bench.otherMachine());
    await waitFor(handle, '1.3', 'in_doubt');
    await resolve(handle, { callId: '1.3', resolution: 'happened' });
    expect((await openOf(handle))?.items).toMatchObject([{ callId: '1.4', kind: 'request' }]);
    await decide(handle, { callId: '1.4', decision: 'approved', approver: 'cleo' });
    await waitFor(handle, '1.4', 'in_doubt');
    await resolve(handle, { callId: '1.4', resolution: 'happened' });
    expect(await handle.result()).toMatchObject({ status: 'answered', counts: { inDoubt: 2 } });
    const effects = await bench.effects('t');
    expect(effects.map(({ tool }) => tool).sort()).toEqual(['look', 'look', 'note', 'pay', 'put', 'put']);
    expect(new Set(effects.filter(({ tool }) => tool === 'put').map(({ key }) => key)).size).toBe(1);
    expect(await scheduledInputs(handle, 'pay')).toMatchObject([{ decision: { approver: 'cleo' } }]);
  },
);

test.concurrent(
  'on its own machine the journal knows what ran, and gives it for the same arguments only',
  async () => {
    const bench = await newBench();
    await bench.worker();
    const handle = await paid(bench);
    const desk = await deskOf(bench);
    await resetTo(desk, handle, '1.4');
    await waitForRequest(desk, handle.workflowId, { tool: 'pay' });
    await decide(handle, { callId: '1.4', decision: 'approved' });
    expect((await handle.result()).answer).toContain('pay did t');
    await resetTo(desk, handle, '1.4');
    await waitForRequest(desk, handle.workflowId, { tool: 'pay' });
    await bench.open('other');
    await decide(handle, { callId: '1.4', decision: 'modified', arguments: { tag: 'other' } });
    await waitFor(handle, '1.4', 'in_doubt');
    expect(await bench.effects('other')).toEqual([]);
    await resolve(handle, { callId: '1.4', resolution: 'run-again' });
    expect((await handle.result()).answer).toContain('pay did other');
    expect((await bench.effects('t')).filter(({ tool }) => tool === 'pay')).toHaveLength(1);
  },
);

test.concurrent('a denial is taken back: the call waits again, and runs once it is approved', async () => {
  const bench = await newBench();
  await bench.worker();
  await bench.open('t');
  const handle = current(bench, await bench.start(calls('pay:t')));
  const desk = await deskOf(bench);
  await denyNext(desk, handle.workflowId, { reason: 'no' });
  await waitForEnd(desk, handle.workflowId);
  expect(told(await resetTo(desk, handle, '1.1'))).toEqual(['1.1 asked_again false']);
  await waitForRequest(desk, handle.workflowId);
  await decide(handle, { callId: '1.1', decision: 'approved' });
  const view = await waitForEnd(desk, handle.workflowId);
  expect(view).toMatchObject({ status: 'answered', answer: expect.stringContaining('pay did t') });
  expect(view.calls[0]?.decisions.map(({ decision }) => decision)).toEqual(['approved']);
  const reasons = (await desk.timeline(handle.workflowId)).flatMap((one) =>
    one.type === 'reset' ? [one.reason] : [],
  );
  expect(reasons).toEqual([expect.stringContaining('bob went back to before 1.1: again')]);
});

test.concurrent('a cancelled turn goes on after a reset; its cancellation is not applied again', async () => {
  const bench = await newBench();
  await bench.worker();
  const handle = current(bench, await bench.start(calls('pay:t')));
  const desk = await deskOf(bench);
  await waitForRequest(desk, handle.workflowId);
  await desk.cancel(handle.workflowId);
  expect((await waitForEnd(desk, handle.workflowId)).status).toBe('cancelled');
  await resetTo(desk, handle, '1.1');
  await denyNext(desk, handle.workflowId);
  expect(await waitForEnd(desk, handle.workflowId)).toMatchObject({
    status: 'answered',
    cancelRequested: false,
  });
});

test.concurrent('a plan that is no longer true is refused, and so is what cannot be reset', async () => {
  const bench = await newBench();
  await bench.worker();
  const handle = await paid(bench);
  const desk = await deskOf(bench);
  const { workflowId: turn } = handle;
  const plan = await desk.planReset(turn, '2.1');
  expect(told(plan)).toEqual(['2.1 in_doubt true']);
  await desk.reset(await desk.planReset(turn, '1.4'));
  await expect(desk.reset(plan)).rejects.toMatchObject({ code: 'reset_refused' });
  await waitForRequest(desk, turn, { tool: 'pay' });
  await expect(desk.planReset(turn, '1.4')).rejects.toMatchObject({
    code: 'reset_refused',
    message: 'there is nothing to reset: 1.4 waits for a decision as it is',
  });
  await expect(desk.planReset(turn, '7.7')).rejects.toMatchObject({ code: 'call_not_found' });
  await expect(desk.planReset('turn-nowhere', '1.1')).rejects.toMatchObject({ code: 'turn_not_found' });
  await desk.cancel(turn);
});

describe('a turn that continued as new', () => {
  const effects = useEffects();
  const book = scriptBook();

  test('a call of an earlier run is refused with the way out; one of the last run is reset', async () => {
    const server = await startOwnServer({ dynamicConfig: ['limit.historyCount.suggestContinueAsNew=5'] });
    const look = { toolCalls: [{ name: 'look', arguments: { tag: 'long' } }] };
    const tools = [recordTool(effects, { name: 'look' })];
    const agents = [defineAgent({ name: 'long', instructions: 'do', model: book.model, tools })];
    const bench = await startBench({ address: server.address, agents });
    const desk = await connect({ client: bench.client });
    const { workflowId: turn } = await bench.start('long', book.add(look, look, look, { text: 'done' }));
    const { calls: all, steps } = await waitForEnd(desk, turn);
    expect(all).toHaveLength(3);
    await expect(desk.planReset(turn, '1.1')).rejects.toMatchObject({
      code: 'reset_refused',
      hint: `Fork it instead: countersign fork ${turn} --at 1.1`,
    });
    expect(steps).toHaveLength(4);
    await bench.stop();
    await server.stop();
  });
});
