import { join } from 'node:path';
import type { temporal } from '@temporalio/proto';
import { Worker } from '@temporalio/worker';
import { absolute, median, timed, type Measurement } from '../figure';
import { freshId, OUR_QUEUE } from '../subjects';

const ROUNDS = 5;
const codePath = join(__dirname, '..', '..', 'lib', 'workflow-bundle.js');

/** Events per second when a turn is replayed, the start of the replayer left out. */
export const replay: Measurement = {
  name: 'replay',
  async run({ client }) {
    const workflowId = freshId('replay');
    await client.workflow.execute('agentTurn', {
      taskQueue: OUR_QUEUE,
      workflowId,
      args: [{ agent: 'large', prompt: 'go' }],
    });
    const history = await client.workflow.getHandle(workflowId).fetchHistory();
    const events = history.events?.length ?? 0;
    const batch = (count: number): Promise<number> => timed(() => replayAll(workflowId, history, count));
    const perSecond: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const [one, many] = [await batch(1), await batch(11)];
      perSecond.push((10 * events * 1000) / (many - one));
    }
    return [absolute('replay', median(perSecond), { least: 5000, unit: 'events/s' })];
  },
};

async function replayAll(
  workflowId: string,
  history: temporal.api.history.v1.IHistory,
  count: number,
): Promise<void> {
  const histories = Array.from({ length: count }, (_, index) => ({
    workflowId: `${workflowId}-${index}`,
    history,
  }));
  for await (const { error } of Worker.runReplayHistories({ workflowBundle: { codePath } }, histories)) {
    if (error !== undefined) throw error;
  }
}
