import type { WorkflowHandle } from '@temporalio/client';
import { connect } from '../../lib/client';
import { absolute, alternate, median, type Bench, type Measurement, type Subject } from '../figure';
import { BASELINE_QUEUE, freshId, OUR_QUEUE, started } from '../subjects';

const ROUNDS = 60;

/** Milliseconds from `send` until the handler of `key` runs. */
export async function untilStarted(key: string, send: () => Promise<unknown>): Promise<number> {
  const running = new Promise<number>((resolve) => started.set(key, () => resolve(performance.now())));
  const sent = performance.now();
  await send();
  const at = await running;
  started.delete(key);
  return at - sent;
}

/** From a decision sent to the tool running, beside a bare signal to a hand-written workflow. */
export const decision: Measurement = {
  name: 'decision',
  async run(bench) {
    const countersign = await connect({ address: bench.address });
    const ours = async (): Promise<number> => {
      const key = freshId('key');
      const { turn } = await countersign.start({ agent: 'waiting', prompt: key, taskQueue: OUR_QUEUE });
      await requestOf(bench, turn);
      return untilStarted(key, () => countersign.decide(turn, { callId: '1.1', decision: 'approved' }));
    };
    const [baselines, values] = await alternate(ROUNDS, rawSignal(bench), ours);
    await countersign.close();
    return [
      absolute('decision sent → tool running, over a raw signal', median(values) - median(baselines), {
        most: 10,
        unit: 'ms',
      }),
    ];
  },
};

/** A bare signal to a hand-written workflow that waits for it, until its activity runs. */
export function rawSignal({ client }: Pick<Bench, 'client'>): Subject {
  return async () => {
    const place = { taskQueue: BASELINE_QUEUE, workflowId: freshId('raw') };
    const handle = await client.workflow.start('rawSignal', place);
    await untilWaits(handle);
    return untilStarted('go', () => handle.signal('go'));
  };
}

/** Waits until a hand-written workflow waits: its first task is on record. A signal that came before would wait for that. */
export async function untilWaits(handle: Pick<WorkflowHandle, 'describe'>): Promise<void> {
  while (((await handle.describe()).raw.workflowExecutionInfo?.historyLength?.toNumber() ?? 0) < 4)
    await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Waits until a turn has a request. */
export async function requestOf({ client }: Pick<Bench, 'client'>, turn: string): Promise<void> {
  const handle = client.workflow.getHandle(turn);
  for (;;) {
    const { memo } = await handle.describe();
    if (memo?.['open'] !== undefined && memo['open'] !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
