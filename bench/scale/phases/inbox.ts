import { connect, type InboxQuery } from '../../../lib/client';
import { timed } from '../../figure';
import { RARE } from '../agents';
import { percentile, type Scale } from '../context';
import type { Values } from '../rows';

const LOOKS = 20;
const FILTERED = 6;
/** As a person looks again: a program asks visibility twice a second at most, and waits where it would be more. */
const PAUSE_MS = 1_000;

/** The first page of the inbox, and the first page that a filter leaves, through the product's own reader. */
export async function readInboxes(scale: Scale): Promise<Values> {
  const [first = NaN, ...later] = await looks(scale, { limit: 100 }, 1 + LOOKS);
  const filtered = async (query: InboxQuery): Promise<number> =>
    percentile(await looks(scale, { ...query, limit: 100 }, FILTERED), 0.5);
  return {
    firstLook: first,
    look: percentile(later, 0.5),
    byTool: await filtered({ tool: RARE.tool }),
    byAgent: await filtered({ agent: RARE.agent }),
    byAge: await filtered({ olderThanMs: 1_000 }),
  };
}

/** Milliseconds of each look of somebody who has not looked before. */
async function looks({ cluster }: Scale, query: InboxQuery, count: number): Promise<number[]> {
  const countersign = await connect({ address: cluster.address });
  const samples: number[] = [];
  try {
    while (samples.length < count) {
      let found = 0;
      samples.push(await timed(async () => (found = (await countersign.inbox(query)).length)));
      if (found === 0) throw new Error(`the inbox is empty: ${JSON.stringify(query)}`);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    return samples;
  } finally {
    await countersign.close();
  }
}
