/** A worker in a process of its own, so that it can be measured and it can be killed: `ours` or `baseline`; `ours` with an address for its metrics and one for its spans. */
import { join } from 'node:path';
import { BroadcastChannel } from 'node:worker_threads';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import { z } from 'zod';
import { turnSpanIds } from '../lib/system/traces';
import { OBSERVED_QUEUE, type OurSetup, startBaseline, startOurs } from './subjects';

/** Threads of a worker: its own and the one that all workflows run in. */
const THREADS = 2;

/** What ./thread-probe.cjs tells. */
const Told = z.object({ bytes: z.number(), longestMs: z.number() });

const [, , side, address = '', metrics, traces] = process.argv;
/** More than any figure keeps waiting: what was evicted would not be measured. */
const settings = { maxCachedWorkflows: 20_000 };

function ourSettings(): OurSetup {
  return metrics === undefined ? settings : { ...settings, metrics, taskQueue: OBSERVED_QUEUE };
}

/** What each thread tells. */
function askThreads(): Promise<z.infer<typeof Told>[]> {
  const channel = new BroadcastChannel('bench-probe');
  const told: z.infer<typeof Told>[] = [];
  return new Promise((resolve) => {
    channel.onmessage = ({ data }: { data: unknown }) => {
      told.push(Told.parse(data));
      if (told.length < THREADS) return;
      channel.close();
      resolve(told);
    };
    channel.postMessage('measure');
  });
}

function sendSpans(url: string): void {
  const spanProcessors = [new BatchSpanProcessor(new OTLPTraceExporter({ url }))];
  new NodeTracerProvider({ idGenerator: turnSpanIds(), spanProcessors }).register();
}

async function main(): Promise<void> {
  if (traces !== undefined) sendSpans(traces);
  if (side === 'baseline') await startBaseline(address, settings);
  else await startOurs(address, join(__dirname, '..', 'lib', 'workflow-bundle.js'), ourSettings());
  process.on('message', () => void tell());
  process.send?.('ready');
}

async function tell(): Promise<void> {
  const threads = await askThreads();
  const held = threads.reduce((sum, { bytes }) => sum + bytes / 1e6, 0);
  const longestMs = Math.max(...threads.map((thread) => thread.longestMs));
  process.send?.({ held, rss: process.memoryUsage.rss() / 1e6, longestMs });
}

main().catch((error: unknown) => {
  console.error(error);
  process.exit(1);
});
