import { Client, Connection } from '@temporalio/client';
import { connect } from '../../lib/client';
import { timed } from '../figure';
import { startCluster, type Cluster } from './cluster';
import { TURNS, untilCount, WAITING, type Scale } from './context';
import { Crew } from './crew';
import { endWithRun } from './ending';
import type { Measured } from './growth';
import { Ledger } from './ledger';
import { decideEach, decideMany } from './phases/decide';
import { expireMany } from './phases/expiry';
import { readInboxes } from './phases/inbox';
import { killBoth } from './phases/kill';
import { measureSize, startAll } from './phases/start';
import { watch } from './phases/watch';
import type { Phase, Values } from './rows';

/** What is measured, and how. */
interface Asked {
  size: number;
  /** So many turns stay in the memory of each worker. @default what the SDK works out */
  cached: number | undefined;
  say(line: string): void;
}

/** Measures one size on a cluster of its own, phase after phase. @throws Error where an effect did not happen once, or a turn was lost. */
export async function measure({ size, cached, say }: Asked): Promise<Measured> {
  const ledger = await Ledger.open();
  let cluster: Cluster | undefined;
  const seconds = (await timed(async () => (cluster = await startCluster()))) / 1000;
  if (cluster === undefined) throw new Error('there is no cluster');
  // What the bench itself writes goes with the cluster as well.
  process.env['TMPDIR'] = cluster.directory;
  const { address, directory } = cluster;
  const crew = new Crew({ address, ledger: ledger.url, directory, cached });
  const endCrew = endWithRun(() => crew.end());
  const countersign = await connect({ address });
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  const scale: Scale = {
    ...{ size, cluster, client, countersign, ledger, crew, say },
    ...{ waiting: [], decided: new Set<string>() },
  };
  try {
    await crew.start();
    return await Promise.race([measureAll(scale, seconds), crew.died]);
  } finally {
    await endCrew();
    await countersign.close();
    await connection.close();
    ledger.close();
    await cluster.stop();
  }
}

async function measureAll(scale: Scale, cluster: number): Promise<Measured> {
  const { size, say } = scale;
  let values: Values = {};
  const run = async (what: string, work: (scale: Scale) => Promise<Values>): Promise<number> => {
    say(what);
    const began = performance.now();
    values = { ...values, ...(await work(scale)) };
    await settled(scale);
    return (performance.now() - began) / 1000;
  };
  const seconds: Record<Phase, number> = {
    cluster,
    start: await run('starting turns', startAll),
    size: await run('memory and database', measureSize),
    inbox: await run('looking into the inbox', readInboxes),
    watch: await run('watching the web inbox', watch),
    decide: await run('deciding one by one', decideEach),
    burst: await run('deciding many at once', decideMany),
    kill: await run('killing both workers', killBoth),
    expiry: await run('letting requests expire', (all) => expireMany(all, values.start ?? NaN)),
  };
  await nothingLost(scale);
  return { size, values, seconds };
}

/** Each decision had its effect once, nothing else had one, and what nobody decided on still waits. */
async function nothingLost(scale: Scale): Promise<void> {
  const { ledger, decided, waiting } = scale;
  const wrong = ledger.wrong(decided);
  if (wrong.length > 0)
    throw new Error(`${wrong.length} effects did not happen exactly once: ${wrong.slice(0, 5).join(', ')}`);
  const isDone = (count: number): boolean => count === waiting.length;
  await untilCount(scale, WAITING, { what: `${waiting.length} turns have to wait`, isDone });
}

/** Until what was decided has ended: a worker that is killed right after an effect leaves its call in doubt, as it should. */
async function settled(scale: Scale): Promise<void> {
  const isDone = (count: number): boolean => count === scale.waiting.length;
  await untilCount(scale, TURNS, { what: `all but ${scale.waiting.length} turns have to end`, isDone });
}
