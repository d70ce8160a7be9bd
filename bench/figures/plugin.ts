import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { connect } from '../../lib/client';
import { CountersignPlugin } from '../../lib/plugin';
import { absolute, alternate, median, relative, timed, type Bench, type Measurement } from '../figure';
import { BASELINE_QUEUE, freshId, OUR_QUEUE, started } from '../subjects';
import { requestOf, untilStarted } from './decision';

const QUEUE = 'bench-plugin';
/** Calls in one workflow. */
const CALLS = 20;
const ROUNDS = 15;
const DECISIONS = 60;

const workflowsPath = require.resolve('../baseline/workflows');

const makePlugin = (): CountersignPlugin =>
  new CountersignPlugin({
    gate: {
      tellsPure: { safety: 'safe', effect: 'pure' },
      tellsUnsafe: { safety: 'safe', effect: 'unsafe' },
      bareTool: { effect: 'idempotent' },
    },
    stateDir: mkdtempSync(join(tmpdir(), 'countersign-bench-')),
  });

/** Activities under the plugin, beside the same without it. */
export const plugin: Measurement = {
  name: 'plugin',
  async run(bench) {
    const worker = await startGated(bench.address);
    const calls = (activity: string, taskQueue: string) => async (): Promise<number> => {
      const place = { taskQueue, workflowId: freshId('calls') };
      const run = () => bench.client.workflow.execute('callsInARow', { args: [activity, CALLS], ...place });
      return (await timed(run)) / CALLS;
    };
    const [bare, free, pure, unsafe] = await alternate(
      ROUNDS,
      calls('tool', BASELINE_QUEUE),
      calls('tool', QUEUE),
      calls('tellsPure', QUEUE),
      calls('tellsUnsafe', QUEUE),
    );
    const decided = await decisions(bench);
    await worker.stop();
    const beside = (values: number[] | undefined) => ({ values, baselines: bare, unit: 'ms' });
    return [
      relative('activity that is not gated, with the plugin', beside(free), { most: 1.05 }),
      relative('gated activity that policy lets run, pure', beside(pure), { most: 2.2 }),
      relative('the same, unsafe', beside(unsafe), { most: 3 }),
      absolute('decision sent → gated activity running, over a turn', decided.middle, {
        most: 10,
        unit: 'ms',
      }),
      absolute('the same, 54 of 60, over a turn', decided.late, { most: 10, unit: 'ms' }),
      absolute('what the plugin adds to a workflow bundle', await addedKilobytes(), {
        most: 350,
        unit: 'KB',
      }),
    ];
  },
};

async function startGated(address: string): Promise<{ stop(): Promise<void> }> {
  const connection = await NativeConnection.connect({ address });
  const tool = () => Promise.resolve('x'.repeat(1024));
  const worker = await Worker.create({
    ...{ connection, workflowsPath, taskQueue: QUEUE, plugins: [makePlugin()] },
    activities: {
      ...{ tool, tellsPure: tool, tellsUnsafe: tool },
      bareTool: ({ text }: { text: string }) => {
        started.get(text)?.();
        return tool();
      },
    },
  });
  const running = worker.run();
  return {
    stop: async () => {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}

/** From a decision sent to the activity running, less the same of a turn: the middle, and the sixth longest. */
async function decisions(bench: Bench): Promise<{ middle: number; late: number }> {
  const countersign = await connect({ address: bench.address });
  const decide = (turn: string) => () => countersign.decide(turn, { callId: '1.1', decision: 'approved' });
  const ofTurn = async (): Promise<number> => {
    const key = freshId('key');
    const { turn } = await countersign.start({ agent: 'waiting', prompt: key, taskQueue: OUR_QUEUE });
    await requestOf(bench, turn);
    return untilStarted(key, decide(turn));
  };
  const ofActivity = async (): Promise<number> => {
    const key = freshId('key');
    const place = { taskQueue: QUEUE, workflowId: freshId('gated') };
    const { workflowId } = await bench.client.workflow.start('oneCall', { args: [key], ...place });
    await requestOf(bench, workflowId);
    return untilStarted(key, decide(workflowId));
  };
  const [turns = [], activities = []] = await alternate(DECISIONS, ofTurn, ofActivity);
  await countersign.close();
  const late = (values: number[]): number => [...values].sort((a, b) => a - b)[53] ?? NaN;
  return { middle: median(activities) - median(turns), late: late(activities) - late(turns) };
}

async function addedKilobytes(): Promise<number> {
  const sizeOf = async (plugins: CountersignPlugin[]): Promise<number> => {
    const { code } = await bundleWorkflowCode({ workflowsPath, plugins, logger: new DefaultLogger('ERROR') });
    const map = code.indexOf('\n//# sourceMappingURL=');
    return Buffer.byteLength(map === -1 ? code : code.slice(0, map)) / 1000;
  };
  return (await sizeOf([makePlugin()])) - (await sizeOf([]));
}
