import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NativeConnection, Worker } from '@temporalio/worker';
import {
  defineAgent,
  defineConfig,
  defineTool,
  scriptedModel,
  startWorker,
  type RunningWorker,
} from '../lib/index';
import type { Tool } from '../lib/index';

export const BASELINE_QUEUE = 'bench-baseline';
export const OUR_QUEUE = 'bench-countersign';

/** How a call of `go` tells that it runs: the moment its handler starts, by the turn's own words. */
export const started = new Map<string, () => void>();

const parameters = {
  type: 'object',
  properties: { n: { type: 'number' }, key: { type: 'string' } },
} as const;

/** A tool that answers `bytes` characters. */
function answering(name: string, bytes: number, local = false): Tool {
  const text = 'x'.repeat(bytes);
  return defineTool({
    name,
    description: `Answers ${bytes} characters.`,
    parameters,
    ...(local ? { local, timeout: '5s' } : {}),
    handler: () => text,
  });
}

const go = defineTool({
  name: 'go',
  description: 'Tells that it runs.',
  parameters,
  safety: 'dangerous',
  effect: 'idempotent',
  handler: ({ key }) => {
    started.get(String(key))?.();
    return 'gone';
  },
});

/** An agent that calls one tool in each of `steps` steps. */
function looping(name: string, tool: string, steps: number) {
  const step = { toolCalls: [{ name: tool, arguments: { n: 1 } }] };
  const model = scriptedModel([...Array.from({ length: steps }, () => step), { text: 'done' }]);
  const tools = [answering('small', 100), answering('quick', 100, true), answering('large', 8 * 1024), go];
  return defineAgent({ name, instructions: 'Do it.', model, tools, limits: { steps: steps + 1 } });
}

const waiting = defineAgent({
  name: 'waiting',
  instructions: 'Do it.',
  model: scriptedModel([
    ({ messages }) => {
      const key = messages[0]?.role === 'user' ? messages[0].content : '';
      return { toolCalls: [{ name: 'go', arguments: { key } }] };
    },
    { text: 'done' },
  ]),
  tools: [go],
});

/** Our worker: every agent that the figures use. */
export function startOurs(address: string, workflowBundle: string): Promise<RunningWorker> {
  const agents = [
    looping('small', 'small', 40),
    looping('quick', 'quick', 40),
    looping('few', 'small', 8),
    looping('large', 'large', 100),
    looping('long', 'small', 1000),
    waiting,
  ];
  const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
  const config = defineConfig({ agents, taskQueue: OUR_QUEUE, stateDir, log: { calls: false } });
  return startWorker({ config, address, workflowBundle, logLevel: 'ERROR' });
}

/** The hand-written loop's worker. */
export async function startBaseline(address: string): Promise<{ stop(): Promise<void> }> {
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    taskQueue: BASELINE_QUEUE,
    workflowsPath: require.resolve('./baseline/workflows'),
    activities: {
      model: ({ step, steps }: { step: number; steps: number }) =>
        Promise.resolve({ text: step < steps ? 'call' : 'done' }),
      tool: ({ text }: { text: string }) => {
        started.get(text)?.();
        return Promise.resolve('x'.repeat(100));
      },
    },
  });
  const running = worker.run();
  return {
    stop: async () => {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}

/** An id that was never used. */
export function freshId(what: string): string {
  return `bench-${what}-${randomUUID()}`;
}
