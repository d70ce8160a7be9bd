import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'pg';
import { z } from 'zod';
import { endWithRun } from './ending';

const SCRIPT = join(__dirname, '..', '..', 'scripts', 'cluster-process.mjs');

/** As the caller gave it: this process changes its own. */
const ENV = { ...process.env };

const Place = z.object({
  address: z.string(),
  directory: z.string(),
  pid: z.number(),
  postgres: z.object({
    host: z.string(),
    port: z.number(),
    user: z.string(),
    password: z.string(),
    pid: z.number(),
  }),
});

/** The cluster of the tests, for one size. */
export interface Cluster {
  address: string;
  /** Everything that the bench writes is below it; it goes with the cluster. */
  directory: string;
  /** The Temporal server. */
  serverPid: number;
  postgresPid: number;
  /** What all databases take on disk, in megabytes. */
  databaseMb(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts it. It ends with this process, whatever that ends by. */
export async function startCluster(): Promise<Cluster> {
  // In a group of its own: on Ctrl-C it ends when its input does, after the workers.
  const child = spawn(process.execPath, [SCRIPT], {
    env: ENV,
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  const gone = once(child, 'close');
  const stop = endWithRun(async () => {
    child.stdin.end();
    await gone;
  });
  const early = gone.then(() => Promise.reject(new Error('the cluster did not start')));
  early.catch(() => undefined);
  const [line]: unknown[] = await Promise.race([once(child.stdout, 'data'), early]);
  const { address, directory, pid, postgres } = Place.parse(JSON.parse(String(line)));
  const scratch = join(directory, 'bench');
  mkdirSync(scratch);
  return {
    ...{ address, directory: scratch, serverPid: pid, postgresPid: postgres.pid },
    databaseMb: () => sizeOf(postgres),
    stop,
  };
}

async function sizeOf({ host, port, user, password }: z.infer<typeof Place>['postgres']): Promise<number> {
  const pool = new Pool({ host, port, user, password, database: 'postgres', max: 1 });
  try {
    const { rows } = await pool.query('SELECT sum(pg_database_size(oid))::float8 AS bytes FROM pg_database');
    const [row] = z.array(z.object({ bytes: z.number() })).parse(rows);
    return (row?.bytes ?? NaN) / 1e6;
  } finally {
    await pool.end();
  }
}
