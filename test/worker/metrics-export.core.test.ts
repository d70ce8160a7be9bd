import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server as GrpcServer, ServerCredentials } from '@grpc/grpc-js';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { createMetrics, metricsExporter, metricsFailed } from '../../src/worker/metrics';
import { freePorts } from '../../src/engine/server-args';
import { until } from '../support/until';

/** What a collector got: the bodies of its requests, as they came. */
const got: string[] = [];
const collectors: { http?: HttpServer; grpc?: GrpcServer } = {};

afterEach(async () => {
  await Runtime.instance().shutdown();
  collectors.http?.closeAllConnections();
  collectors.http?.close();
  collectors.grpc?.forceShutdown();
  got.length = 0;
});

/** Installs a runtime with its metrics at a place; it sends them every 200 ms. */
const install = (place: string): void => {
  const exporter = metricsExporter(place);
  const soon =
    'otel' in exporter ? { otel: { ...exporter.otel, metricsExportInterval: '200ms' as const } } : {};
  Runtime.install({
    logger: new DefaultLogger('WARN', () => undefined),
    telemetryOptions: {
      logging: { filter: { core: 'WARN', other: 'WARN' }, forward: {} },
      metrics: { ...exporter, ...soon },
    },
  });
};

const openHttp = async (answers: boolean): Promise<string> => {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      got.push(Buffer.concat(parts).toString('latin1'));
      if (answers) response.end();
    });
  });
  collectors.http = server;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/metrics`;
};

const openGrpc = async (): Promise<string> => {
  const server = new GrpcServer();
  collectors.grpc = server;
  const bytes = { serialize: () => Buffer.alloc(0), deserialize: (body: Buffer) => body };
  server.register(
    '/opentelemetry.proto.collector.metrics.v1.MetricsService/Export',
    (call: { request: Buffer }, answer: (error: null, value: Buffer) => void) => {
      got.push(call.request.toString('latin1'));
      answer(null, Buffer.alloc(0));
    },
    ...([bytes.serialize, bytes.deserialize, 'unary'] as const),
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, own) =>
      error === null ? resolve(own) : reject(error),
    ),
  );
  return `http://127.0.0.1:${port}`;
};

/** Counts a turn of an agent that is not registered, so many times. Returns the milliseconds that took. */
const count = (times: number): number => {
  const observe = createMetrics(Runtime.instance().metricMeter).observer({ agents: [], taskQueue: 'q' });
  const from = performance.now();
  for (let n = 0; n < times; n++)
    observe({ kind: 'turn', agent: `made-up-${n}`, outcome: 'answered', at: 0 });
  return performance.now() - from;
};

it.each([
  ['HTTP', () => openHttp(true)],
  ['gRPC', openGrpc],
])('comes to a collector over %s, under the names and labels of the page', async (_, open) => {
  install(await open());
  count(3);
  const body = await until('the metrics', () =>
    Promise.resolve(got.find((one) => one.includes('countersign_turns'))),
  );
  expect(body).toContain('unknown');
  expect(body).not.toContain('made-up');
  expect(body).not.toContain('countersign_turns_total');
});

it.each([
  ['does not answer', () => openHttp(false)],
  ['is down', async () => `http://127.0.0.1:${(await freePorts(1))[0]}/v1/metrics`],
])('a collector that %s holds up nothing', async (_, open) => {
  install(await open());
  // A second is far more than a thousand facts need, and far less than an export waits for its answer.
  expect(count(1_000)).toBeLessThan(1_000);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(count(1_000)).toBeLessThan(1_000);
  const from = performance.now();
  await Runtime.instance().shutdown();
  expect(performance.now() - from).toBeLessThan(5_000);
});

it('a port that is taken is an error with what to do', async () => {
  await openHttp(true);
  const place = `127.0.0.1:${(collectors.http?.address() as AddressInfo).port}`;
  const attempt = (): unknown => {
    try {
      return install(place);
    } catch (error) {
      return metricsFailed(place, error);
    }
  };
  expect(attempt()).toMatchObject({
    code: 'config_invalid',
    message: expect.stringMatching(/^the metrics cannot be served at .*in use/),
  });
});
