import { randomUUID } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NativeConnection, Worker } from '@temporalio/worker';
import {
  type AgentOptions,
  defineAgent,
  defineConfig,
  defineTool,
  type RunningWorker,
  scriptedModel,
  startWorker,
  type Tool,
} from '../lib/index';
import type { StreamPlace } from '../lib/client';
import type { Message } from './baseline/workflows';

export const BASELINE_QUEUE = 'bench-baseline';
export const OUR_QUEUE = 'bench-countersign';
/** Of our worker whose metrics are on. */
export const OBSERVED_QUEUE = 'bench-observed';

/** How a call of `go` tells that it runs: the moment its handler starts, by the turn's own words. */
export const started = new Map<string, () => void>();

/** What a tool answers in the steps that are timed. */
const KIB = 1024;

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
    outputLimit: Math.max(bytes, 64 * KIB),
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
function looping(
  name: string,
  tool: string,
  steps: number,
  durability: Pick<AgentOptions, 'durability' | 'commitEvery'> = {},
) {
  const step = { toolCalls: [{ name: tool, arguments: { n: 1 } }] };
  const model = scriptedModel([...Array.from({ length: steps }, () => step), { text: 'done' }]);
  const tools = [
    answering('small', 100),
    answering('usual', KIB),
    answering('quick', KIB, true),
    answering('large', 8 * KIB),
    answering('huge', KIB * KIB),
    go,
  ];
  // Its steps are all the same, and would be ended as going round in circles.
  const limits = { steps: steps + 1, repeats: false as const };
  return defineAgent({ name, instructions: 'Do it.', model, tools, limits, ...durability });
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

/** How a worker is set up; the SDK's own defaults otherwise. */
export interface WorkerSetup {
  maxCachedWorkflows?: number;
}

/** How one of ours is set up. */
export interface OurSetup extends WorkerSetup {
  /** @default OUR_QUEUE */
  taskQueue?: string;
  /** Where Prometheus reads. @default nowhere */
  metrics?: string;
  /** The web inbox that hears from it. @default none */
  stream?: StreamPlace;
}

/** Our worker: every agent that the figures use. */
export function startOurs(
  address: string,
  workflowBundle: string,
  { taskQueue = OUR_QUEUE, ...setup }: OurSetup = {},
): Promise<RunningWorker> {
  const agents = [
    looping('small', 'small', 40),
    looping('usual', 'usual', 40),
    looping('quick', 'quick', 40),
    looping('few', 'usual', 8),
    looping('large', 'large', 100),
    looping('long', 'small', 1000),
    looping('huge', 'huge', 40),
    looping('hundred', 'usual', 100),
    looping('gate', 'usual', 100, { durability: 'gate' }),
    looping('gate-each', 'usual', 100, { durability: 'gate', commitEvery: 0 }),
    looping('gate-large', 'large', 100, { durability: 'gate' }),
    waiting,
  ];
  const stateDir = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
  const config = defineConfig({ agents, taskQueue, stateDir, log: { calls: false } });
  return startWorker({ config, address, workflowBundle, logLevel: 'ERROR', ...setup });
}

/** The worker of what is written by hand. */
export async function startBaseline(
  address: string,
  setup: WorkerSetup = {},
): Promise<{ stop(): Promise<void> }> {
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    ...setup,
    connection,
    taskQueue: BASELINE_QUEUE,
    workflowsPath: require.resolve('./baseline/workflows'),
    activities: {
      model: ({ messages, steps }: { messages: readonly Message[]; steps: number }) =>
        Promise.resolve(replyTo(messages, steps)),
      tool: () => Promise.resolve('x'.repeat(KIB)),
      bareModel: ({ step, steps }: { step: number; steps: number }) =>
        Promise.resolve({ text: step < steps ? 'call' : 'done' }),
      bareTool: ({ text }: { text: string }) => {
        started.get(text)?.();
        return Promise.resolve('x'.repeat(KIB));
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

/** What our model says, too: a call in each step, then the answer. */
function replyTo(messages: readonly Message[], steps: number): Message {
  const step = messages.filter(({ role }) => role === 'tool').length + 1;
  if (step > steps) return { role: 'assistant', content: 'done', toolCalls: [] };
  return {
    role: 'assistant',
    content: '',
    toolCalls: [{ id: `call_${step}`, name: 'usual', arguments: { n: 1 } }],
  };
}

/** An id that was never used. */
export function freshId(what: string): string {
  return `bench-${what}-${randomUUID()}`;
}
