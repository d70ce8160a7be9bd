import { timed } from '../../figure';
import { startMany } from '../../figures/waiting';
import { rssOf } from '../../processes';
import { RARE, USUAL } from '../agents';
import { DECISIONS, SCALE_QUEUE, untilCount, WAITING, WHILE_DOWN, type Scale } from '../context';
import type { Values } from '../rows';

/** A tenth is of the other agent. */
const RARELY = 10;

/** Starts the turns, and those that are decided one by one; until all wait. */
export async function startAll(scale: Scale): Promise<Values> {
  const count = scale.size + DECISIONS + WHILE_DOWN;
  const ms = await timed(async () => scale.waiting.push(...(await startWaiting(scale, count))));
  return { start: (count / ms) * 1000 };
}

/** Starts more turns, until they and all others wait; gives their ids. */
export async function startWaiting(scale: Scale, count: number): Promise<string[]> {
  const { waiting, countersign, say } = scale;
  let sent = 0;
  const progress = setInterval(() => say(`started ${sent} of ${count}`), 5_000);
  try {
    const ids = await startMany(count, async (id) => {
      const { agent } = sent++ % RARELY === 0 ? RARE : USUAL;
      await countersign.start({ agent, prompt: id, id, taskQueue: SCALE_QUEUE });
    });
    const isDone = (found: number): boolean => found >= waiting.length + count;
    await untilCount(scale, WAITING, { what: 'turns wait', isDone });
    return ids;
  } finally {
    clearInterval(progress);
  }
}

/** What everything takes while they wait. */
export async function measureSize({ crew, cluster }: Scale): Promise<Values> {
  return {
    workers: crew.pids.reduce((sum, pid) => sum + rssOf(pid), 0),
    server: rssOf(cluster.serverPid),
    database: await cluster.databaseMb(),
  };
}
