import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../src/client';
import { startCli, startNode, type RunningCommand } from '../cli/process';
import { lib, root } from '../support/build';
import { testAddress } from '../support/server';
import { until } from '../support/until';

/** An agent whose model does what the prompt names; `failing` writes down when it breaks something. */
const config = ({ queue, directory }: Place, faults: string): string => `
const { writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { defineAgent, defineConfig, defineTool } = require('${lib('index.js')}');
const sdk = createRequire('${join(root, 'package.json')}')('@temporalio/worker');
const threads = [];
process.on('worker', (thread) => threads.push(thread));
const tools = {
  thread: async () => {
    await Promise.all(threads.map((thread) => thread.terminate()));
  },
  stray: () => {
    void Promise.reject(new Error('nobody took this'));
  },
  deaf: () => {
    writeFileSync('${join(directory, 'deaf')}', '');
    return new Promise(() => undefined);
  },
  far: () => 'far',
};
${faults}
const model = {
  id: 'fixed',
  generate: async ({ messages }) => {
    const last = messages.at(-1);
    if (last.role === 'tool') return { text: 'done', toolCalls: [], finishReason: 'stop' };
    return { text: '', toolCalls: [{ name: last.content, arguments: '{}' }], finishReason: 'tool-calls' };
  },
};
module.exports = defineConfig({
  taskQueue: '${queue}',
  agents: [
    defineAgent({
      name: 'breaker',
      instructions: 'Break it.',
      model,
      tools: Object.entries(tools).map(([name, handler]) =>
        defineTool({
          name,
          description: 'Breaks something.',
          parameters: { type: 'object', properties: {} },
          safety: 'cautious',
          timeout: '5 minutes',
          ...(name === 'far' ? { taskQueue: '${queue}-far' } : {}),
          handler,
        }),
      ),
    }),
  ],
});
`;

const CREATE_REJECTS = `
const { create } = sdk.Worker;
sdk.Worker.create = (options) => {
  return create.call(sdk.Worker, options.taskQueue.endsWith('-far') ? options : { ...options, workflowBundle: { code: '}' } });
};
`;
const RUN_REJECTS = `
const { run } = sdk.Worker.prototype;
sdk.Worker.prototype.run = function () {
  if (!this.options.taskQueue.endsWith('-far')) return run.call(this);
  return new Promise((_, reject) =>
    setTimeout(() => {
      reject(new Error('run rejects'));
    }, 500),
  );
};
`;
const CLOSE_HANGS = 'sdk.NativeConnection.prototype.close = () => new Promise(() => undefined);';
const CLOSE_FAILS = `sdk.NativeConnection.prototype.close = () => Promise.reject(new Error('close rejects'));`;
const DRAIN_HANGS = `
const { shutdown } = sdk.Worker.prototype;
sdk.Worker.prototype.shutdown = function () {
  if (!this.options.taskQueue.endsWith('-far')) shutdown.call(this);
};
`;

/** What one test has for itself: most of the time it waits, so all run side by side. */
interface Place {
  queue: string;
  directory: string;
  file: string;
}

const places: Place[] = [];
afterAll(() => Promise.all(places.map(({ directory }) => rm(directory, { recursive: true, force: true }))));

const place = async (faults: string): Promise<Place> => {
  const directory = await mkdtemp(join(tmpdir(), 'countersign-fails-'));
  const made = { queue: `fails-${randomUUID()}`, directory, file: join(directory, 'agents.cjs') };
  places.push(made);
  await writeFile(made.file, config(made, faults));
  return made;
};

/** Starts turns whose models call these tools, one after the other's handler has started. */
const startTurns = async (at: Place, [first, ...rest]: readonly string[]): Promise<void> => {
  if (first === undefined) return;
  const client = await connect({ address: testAddress() });
  await client.start({ agent: 'breaker', prompt: first, taskQueue: at.queue });
  if (first === 'deaf')
    await until('the call that listens to nobody', () =>
      readFile(join(at.directory, 'deaf')).catch(() => undefined),
    );
  await client.close();
  await startTurns(at, rest);
};

const started = async (running: RunningCommand): Promise<RunningCommand> => {
  await Promise.race([
    until('the worker', () => running.out().includes('ends the worker')),
    running.ended.then(({ err }) => Promise.reject(new Error(err))),
  ]);
  return running;
};

describe('countersign worker ends by itself with exit code 1 after the first failure', () => {
  it.concurrent.each([
    ['its workflow thread dies', ['thread'], '', 'the worker failed: Received request after worker thread'],
    ['its thread dies while a call listens to nobody', ['deaf', 'thread'], '', '[failed]'],
    ['its workflows cannot be loaded', [], CREATE_REJECTS, 'source map'],
    ['run() of one of two workers rejects', [], RUN_REJECTS, 'the worker failed: run rejects'],
    ['the connection cannot be closed after that', ['thread'], CLOSE_FAILS, 'close rejects'],
    ['closing the connection hangs after that', ['thread'], CLOSE_HANGS, 'could not be closed within 12 s'],
    ['another worker does not drain', ['thread'], DRAIN_HANGS, 'could not be closed within 12 s'],
    ['a tool leaves a rejection to nobody', ['stray'], '', 'nobody took this'],
  ])('%s', async (_, turns, faults, told) => {
    const at = await place(faults);
    const env = { TEMPORAL_ADDRESS: testAddress(), XDG_STATE_HOME: at.directory };
    const worker = startCli(['worker', at.file], { env });
    if (turns.length > 0) await started(worker);
    await startTurns(at, turns);
    const { code, err } = await worker.ended;
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(told) });
  });
});

it.concurrent('dev ends the same way', async () => {
  const at = await place('');
  const env = { TEMPORAL_ADDRESS: testAddress(), XDG_STATE_HOME: at.directory };
  const dev = await started(startCli(['dev', at.file, '--no-web'], { env }));
  await startTurns(at, ['thread']);
  expect(await dev.ended).toMatchObject({ code: 1, err: expect.stringContaining('[failed]') });
});

it.concurrent(
  'startWorker: done rejects with what was first, all is closed, and the process can end by itself',
  async () => {
    const at = await place('');
    const program = `
    const { startWorker } = require('${lib('index.js')}');
    const config = require('${at.file}');
    startWorker({ config, address: '${testAddress()}', logLevel: 'ERROR', stateDir: '${at.directory}' })
      .then((worker) => {
        console.log('Ctrl-C ends the worker');
        return worker.done;
      })
      .catch(({ code, cause }) => console.log(code, cause.name));
  `;
    const worker = await started(startNode(['-e', program]));
    await startTurns(at, ['thread']);
    const { code, out } = await worker.ended;
    expect({ code, out }).toEqual({ code: 0, out: expect.stringContaining('failed UnexpectedError') });
  },
);
