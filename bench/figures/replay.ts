import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger, Worker, type ReplayWorkerOptions } from '@temporalio/worker';
import { judgeRuns } from '../../lib/cli/replay/judge';
import { fetchRuns, newestRuns } from '../../lib/cli/replay/runs';
import { connect } from '../../lib/client';
import { makeDecode } from '../../lib/history/decode';
import type { History } from '../../lib/history/read-histories';
import { replayRuns } from '../../lib/history/replay/replayer';
import { absolute, alternate, median, relative, timed, type Bench, type Measurement } from '../figure';
import { freshId } from '../subjects';
import { runLoop, runTurn } from './step';

const ROUNDS = 5;
const TIMES = 10;
const LOOP_STEPS = 100;
const TURNS = 200;

const ours = { workflowBundle: { codePath: join(__dirname, '..', '..', 'lib', 'workflow-bundle.js') } };

/** Events per second when a turn is replayed, beside a hand-written loop of the same length by the SDK's own means. */
export const replay: Measurement = {
  name: 'replay',
  async run(bench) {
    const turn = await historyOf(bench, await runTurn(bench, 'large'));
    const loop = await historyOf(bench, await runLoop(bench, LOOP_STEPS));
    const workflowsPath = require.resolve('../baseline/workflows');
    const logger = new DefaultLogger('ERROR');
    const bundle = { workflowBundle: await bundleWorkflowCode({ workflowsPath, logger }) };
    const [values, baselines] = await alternate(
      ROUNDS,
      () => rate(turn, (count) => drain(replayRuns(ours, copies(turn, count)))),
      () => rate(loop, (count) => bySdk(bundle, copies(loop, count))),
    );
    const measured = { values, baselines, unit: 'events/s' };
    return [
      absolute('replay', median(values), { least: 5000, unit: 'events/s' }),
      relative('replay, against a hand-written loop', measured, { least: 0.9 }),
    ];
  },
};

/** 200 turns from the server, as the gate before a deploy replays them. */
export const replayBatch: Measurement = {
  name: 'replay-batch',
  async run(bench) {
    for (let count = 0; count < TURNS; count += 50)
      await Promise.all(Array.from({ length: 50 }, () => runTurn(bench, 'few')));
    const desk = await connect({ address: bench.address });
    const ms = await timed(async () => {
      const runs = await newestRuns(desk, { query: `WorkflowType = 'agentTurn'` }, TURNS);
      const fetched = fetchRuns(desk, runs, { runs: runs.length, done: 0, gone: 0 });
      let judged = 0;
      for await (const { finding } of judgeRuns({ options: ours, decode: makeDecode() }, fetched)) {
        if (finding !== undefined) throw new Error(finding.message);
        judged += 1;
      }
      if (judged < TURNS) throw new Error(`only ${judged} of ${TURNS} turns were replayed`);
    });
    await desk.close();
    return [absolute(`replay of ${TURNS} turns`, ms / 1000, { most: 20, unit: 's' })];
  },
};

async function historyOf({ client }: Bench, workflowId: string): Promise<History> {
  return client.workflow.getHandle(workflowId).fetchHistory();
}

/** Events per second, the start of the replayer left out. */
async function rate(history: History, replayed: (count: number) => Promise<void>): Promise<number> {
  const one = await timed(() => replayed(1));
  const many = await timed(() => replayed(1 + TIMES));
  return (TIMES * (history.events?.length ?? 0) * 1000) / (many - one);
}

async function* copies(history: History, count: number) {
  for (let n = 0; n < count; n++) {
    const turn = freshId('copy');
    yield { turn, workflowId: turn, history };
  }
}

async function drain(replayed: AsyncIterable<{ error?: Error }>): Promise<void> {
  for await (const { error } of replayed) if (error !== undefined) throw error;
}

async function bySdk(options: ReplayWorkerOptions, runs: ReturnType<typeof copies>): Promise<void> {
  for await (const { error } of Worker.runReplayHistories(options, runs))
    if (error !== undefined) throw error;
}
