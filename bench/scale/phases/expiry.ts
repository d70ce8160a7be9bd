import { startMany } from '../../figures/waiting';
import { cpuOf } from '../../processes';
import { expiringAgent, lifeUntil, SLICE_S } from '../agents';
import { SCALE_QUEUE, TURNS, untilCount, WAITING, type Scale } from '../context';
import { EXPIRING } from '../growth';
import type { Values } from '../rows';

/** They have to wait before they expire, however busy the machine is by then. */
const SPARE = 1.5;
const LEAST_MS = 20_000;

/**
 * Requests that expire at once. A turn that starts later has a shorter time, so all deadlines are within five seconds; the
 * product lets each timer run up to a hundredth longer. From the first deadline until every turn has ended.
 */
export async function expireMany(scale: Scale, startRate: number): Promise<Values> {
  const { size, countersign, waiting, say } = scale;
  const count = Math.min(size, EXPIRING);
  const at = Date.now() + LEAST_MS + (count / startRate) * SPARE * 1000;
  await startMany(count, async (id) => {
    const seconds = lifeUntil(at - Date.now());
    if (seconds === undefined)
      throw new Error(`${count} turns cannot be started before their requests expire`);
    await countersign.start({ agent: expiringAgent(seconds), prompt: id, id, taskQueue: SCALE_QUEUE });
  });
  say(
    `${count} requests expire within ${SLICE_S} seconds, in ${Math.round((at - Date.now()) / 1000)} seconds`,
  );
  let allWait = false;
  const isDone = (found: number): boolean => (allWait = found >= waiting.length + count) || Date.now() >= at;
  await untilCount(scale, WAITING, { what: 'turns wait', isDone });
  if (!allWait) throw new Error(`some of ${count} turns did not wait before their requests expired`);
  await new Promise((resolve) => setTimeout(resolve, Math.max(0, at - Date.now())));
  const before = cpu(scale);
  await untilCount(scale, TURNS, { what: 'turns run', isDone: (found) => found <= waiting.length });
  return {
    expiry: (count / (Date.now() - at)) * 1000,
    expiryCpu: (cpu(scale) - before) / count,
  };
}

/** Of the server, its database and both workers, in milliseconds. */
function cpu({ cluster, crew }: Scale): number {
  return [cluster.serverPid, cluster.postgresPid, ...crew.pids].reduce((sum, pid) => sum + cpuOf(pid), 0);
}
