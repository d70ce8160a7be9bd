import { z } from 'zod';
import { alternate, relative, timed, type Bench, type Measurement } from '../figure';
import { BASELINE_QUEUE, freshId, OUR_QUEUE } from '../subjects';

/** Of a turn whose steps are timed. */
export const STEPS = 40;
/** One turn is a second, and no machine is quiet for long: many short rounds meet the same noise on both sides. */
const ROUNDS = 40;
/** Of each of the 32 turns: enough to fill both cores for some seconds. */
const FEW_STEPS = 8;
const CROWDED_ROUNDS = 9;

const Ended = z.object({ status: z.string() });

/** One turn of ours to its end; gives its id. Throws where it did not end with an answer: its steps would not be those that are measured. */
export async function runTurn({ client }: Bench, agent: string, taskQueue = OUR_QUEUE): Promise<string> {
  const workflowId = freshId(agent);
  const result: unknown = await client.workflow.execute('agentTurn', {
    taskQueue,
    workflowId,
    args: [{ agent, prompt: 'go' }],
  });
  const { status } = Ended.parse(result);
  if (status !== 'answered') throw new Error(`a turn of ${agent} ended as ${status}`);
  return workflowId;
}

/** A loop that was written by hand; see baseline/workflows.ts. */
type Loop = 'handWrittenLoop' | 'bareLoop';

/** One of them to its end; gives its id. */
export async function runLoop({ client }: Bench, loop: Loop, steps: number): Promise<string> {
  const workflowId = freshId(loop);
  await client.workflow.execute(loop, { taskQueue: BASELINE_QUEUE, workflowId, args: [steps] });
  return workflowId;
}

/** Milliseconds of one of the steps of a turn. */
export const perStep = async (turn: () => Promise<unknown>): Promise<number> => (await timed(turn)) / STEPS;

/** A step of a lone turn, with a tool that is an activity and with one that is `local`. */
export const step: Measurement = {
  name: 'step',
  async run(bench) {
    const [baselines, ours, local] = await alternate(
      ROUNDS,
      () => perStep(() => runLoop(bench, 'handWrittenLoop', STEPS)),
      () => perStep(() => runTurn(bench, 'usual')),
      () => perStep(() => runTurn(bench, 'quick')),
    );
    return [
      relative('step', { values: ours, baselines, unit: 'ms' }, { most: 1.1 }),
      relative('step with a local tool', { values: local, baselines, unit: 'ms' }, { most: 0.8 }),
    ];
  },
};

/** Steps per second with 32 turns at once. */
export const throughput: Measurement = {
  name: 'throughput',
  async run(bench) {
    const many = async (one: () => Promise<unknown>): Promise<number> => {
      const ms = await timed(() => Promise.all(Array.from({ length: 32 }, one)));
      return (32 * FEW_STEPS * 1000) / ms;
    };
    const [baselines, ours] = await alternate(
      CROWDED_ROUNDS,
      () => many(() => runLoop(bench, 'handWrittenLoop', FEW_STEPS)),
      () => many(() => runTurn(bench, 'few')),
    );
    return [relative('steps per second, 32 turns', { values: ours, baselines, unit: '/s' }, { least: 0.95 })];
  },
};
