import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { optionalTsToMs } from '@temporalio/common/lib/time';
import { defineAgent, defineConfig, defineTool, scriptedModel, startWorker } from '../../lib/index';
import { type Bench, type Measurement, relative } from '../figure';
import { freshId } from '../subjects';

const STEPS = 150;
/** The reset goes back to the reply of this step. */
const BACK_TO = 75;
const ROUNDS = 5;
const KIB = 1024;

/**
 * A step in a run that Temporal's own reset made, beside the same step of the run before it. Its calls have an effect:
 * before each of them a worker makes sure that it did not start before the reset.
 */
export const reset: Measurement = {
  name: 'reset',
  isAlone: true,
  async run(bench) {
    const taskQueue = freshId('resets');
    const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-resets-'));
    const put = defineTool({
      ...{ name: 'put', description: 'Puts.', safety: 'cautious', effect: 'unsafe' },
      parameters: { type: 'object', properties: { n: { type: 'number' } } },
      handler: () => 'x'.repeat(8 * KIB),
    });
    const step = { toolCalls: [{ name: 'put', arguments: { n: 1 } }] };
    const model = scriptedModel([...Array.from({ length: STEPS }, () => step), { text: 'done' }]);
    const limits = { steps: STEPS + 1, repeats: false as const };
    const config = defineConfig({
      agents: [defineAgent({ name: 'putter', instructions: 'Do it.', model, tools: [put], limits })],
      ...{ taskQueue, log: { calls: false } },
      stateDir,
    });
    const worker = await startWorker({ config, address: bench.address, logLevel: 'ERROR' });
    try {
      // Once before what counts: a new process is slow.
      await playRound(bench, taskQueue);
      const values: number[] = [];
      const baselines: number[] = [];
      while (values.length < ROUNDS) {
        const { fresh, again } = await playRound(bench, taskQueue);
        bench.say(`step in a fresh run ${fresh.toFixed(1)} ms, after a reset ${again.toFixed(1)} ms`);
        values.push(again);
        baselines.push(fresh);
      }
      return [
        relative('step after a reset, over one before it', { values, baselines, unit: 'ms' }, { most: 1.15 }),
      ];
    } finally {
      await worker.stop();
      rmSync(stateDir, { recursive: true, force: true });
    }
  },
};

/** Milliseconds of a step of a fresh turn, and of the turn after its reset, both from the same step on. */
async function playRound(bench: Bench, taskQueue: string): Promise<{ fresh: number; again: number }> {
  const workflowId = freshId('reset');
  const { workflow, workflowService, options } = bench.client;
  const started = await workflow.start('agentTurn', {
    ...{ args: [{ agent: 'putter', prompt: 'go' }], taskQueue, workflowId },
  });
  await started.result();
  const fresh = await stepsOf(bench, workflowId);
  await workflowService.resetWorkflowExecution({
    namespace: options.namespace,
    workflowExecution: { workflowId, runId: started.firstExecutionRunId },
    workflowTaskFinishEventId: fresh.taskEventId ?? null,
    ...{ requestId: randomUUID(), reason: 'bench' },
  });
  await workflow.getHandle(workflowId).result();
  return { fresh: fresh.perStep, again: (await stepsOf(bench, workflowId)).perStep };
}

async function stepsOf({ client }: Bench, workflowId: string) {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const replies = (events ?? []).filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'countersign.think',
  );
  const [from, next] = [replies[BACK_TO], replies[BACK_TO + 1]];
  const [began = NaN, ended = NaN] = [next, events?.at(-1)].map((event) => optionalTsToMs(event?.eventTime));
  return {
    perStep: (ended - began) / (STEPS - BACK_TO - 1),
    taskEventId: from?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId,
  };
}
