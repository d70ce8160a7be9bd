import { connect, type Countersign } from '../../lib/client';
import { absolute, timed, type Bench, type Measurement } from '../figure';
import { startProcess } from '../worker';
import { startWaiting } from './waiting';

const WAITING = 2000;
const TRIES = 3;

/** A worker is killed while 2,000 turns wait; from the next one ready to the first decision that has run its tool. */
export const recovery: Measurement = {
  name: 'recovery',
  isAlone: true,
  async run(bench) {
    const countersign = await connect({ address: bench.address });
    try {
      const seconds = await recoverAll(bench, countersign);
      return [
        absolute(`killed with ${WAITING} turns waiting → first decision effective`, Math.max(...seconds), {
          most: 3,
          unit: 's',
        }),
      ];
    } finally {
      await countersign.close();
    }
  },
};

/** Seconds of each try. The turn that is decided was in the memory of the worker that is killed, as the server knows. */
async function recoverAll(bench: Bench, countersign: Countersign): Promise<number[]> {
  let worker = await startProcess('ours', bench.address);
  try {
    await startWaiting(bench, 'ours', WAITING);
    const seconds: number[] = [];
    while (seconds.length < TRIES) {
      const [turn = ''] = await startWaiting(bench, 'ours', 1);
      await worker.kill();
      worker = await startProcess('ours', bench.address);
      const ms = await timed(() => untilEffective(countersign, turn));
      bench.say(`the first decision was effective ${(ms / 1000).toFixed(2)} s after the worker was ready`);
      seconds.push(ms / 1000);
    }
    return seconds;
  } finally {
    await worker.kill();
  }
}

async function untilEffective(countersign: Countersign, turn: string): Promise<void> {
  await countersign.decide(turn, { callId: '1.1', decision: 'approved' });
  for await (const event of countersign.follow(turn)) if (event.type === 'call_ended') return;
}
