import { connect } from '../../src/client';
import { defineAgent } from '../../src/tools/define-agent';
import { startFixture } from '../support/fixture';
import { scriptBook } from '../support/script-book';

/** One partition has one order. */
const PARTITIONS = ['matching.numTaskqueueReadPartitions=1', 'matching.numTaskqueueWritePartitions=1'];
const LARGE = 24;
const SMALL = 3;

test('a tenant with few turns does not wait for all the turns of another', async () => {
  const book = scriptBook();
  const asked: string[] = [];
  const { address, taskQueue, client, addWorker } = await startFixture({
    ownServer: { dynamicConfig: ['matching.enableFairness=true', ...PARTITIONS] },
    workers: 0,
    agents: [defineAgent({ name: 'clerk', instructions: 'do', model: book.model, tools: [] })],
    // One model call at a time, so that the others wait in the queue.
    worker: { worker: { maxConcurrentActivityTaskExecutions: 1 } },
  });
  const ours = await connect({ address });
  const startTurns = (tenant: string, count: number) =>
    Promise.all(
      Array.from({ length: count }, () => {
        const prompt = book.add(() => {
          asked.push(tenant);
          return { text: 'done' };
        });
        return ours.start({ agent: 'clerk', prompt, taskQueue, priority: { fairnessKey: tenant } });
      }),
    );
  const turns = [...(await startTurns('large', LARGE)), ...(await startTurns('small', SMALL))];
  await addWorker();
  await Promise.all(turns.map(({ turn }) => client.workflow.getHandle(turn).result()));
  expect(asked).toHaveLength(LARGE + SMALL);
  expect(asked.lastIndexOf('small')).toBeLessThan(LARGE / 2);
  await ours.close();
}, 90_000);
