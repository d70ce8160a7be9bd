import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { lookAtControl } from '../../lib/authority/pauses/worker-hold';
import { connect, type Countersign } from '../../lib/client';
import { startControl } from '../../lib/authority/pauses/client';
import { defineAgent, defineConfig, defineTool, scriptedModel, startWorker } from '../../lib/index';
import { absolute, median, timed, type Bench, type Measurement } from '../figure';
import { freshId } from '../subjects';

const ROUNDS = 8;
/** Turns that call the tool again and again, on both workers. */
const TURNS = 6;
const CHECKS = 200;
/** More than a turn takes until it is cancelled. */
const STEPS = 1_000;
/** Milliseconds without a start after which we take it that no more comes. */
const QUIET_MS = 4_000;

const EFFECT = 'paused_effect';

/** From a pause to the last start of a call that it holds, with two workers; then the question that each such call asks. */
export const pause: Measurement = {
  name: 'pause',
  run: async (bench) => {
    const starts = new Array<number>();
    const place = await startPlace(bench, starts);
    try {
      const lates = new Array<number>();
      for (let round = 0; round < ROUNDS; round++) lates.push(await lateStart(bench, place, starts));
      const checks = await checksOf(place);
      return [
        absolute('pause → last start of a call with an effect, longest of 8', Math.max(...lates) / 1_000, {
          ...{ most: 2, unit: 's' },
        }),
        absolute('check for a pause before such a call', median(checks), { most: 5, unit: 'ms' }),
      ];
    } finally {
      await place.stop();
    }
  },
};

interface Place {
  client: Countersign;
  taskQueue: string;
  stop(): Promise<void>;
}

async function startPlace(bench: Bench, starts: number[]): Promise<Place> {
  const taskQueue = freshId('pause');
  const place = { address: bench.address, logLevel: 'ERROR' as const };
  const config = () =>
    defineConfig({
      agents: [looping(starts), asking()],
      taskQueue,
      stateDir: mkdtempSync(join(tmpdir(), 'countersign-bench-pause-')),
      log: { calls: false },
    });
  const workers = [
    await startWorker({ config: config(), ...place }),
    await startWorker({ config: config(), ...place }),
  ];
  const client = await connect({ address: bench.address });
  const stop = async (): Promise<void> => {
    await client.close();
    await Promise.all(workers.map((worker) => worker.stop()));
  };
  return { client, taskQueue, stop };
}

/** Milliseconds from the request to pause to the last start, in the time of this process. Negative: none came after it. */
async function lateStart(bench: Bench, { client, taskQueue }: Place, starts: number[]): Promise<number> {
  const turns = await Promise.all(
    Array.from({ length: TURNS }, () => client.start({ agent: 'looping', prompt: 'go', taskQueue })),
  );
  const before = starts.length;
  while (starts.length < before + TURNS * 5) await delay(20);
  const asked = performance.now();
  await client.pause({ tool: EFFECT, reason: 'measured', by: 'bench' });
  const last = (): number => starts.at(-1) ?? asked;
  while (performance.now() - Math.max(last(), asked) < QUIET_MS) await delay(50);
  const late = last() - asked;
  await Promise.all(turns.map(({ turn }) => client.cancel(turn)));
  await Promise.all(
    turns.map(({ turn }) =>
      bench.client.workflow
        .getHandle(turn)
        .result()
        .catch(() => undefined),
    ),
  );
  await client.resume({ tool: EFFECT, by: 'bench' });
  return late;
}

/** How long the question about pauses takes where each call asks it: in an activity of a worker. */
async function checksOf({ client, taskQueue }: Place): Promise<number[]> {
  const prompt = freshId('checks');
  const { turn } = await client.start({ agent: 'asking', prompt, taskQueue });
  await client.client.workflow.getHandle(turn).result();
  return checks.splice(0);
}

const checks = new Array<number>();

function asking() {
  const ask = defineTool({
    name: 'ask_control',
    description: 'Asks about pauses.',
    parameters: { type: 'object', properties: {} },
    handler: async () => {
      for (let n = 0; n < CHECKS; n++) checks.push(await timed(() => lookAtControl(startControl)));
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: 'ask_control', arguments: {} }] }, { text: 'done' }]);
  return defineAgent({ name: 'asking', instructions: 'Do it.', model, tools: [ask] });
}

function looping(starts: number[]) {
  const effect = defineTool({
    name: EFFECT,
    description: 'Changes something.',
    parameters: { type: 'object', properties: {} },
    safety: 'cautious',
    effect: 'idempotent',
    handler: () => void starts.push(performance.now()),
  });
  const model = scriptedModel(
    Array.from({ length: STEPS }, () => ({ toolCalls: [{ name: EFFECT, arguments: {} }] })),
  );
  // Its steps are all the same, and would be ended as going round in circles.
  const limits = { steps: STEPS + 1, repeats: false as const };
  return defineAgent({ name: 'looping', instructions: 'Do it.', model, tools: [effect], limits });
}
