import type { Logger, Worker } from '@temporalio/worker';
import type { Journal } from '../activities/journal';
import { endUnused } from './run-workers';
import {
  createReach,
  openProbePort,
  type ProbeAnswer,
  type ProbePort,
  readiness,
  type Reachable,
} from '../server/probes';

/** What the probes of a worker check besides its workers. */
interface HealthParts {
  connection: Reachable;
  journal: Pick<Journal, 'fault'>;
  log: Logger;
}

/**
 * Opens `/health` and `/ready` of a worker. The process is healthy until one of its workers has failed, after which the
 * process has to end. It is ready while all workers take tasks, the journal can be written and Temporal's server answers.
 * A draining process is healthy and not ready. If the port cannot be opened, the workers are ended, because they do not
 * run yet and hold the connection.
 *
 * @throws CountersignError `config_invalid`.
 */
export async function openHealth(
  address: string,
  workers: readonly Worker[],
  { connection, journal, log }: HealthParts,
): Promise<ProbePort> {
  const reach = createReach(() => connection);
  const port = openProbePort(address, 'health', {
    '/health': () => health(workers),
    '/ready': async () => {
      const states = workers.map((worker) => worker.getState());
      const other = states.find((state) => state !== 'RUNNING');
      if (other !== undefined) return readiness(`the worker is ${other.toLowerCase()}`);
      const fault = await journal.fault();
      if (fault !== undefined) return readiness(`the journal of unsafe calls fails: ${fault}`);
      return readiness((await reach()) ? undefined : "Temporal's server does not answer");
    },
  });
  try {
    return await port;
  } catch (error) {
    await endUnused({ workers, close: () => Promise.resolve(), log });
    throw error;
  }
}

function health(workers: readonly Worker[]): ProbeAnswer {
  const failed = workers.some((worker) => worker.getState() === 'FAILED');
  return failed ? { status: 503, text: 'failed\n' } : { status: 200, text: 'ok\n' };
}
