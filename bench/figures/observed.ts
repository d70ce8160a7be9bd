import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { freePorts } from '../../lib/engine/server-args';
import { alternate, relative, type Bench, type Measurement } from '../figure';
import { OBSERVED_QUEUE } from '../subjects';
import { startProcess, type WorkerProcess } from '../worker';
import { perStep, runTurn, STEPS } from './step';

const ROUNDS = 40;

/**
 * A step of a worker that Prometheus reads once a turn and that sends its spans, beside one of a worker without both. Each
 * has a process of its own.
 */
export const observed: Measurement = {
  name: 'observed',
  isAlone: true,
  async run(bench) {
    const [port = 0] = await freePorts(1);
    const metrics = `127.0.0.1:${port}`;
    const collector = await openCollector();
    const workers: WorkerProcess[] = [];
    try {
      workers.push(await startProcess('ours', bench.address));
      workers.push(await startProcess('ours', bench.address, { metrics, traces: collector.url }));
      const [baselines, values] = await alternate(
        ROUNDS,
        () => perStep(() => runTurn(bench, 'usual')),
        () => perStep(() => Promise.all([runTurn(bench, 'usual', OBSERVED_QUEUE), read(metrics)])),
      );
      await requireCounted(bench, metrics);
      collector.requireSpans(bench);
      return [relative('step with metrics and traces on', { values, baselines, unit: 'ms' }, { most: 1.03 })];
    } finally {
      await Promise.all(workers.map((worker) => worker.kill()));
      collector.close();
    }
  },
};

/** Takes spans over HTTP and counts those of tools. */
async function openCollector() {
  let calls = 0;
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      calls += Buffer.concat(parts).toString().split('execute_tool usual').length - 1;
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    requireSpans: ({ say }: Bench) => {
      say(`${calls} spans of calls came`);
      // The last ones may still be with the worker.
      if (calls < (ROUNDS / 2) * STEPS) throw new Error(`only ${calls} spans of calls came`);
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

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
