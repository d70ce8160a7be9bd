import { absolute, timed, type Bench, type Measurement } from '../figure';
import { freshId, OUR_QUEUE } from '../subjects';
import { runTurn } from './step';

async function historyBytes(bench: Bench, agent: string): Promise<number> {
  const { historySize } = await bench.client.workflow.getHandle(await runTurn(bench, agent)).describe();
  return historySize ?? NaN;
}

/** What 100 steps of 8 KB leave behind, and that 1,000 steps come to their end. */
export const history: Measurement = {
  name: 'history',
  async run(bench) {
    const megabytes = (await historyBytes(bench, 'large')) / 1e6;
    bench.say('1,000 steps');
    let steps = 0;
    const ms = await timed(async () => {
      const workflowId = freshId('long');
      const args = [{ agent: 'long', prompt: 'go' }];
      const result: unknown = await bench.client.workflow.execute('agentTurn', {
        taskQueue: OUR_QUEUE,
        workflowId,
        args,
      });
      steps = stepsOf(result);
    });
    bench.say(`1,000 steps took ${Math.round(ms / 1000)} s`);
    return [
      absolute('history of 100 steps of 8 KB', megabytes, { most: 1.2, unit: 'MB' }),
      absolute('steps of a long turn that finish', steps, { least: 1001, unit: 'steps' }),
    ];
  },
};

function stepsOf(result: unknown): number {
  return typeof result === 'object' && result !== null && 'steps' in result ? Number(result.steps) : 0;
}
