import { WorkflowFailedError } from '@temporalio/client';
import { CancelledFailure } from '@temporalio/common';
import { calls, startFixture, type Fixture, type TurnHandle } from '../support/fixture';
import { groupGone } from '../support/process-worker';
import { resolve, waitFor } from '../support/turns';

/** A turn inside a call of `tool`, which is also its tag. */
const inside = async (fixture: Fixture, tool: string): Promise<TurnHandle> => {
  const handle = await fixture.startSteps(calls(`${tool}:${tool}`));
  await fixture.effectsOf(tool, 1);
  return handle;
};

const countOf = async (fixture: Fixture, tag: string): Promise<number> => (await fixture.effects(tag)).length;

test.concurrent.each(['look', 'work'])(
  'SIGTERM inside %s: the worker lets it end, then goes',
  async (tool) => {
    const fixture = await startFixture();
    const first = await fixture.addProcess({ heartbeat: '10s' });
    const handle = await inside(fixture, tool);
    first.signal('SIGTERM');
    await fixture.addHere({ heartbeat: '10s' });
    await fixture.open(tool);
    expect(await first.gone).toBe(0);
    expect((await handle.result()).answer).toBe(`${tool} did ${tool} in ${first.pid}`);
    expect(await countOf(fixture, tool)).toBe(1);
  },
);

test.concurrent('SIGTERM and a call that is longer than the grace', async () => {
  const fixture = await startFixture();
  const first = await fixture.addProcess({ heartbeat: '10s' });
  const tools = ['look', 'work', 'stubborn', 'group'];
  const handles = await Promise.all(tools.map((tool) => inside(fixture, tool)));
  const [look, work, stubborn, group] = handles;
  if (!look || !work || !stubborn || !group) throw new Error('there are four turns');
  const processes = await fixture.groupOf('group');
  first.signal('SIGTERM');
  const second = await fixture.addHere({ heartbeat: '10s' });
  // Cancelled after 10 s; what does not listen is left to itself after 2 more.
  expect(await first.gone).toBe(0);
  await groupGone(processes);
  await fixture.effectsOf('look', 2);
  await fixture.open('look');
  expect((await look.result()).answer).toBe(`look did look in ${second.pid}`);
  expect((await group.result()).answer).toMatch(
    /cancelled while it ran; it was stopped[^]*the group was killed/,
  );
  for (const handle of [work, stubborn]) {
    await waitFor(handle, '1.1', 'in_doubt');
    await resolve(handle, { callId: '1.1', resolution: 'did-not', reason: 'looked' });
    await handle.result();
  }
  const counts = await Promise.all(tools.map((tool) => countOf(fixture, tool)));
  expect(counts).toEqual([2, 1, 1, 1]);
});

test.concurrent('a turn that is cancelled kills the process group of its call', async () => {
  const fixture = await startFixture();
  await fixture.addHere({ heartbeat: '10s' });
  const handle = await inside(fixture, 'group');
  const processes = await fixture.groupOf('group');
  await handle.cancel();
  await groupGone(processes);
  const error: unknown = await handle.result().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WorkflowFailedError);
  expect(error).toMatchObject({ cause: expect.any(CancelledFailure) });
  expect(await countOf(fixture, 'group')).toBe(1);
});
