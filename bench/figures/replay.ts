import { join } from 'node:path';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { fetchRuns, newestRuns, replayIsolated } from '../../lib/cli/replay/replay';
import { judgeRuns, type NamedRun } from '../../lib/cli/replay/judge-runs';
import { taskTimeoutOf } from '../../lib/cli/commands/replay';
import { connect } from '../../lib/client';
import { type History, makeDecode } from '../../lib/history/decode/decode';
import { absolute, alternate, type Bench, type Measurement, median, relative, timed } from '../figure';
import { freshId } from '../subjects';
import { runLoop, runTurn } from './step';

const ROUNDS = 5;
const TIMES = 10;
const LOOP_STEPS = 100;
const TURNS = 200;

const workflowBundle = { codePath: join(__dirname, '..', '..', 'lib', 'workflow-bundle.js') };
const isolated = { setup: { workflowBundle, taskTimeoutMs: taskTimeoutOf({}) }, env: process.env };
/** As the command does. */
const ours = (runs: AsyncIterable<NamedRun>) => replayIsolated(isolated, runs);

/** Events per second when a turn is replayed, beside bare activities of the same number by the SDK's own means. */
export const replay: Measurement = {
  name: 'replay',
  async run(bench) {
    const turn = await historyOf(bench, await runTurn(bench, 'large'));
    const loop = await historyOf(bench, await runLoop(bench, 'bareLoop', LOOP_STEPS));
    const workflowsPath = require.resolve('../baseline/workflows');
    const logger = new DefaultLogger('ERROR');
    const bundle = { workflowBundle: await bundleWorkflowCode({ workflowsPath, logger }) };
    // One replayer of each for all rounds: both are warm then, and the start of neither counts.
    const turns = ours(copies(turn));
    const loops = Worker.runReplayHistories(bundle, copies(loop));
    const [values, baselines] = await alternate(
      ROUNDS,
      () => rate(turn, turns),
      () => rate(loop, loops),
    );
    await Promise.all([turns.return(undefined), loops.return?.()]);
    const measured = { values, baselines, unit: 'events/s' };
    return [
      absolute('replay', median(values), { least: 5000, unit: 'events/s' }),
      relative('replay, against bare activities', measured, { least: 0.9 }),
    ];
  },
};

/** 200 turns from the server, as the gate before a deploy replays them. */
export const replayBatch: Measurement = {
  name: 'replay-batch',
  async run(bench) {
    for (let count = 0; count < TURNS; count += 50)
      await Promise.all(Array.from({ length: 50 }, () => runTurn(bench, 'few')));
    const client = await connect({ address: bench.address });
    const ms = await timed(async () => {
      const runs = await newestRuns(client, { query: `WorkflowType = 'agentTurn'` }, TURNS);
      const fetched = fetchRuns(client, runs, { runs: runs.length, done: 0, gone: 0 });
      let judged = 0;
      for await (const { finding } of judgeRuns({ replay: ours, decode: makeDecode() }, fetched)) {
        if (finding !== undefined) throw new Error(finding.message);
        judged += 1;
      }
      if (judged < TURNS) throw new Error(`only ${judged} of ${TURNS} turns were replayed`);
    });
    await client.close();
    return [absolute(`replay of ${TURNS} turns`, ms / 1000, { most: 20, unit: 's' })];
  },
};

async function historyOf({ client }: Bench, workflowId: string): Promise<History> {
  return client.workflow.getHandle(workflowId).fetchHistory();
}

/** Events per second of the next so many copies. */
async function rate(history: History, replayed: AsyncIterator<{ error?: unknown }>): Promise<number> {
  const ms = await timed(async () => {
    for (let n = 0; n < TIMES; n++) {
      const { value } = await replayed.next();
      if (value.error !== undefined) throw value.error;
    }
  });
  return (TIMES * (history.events?.length ?? 0) * 1000) / ms;
}

async function* copies(history: History) {
  for (;;) {
    const turn = freshId('copy');
    yield { turn, workflowId: turn, history };
  }
}
