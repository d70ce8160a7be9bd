import { WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { calls, groupOf, useFaultBenches, type FaultBench } from '../support/fault-bench';
import { groupGone } from '../support/process-worker';
import { resolve, waitFor } from '../support/turns';
import type { TurnHandle } from '../support/worker';

jest.setTimeout(120_000);

const newBench = useFaultBenches();

/** A turn inside a call of `tool`, which is also its tag. */
const inside = async (bench: FaultBench, tool: string): Promise<TurnHandle> => {
  const handle = await bench.start(calls(`${tool}:${tool}`));
  await bench.effectsOf(tool, 1);
  return handle;
};

const countOf = async (bench: FaultBench, tag: string): Promise<number> => (await bench.effects(tag)).length;

test.concurrent.each(['look', 'work'])(
  'SIGTERM inside %s: the worker lets it end, then goes',
  async (tool) => {
    const bench = await newBench();
    const first = await bench.worker({ heartbeat: '10s' });
    const handle = await inside(bench, tool);
    first.signal('SIGTERM');
    await bench.worker({ heartbeat: '10s' });
    await bench.open(tool);
    expect(await first.gone).toBe(0);
    expect((await handle.result()).answer).toBe(`${tool} did ${tool} in ${first.pid}`);
    expect(await countOf(bench, tool)).toBe(1);
  },
);

test.concurrent('SIGTERM and a call that is longer than the grace', async () => {
  const bench = await newBench();
  const first = await bench.worker({ heartbeat: '10s' });
  const tools = ['look', 'work', 'stubborn', 'group'];
  const handles = await Promise.all(tools.map((tool) => inside(bench, tool)));
  const [look, work, stubborn, group] = handles;
  if (!look || !work || !stubborn || !group) throw new Error('there are four turns');
  const processes = await groupOf(bench, 'group');
  first.signal('SIGTERM');
  const second = await bench.worker({ heartbeat: '10s' });
  // Cancelled after 10 s; what does not listen is left to itself after 2 more.
  expect(await first.gone).toBe(0);
  await groupGone(processes);
  await bench.effectsOf('look', 2);
  await bench.open('look');
  expect((await look.result()).answer).toBe(`look did look in ${second.pid}`);
  expect((await work.result()).answer).toContain('cancelled while it ran');
  expect((await group.result()).answer).toContain('cancelled while it ran');
  await waitFor(stubborn, '1.1', 'in_doubt');
  await resolve(stubborn, { callId: '1.1', resolution: 'did-not', reason: 'looked' });
  await stubborn.result();
  const counts = await Promise.all(tools.map((tool) => countOf(bench, tool)));
  expect(counts).toEqual([2, 1, 1, 1]);
});

test.concurrent('a turn that is cancelled kills the process group of its call', async () => {
  const bench = await newBench();
  await bench.worker({ heartbeat: '10s' });
  const handle = await inside(bench, 'group');
  const processes = await groupOf(bench, 'group');
  await handle.cancel();
  await groupGone(processes);
  const error: unknown = await handle.result().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WorkflowFailedError);
  expect(error).toMatchObject({ cause: expect.any(CancelledFailure) });
  expect(await countOf(bench, 'group')).toBe(1);
});
