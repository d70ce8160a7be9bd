import { setTimeout as delay } from 'node:timers/promises';
import { absolute, type Bench, type Measurement } from '../figure';
import { BASELINE_QUEUE, freshId, OUR_QUEUE } from '../subjects';
import { cpuOf } from '../processes';
import { startProcess, type Side } from '../worker';
import { requestOf, untilWaits } from './decision';

const TURNS = 1000;
/** Before them: what the first ones load is the worker's own. */
const FIRST = 200;
const AT_ONCE = 50;
/** For so long the processor time of a worker is counted, with turns that wait and without. */
const COUNTED_MS = 30_000;
/** Before that. Within a minute after the last work, V8 collects garbage once more, with all its threads. */
const SETTLE_MS = 60_000;

/**
 * Memory of a worker for each turn that waits, beside a hand-written workflow that waits for a signal; and the processor
 * time that a worker spends because turns wait.
 */
export const waiting: Measurement = {
  name: 'waiting',
  isAlone: true,
  async run(bench) {
    const [ours, bare] = [await perTurn(bench, 'ours'), await perTurn(bench, 'baseline')];
    return [
      {
        ...absolute('memory of a waiting turn', ours, { most: 0.2, unit: 'MB' }),
        baseline: bare,
        ratio: ours / bare,
      },
      absolute('processor time of 1,000 waiting turns', await shareOfWaiting(bench), {
        ...{ most: 1, unit: '% of a processor' },
      }),
    ];
  },
};

async function perTurn(bench: Bench, side: Side): Promise<number> {
  const worker = await startProcess(side, bench.address);
  try {
    await startWaiting(bench, side, FIRST);
    const before = await worker.measure();
    await startWaiting(bench, side, TURNS);
    const after = await worker.measure();
    const [held, rss] = [(after.held - before.held) / TURNS, (after.rss - before.rss) / TURNS];
    bench.say(`${side}: ${held.toFixed(3)} MB held for each turn that waits, ${rss.toFixed(3)} MB of rss`);
    return held;
  } finally {
    await worker.kill();
  }
}

/** What a worker uses of one processor while turns wait, over what it uses with none; in hundredths. */
async function shareOfWaiting(bench: Bench): Promise<number> {
  const worker = await startProcess('ours', bench.address);
  const share = async (): Promise<number> => {
    await delay(SETTLE_MS);
    const [since, before] = [performance.now(), cpuOf(worker.pid)];
    await Promise.race([delay(COUNTED_MS), worker.died]);
    return (100 * (cpuOf(worker.pid) - before)) / (performance.now() - since);
  };
  try {
    const idle = await share();
    await startWaiting(bench, 'ours', TURNS);
    const held = await share();
    bench.say(`a worker uses ${idle.toFixed(2)} % of a processor, and ${held.toFixed(2)} % while turns wait`);
    return held - idle;
  } finally {
    await worker.kill();
  }
}

/** Starts so many and waits until each waits; gives their ids. */
export function startWaiting(bench: Bench, side: Side, count: number): Promise<string[]> {
  return startMany(count, (id) => startOne(bench, side, { id }));
}

/** Starts so many, some at once; gives their ids. */
export async function startMany(count: number, startOf: (id: string) => Promise<void>): Promise<string[]> {
  const ids = Array.from({ length: count }, () => freshId('waiting'));
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(ids.slice(from, from + AT_ONCE).map(startOf));
  return ids;
}

/** Starts one and waits until it waits; `bare`: the workflow of the other side. */
export async function startOne(
  bench: Bench,
  side: Side,
  { id: workflowId, bare = 'rawDecision' }: { id: string; bare?: string },
): Promise<void> {
  const { workflow } = bench.client;
  if (side === 'ours') {
    const args = [{ agent: 'waiting', prompt: workflowId }];
    await workflow.start('agentTurn', { taskQueue: OUR_QUEUE, workflowId, args });
    return requestOf(bench, workflowId);
  }
  const handle = await workflow.start(bare, { taskQueue: BASELINE_QUEUE, workflowId });
  await untilWaits(handle);
}
