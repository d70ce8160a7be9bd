import { connect, type Countersign } from '../../lib/client';
import { absolute, median, timed, type Bench, type Measurement } from '../figure';
import { OUR_QUEUE } from '../subjects';

const TURNS = 10_000;
const AT_ONCE = 50;

/** The first 100 requests of the inbox while 10,000 turns wait. */
export const inbox: Measurement = {
  name: 'inbox',
  async run(bench) {
    const countersign = await connect({ address: bench.address });
    await startWaiting(bench, countersign);
    await untilListed(bench);
    const samples: number[] = [];
    for (let round = 0; round < 11; round++) {
      samples.push(await timed(() => countersign.inbox({ limit: 100 })));
      // A program asks visibility twice a second at most; a person who looks again is a little slower.
      await new Promise((resolve) => setTimeout(resolve, 1_500));
    }
    const [first, ...rest] = samples;
    bench.say(`first look ${Math.round(first ?? 0)} ms`);
    await countersign.close();
    return [absolute('first 100 requests, 10,000 turns waiting', median(rest), { most: 200, unit: 'ms' })];
  },
};

async function startWaiting(bench: Bench, countersign: Countersign): Promise<void> {
  for (let count = 0; count < TURNS; count += AT_ONCE) {
    if (count % 1000 === 0) bench.say(`${count} of ${TURNS} turns wait`);
    const batch = Array.from({ length: AT_ONCE }, (_, index) =>
      countersign.start({ agent: 'waiting', prompt: `${count + index}`, taskQueue: OUR_QUEUE }),
    );
    await Promise.all(batch);
  }
}

async function untilListed({ client, say }: Bench): Promise<void> {
  for (;;) {
    const { count } = await client.workflow.count(`CountersignState = 'waiting'`);
    if (count >= TURNS) return;
    say(`${count} of ${TURNS} are listed`);
    await new Promise((resolve) => setTimeout(resolve, 2000));
  }
}
