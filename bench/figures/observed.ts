import { freePorts } from '../../lib/engine/server-args';
import { alternate, relative, type Bench, type Measurement } from '../figure';
import { OBSERVED_QUEUE } from '../subjects';
import { startProcess, type WorkerProcess } from '../worker';
import { perStep, runTurn, STEPS } from './step';

const ROUNDS = 40;

/** A step of a worker that Prometheus reads once a turn, beside one of a worker without metrics. Each has a process of its own. */
export const observed: Measurement = {
  name: 'observed',
  isAlone: true,
  async run(bench) {
    const [port = 0] = await freePorts(1);
    const place = `127.0.0.1:${port}`;
    const workers: WorkerProcess[] = [];
    try {
      workers.push(await startProcess('ours', bench.address));
      workers.push(await startProcess('ours', bench.address, place));
      const [baselines, values] = await alternate(
        ROUNDS,
        () => perStep(() => runTurn(bench, 'usual')),
        () => perStep(() => Promise.all([runTurn(bench, 'usual', OBSERVED_QUEUE), read(place)])),
      );
      await requireCounted(bench, place);
      return [relative('step with metrics on', { values, baselines, unit: 'ms' }, { most: 1.03 })];
    } finally {
      await Promise.all(workers.map((worker) => worker.kill()));
    }
  },
};

/** What Prometheus reads. */
async function read(place: string): Promise<string> {
  const response = await fetch(`http://${place}/metrics`);
  return response.text();
}

/** A worker that counts nothing would cost nothing. */
async function requireCounted({ say }: Bench, place: string): Promise<void> {
  const [, calls = '0'] = /^countersign_calls_total{.*tool="usual".*} (\d+)$/m.exec(await read(place)) ?? [];
  say(`${calls} calls were counted`);
  if (Number(calls) < ROUNDS * STEPS) throw new Error(`only ${calls} calls were counted`);
}
