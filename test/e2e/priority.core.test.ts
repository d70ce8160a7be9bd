import type { WorkflowHandle } from '@temporalio/client';
import { connect, type Countersign } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { recordTool, useEffects } from '../support/effects';
import { startFixture, type Fixture } from '../support/fixture';
import { readBack, scriptBook } from '../support/script-book';
import { signalDecision, waitFor } from '../support/turns';
import { until } from '../support/until';

const effects = useEffects();
const book = scriptBook();
let fixture: Fixture;
let client: Countersign;
/** What the model waits for before it answers. */
let allQueued = Promise.resolve();

beforeAll(async () => {
  const asked = {
    ...book.model,
    generate: async (request: Parameters<typeof book.model.generate>[0]) => {
      await effects.add('asked');
      await allQueued;
      return book.model.generate(request);
    },
  };
  fixture = await startFixture({
    workers: 0,
    agents: [
      defineAgent({
        ...{ name: 'clerk', instructions: 'do', model: asked },
        tools: [recordTool(effects, { name: 'pay', safety: 'dangerous' })],
      }),
    ],
    // One task at a time, so that the others wait in the queue.
    worker: { worker: { maxConcurrentActivityTaskExecutions: 1 } },
  });
  client = await connect({ address: fixture.address });
});
afterAll(() => client.close());

const priorityOf = async (workflowId: string) =>
  (await fixture.client.workflow.getHandle(workflowId).describe()).priority;

test('a call that a person approved overtakes the work that waits', async () => {
  const worker = await fixture.addWorker();
  const pay = book.add({ toolCalls: [{ name: 'pay', arguments: { tag: 'ann' } }] }, readBack);
  const handle = await fixture.start('clerk', pay);
  await waitFor(handle, '1.1');
  await worker.stop();
  const BATCH = 40;
  const batch = await Promise.all(
    Array.from({ length: BATCH }, () =>
      fixture.start(
        'clerk',
        book.add(() => ({ text: 'done' })),
      ),
    ),
  );
  await signalDecision(handle, { callId: '1.1', decision: 'approved' });
  const isQueued = async (one: WorkflowHandle): Promise<boolean> =>
    ((await one.describe()).raw.pendingActivities ?? []).length > 0;
  // The worker runs one task at a time: the first one waits until each turn has its own in the queue.
  allQueued = until('a task of each turn in the queue', async () =>
    (await Promise.all([handle, ...batch].map(isQueued))).every(Boolean),
  ).then(() => undefined);
  await fixture.addWorker();
  await Promise.all([handle, ...batch].map((one) => one.result()));
  const lines = await effects.lines();
  // The first line is the turn's own. Without a priority, it comes where the partitions of the queue have it, most often late.
  expect(lines.indexOf('pay ann')).toBeGreaterThan(0);
  expect(lines.indexOf('pay ann')).toBeLessThan(BATCH / 2);
});

test('a turn has the priority that it is started with, and the turns of a session have theirs', async () => {
  const { taskQueue } = fixture;
  const priority = { priorityKey: 4, fairnessKey: 'acme', fairnessWeight: 2 };
  const { turn } = await client.start({
    ...{ agent: 'clerk', prompt: book.add(() => ({ text: 'done' })), taskQueue, priority },
  });
  expect(await priorityOf(turn)).toEqual(priority);
  const session = client.session(`${turn}-s`, { agent: 'clerk', taskQueue, priority });
  await session.send(book.add(() => ({ text: 'done' })));
  expect(await priorityOf(session.id)).toEqual(priority);
  await fixture.client.workflow.getHandle(`${session.id}.t1`).result();
  expect(await priorityOf(`${session.id}.t1`)).toEqual(priority);
});
