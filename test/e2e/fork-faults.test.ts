import { connect, viewOf, type Countersign } from '../../src/client';
import { startServer } from '../../src/engine';
import { waitForEnd } from '../../src/testing';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { calls, useFaultBenches, type FaultBench } from '../support/fault-bench';
import { scriptBook } from '../support/script-book';
import { startOwnServer } from '../support/server';
import { decide, waitFor } from '../support/turns';
import { startBench, type TurnHandle } from '../support/worker';

jest.setTimeout(120_000);

const newBench = useFaultBenches();

/** A turn that has noted and paid, looks, and notes once more at its end. */
const paid = async (bench: FaultBench): Promise<TurnHandle> => {
  for (const tag of ['t', 'look']) await bench.open(tag);
  const handle = await bench.start(calls('note:t', 'pay:t'), calls('look:look', 'note:t', 'put:t'));
  await waitFor(handle, '1.2');
  await decide(handle, { callId: '1.2', decision: 'approved' });
  await handle.result();
  return handle;
};

test('a worker that is killed again and again in the middle of a dry fork executes nothing', async () => {
  const bench = await newBench();
  const first = await bench.worker();
  const handle = await paid(bench);
  await first.kill();
  const before = await bench.effects('t');
  const desk = await connect({ client: bench.client });
  const { turn } = await desk.fork({ turn: handle.workflowId, at: '1.1' });
  for (let round = 0; round < 4; round++) {
    const worker = bench.spawn();
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 2000));
    await worker.kill();
  }
  await bench.worker();
  const view = await waitForEnd(desk, turn, { timeoutMs: 60_000 });
  expect(view.status).toBe('answered');
  expect(view.calls.map(({ callId, result }) => [callId, result?.metadata.dry])).toEqual([
    ['1.1', 'would_run'],
    ['1.2', 'would_ask'],
    ['2.1', undefined],
    ['2.2', 'would_run'],
    ['2.3', 'would_run'],
  ]);
  expect(await bench.effects('t')).toEqual(before);
});
