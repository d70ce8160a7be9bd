import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { defineAgent, defineConfig, defineTool, scriptedModel, startWorker } from '../../lib/index';
import { absolute, type Bench, type Measurement } from '../figure';
import { freshId } from '../subjects';

const ROUNDS = 8;
/** Milliseconds of a step, and how many there are: more than run until a burst ends. */
const STEP_MS = 20;
const STEPS = 3_000;
/** Steps of a burst before it is to end. */
const BEFORE = 5;
/** Milliseconds without a step after which we take it that no more comes. */
const QUIET_MS = 4_000;

/** From what ends a burst, the cancellation of its turn or a pause of its activity, to the last step that it still runs. */
export const burstEnd: Measurement = {
  name: 'burst-end',
  run: async (bench) => {
    const steps: number[] = [];
    const taskQueue = freshId('burst-end');
    const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-burst-'));
    const config = defineConfig({ agents: [counting(steps)], taskQueue, stateDir, log: { calls: false } });
    const worker = await startWorker({ config, address: bench.address, logLevel: 'ERROR' });
    try {
      const place = { bench, taskQueue, steps };
      const hold = { most: 2, unit: 's' };
      const [cancelled, paused] = [await longest(place, cancel), await longest(place, pauseBurst)];
      return [
        absolute('cancel → last step of a burst, longest of 8', cancelled, hold),
        absolute('pause of its activity → last step of a burst, longest of 8', paused, hold),
      ];
    } finally {
      await worker.stop();
    }
  },
};

/** A worker whose agent notes when each step of it runs. */
interface Place {
  bench: Bench;
  taskQueue: string;
  steps: readonly number[];
}

/** A turn in a burst. */
interface Bursting {
  bench: Bench;
  workflowId: string;
  activityId: string;
}

/** Seconds to the last step, of the round in which it came the latest. */
async function longest(place: Place, end: (burst: Bursting) => Promise<unknown>): Promise<number> {
  const lates: number[] = [];
  while (lates.length < ROUNDS) lates.push(await lateStep(place, end));
  return Math.max(...lates) / 1_000;
}

/** Milliseconds from the request to end a burst to its last step. Negative: none came after it. */
async function lateStep(
  { bench, taskQueue, steps }: Place,
  end: (burst: Bursting) => Promise<unknown>,
): Promise<number> {
  const workflowId = freshId('bursting');
  const args = [{ agent: 'counting', prompt: 'go' }];
  const handle = await bench.client.workflow.start('agentTurn', { taskQueue, workflowId, args });
  const activityId = await burstOf(bench, workflowId);
  const before = steps.length;
  while (steps.length < before + BEFORE) await delay(STEP_MS);
  const asked = performance.now();
  await end({ bench, workflowId, activityId });
  const last = (): number => steps.at(-1) ?? asked;
  while (performance.now() - Math.max(last(), asked) < QUIET_MS) await delay(50);
  const late = last() - asked;
  // The one that is paused does not end by itself.
  await handle.terminate().catch(() => undefined);
  if (steps.length > before + STEPS / 2) throw new Error('the burst may have run out of steps');
  return late;
}

/** Waits until a turn is in a burst that is not its first activity; gives the id of that activity. */
async function burstOf({ client }: Bench, workflowId: string): Promise<string> {
  for (;;) {
    const { raw } = await client.workflow.getHandle(workflowId).describe();
    const ids = raw.pendingActivities?.map(({ activityId }) => activityId ?? '');
    const id = ids?.find((one) => one.startsWith('burst-'));
    if (id !== undefined) return id;
    await delay(STEP_MS);
  }
}

const cancel = ({ bench, workflowId }: Bursting): Promise<unknown> =>
  bench.client.workflow.getHandle(workflowId).cancel();

function pauseBurst({ bench, workflowId, activityId: id }: Bursting): Promise<unknown> {
  const { workflowService, options } = bench.client;
  const { namespace, identity } = options;
  const about = { execution: { workflowId }, id, reason: 'measured' };
  return workflowService.pauseActivity({ namespace, identity, ...about });
}

/** Counts on and on, in bursts that do not end by themselves while they are measured. */
function counting(steps: number[]) {
  const count = defineTool({
    name: 'count',
    description: 'Counts.',
    parameters: { type: 'object', properties: { n: { type: 'number' } } },
    handler: async () => {
      steps.push(performance.now());
      await delay(STEP_MS);
    },
  });
  const model = scriptedModel(
    Array.from({ length: STEPS }, (_, n) => ({ toolCalls: [{ name: 'count', arguments: { n } }] })),
  );
  return defineAgent({
    ...{ name: 'counting', instructions: 'Count.', model, tools: [count] },
    ...{ limits: { steps: STEPS + 1 }, durability: 'gate', commitEvery: '1m' },
  });
}
