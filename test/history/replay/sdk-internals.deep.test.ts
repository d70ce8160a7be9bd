import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import { temporal } from '@temporalio/proto';
import { MockActivityEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import type { WorkflowCreator } from '@temporalio/worker/lib/workflow/interface';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import {
  historyOfBytes,
  threadSharingWorker,
  watchedReplayWorker,
  withinContext,
} from '../../../src/history/replay/sdk-internals';
import { ensureBuilt, lib, root } from '../../support/build';

/*
 * A release of the SDK that changes what we use without its leave fails here, and says which part.
 */

const { History, HistoryEvent } = temporal.api.history.v1;

const recorded = historyFromJSON(
  JSON.parse(readFileSync(join(__dirname, '..', '..', 'histories', 'plain.json'), 'utf8')),
);

// In a process of its own: another test file of this one may have installed a runtime.
test('Runtime._instance says whether there is a runtime', () => {
  ensureBuilt();
  const script = `
    const { hasRuntime } = require('./lib/history/replay/sdk-internals.js');
    const { DefaultLogger, Runtime } = require('@temporalio/worker');
    const before = hasRuntime();
    Runtime.install({ logger: new DefaultLogger('ERROR') });
    console.log(before, hasRuntime());
  `;
  expect(execFileSync(process.execPath, ['-e', script], { cwd: root, encoding: 'utf8' })).toBe(
    'false true\n',
  );
});

test('new Context takes info, signal and heartbeat at their positions, and is the current one', async () => {
  const beats: unknown[] = [];
  const environment = new MockActivityEnvironment({ activityId: 'outer' });
  await environment.run(async () => {
    const outer = Context.current();
    const { signal } = new AbortController();
    const inner = {
      info: { ...outer.info, activityId: 'inner' },
      signal,
      heartbeat: (of: unknown) => beats.push(of),
    };
    await withinContext(outer, inner, async () => {
      const context = Context.current();
      expect(context.info.activityId).toBe('inner');
      expect(context.cancellationSignal).toBe(signal);
      expect(context.log).toBe(outer.log);
      context.heartbeat('news');
    });
  });
  expect(beats).toEqual(['news']);
});

describe('workers that are created by one class', () => {
  /** Worker.create asks its class for a creator; here the test does. */
  const makerOf = (sharing: typeof Worker) =>
    class extends sharing {
      static readonly make = (code: string): Promise<WorkflowCreator> =>
        this.createWorkflowCreator({ code } as never, {} as never, {} as never);
    };
  const ended: string[] = [];
  let threads: jest.SpyInstance;
  beforeAll(() => {
    threads = jest.spyOn(Worker, 'createWorkflowCreator' as never);
    threads.mockImplementation(async ({ code }: { code: string }) => ({
      createWorkflow: async () => code,
      destroy: async () => void ended.push(code),
    }));
  });
  afterAll(() => threads.mockRestore());

  test('share the threads of one code, which end with the last of them', async () => {
    const { make } = makerOf(threadSharingWorker());
    const [first, second, other] = await Promise.all([make('a'), make('a'), make('b')]);
    expect(threads.mock.calls.map(([{ code }]) => code)).toEqual(['a', 'b']);
    expect(await second?.createWorkflow({} as never)).toBe('a');
    await first?.destroy();
    expect(ended).toEqual([]);
    await second?.destroy();
    await other?.destroy();
    expect(ended).toEqual(['a', 'b']);
  });

  test('start threads again after the last one has ended, and share none with those of another class', async () => {
    threads.mockClear();
    const { make } = makerOf(threadSharingWorker());
    await (await make('a')).destroy();
    await make('a');
    await makerOf(threadSharingWorker()).make('a');
    expect(threads).toHaveBeenCalledTimes(3);
  });
});

test('Worker.createWorkflowCreator makes the creator of a replay, with the options that we change', async () => {
  ensureBuilt();
  const made = jest.spyOn(Worker, 'createWorkflowCreator' as never);
  const seen: string[] = [];
  const worker = watchedReplayWorker((creator) => ({
    destroy: () => creator.destroy(),
    createWorkflow: async (options) => {
      seen.push(typeof options.info.historyLength);
      const workflow = await creator.createWorkflow(options);
      seen.push(typeof workflow.activate);
      return workflow;
    },
  }));
  const options = { workflowBundle: { codePath: lib('workflow-bundle.js') } };
  await worker.runReplayHistory(options, recorded);
  expect(seen).toEqual(['number', 'function']);
  const [, compiled] = made.mock.calls[0] ?? [];
  expect(compiled).toHaveProperty('isolateExecutionTimeoutMs', undefined);
});

test('the SDK sets the time limit of the sandbox under the name that we take away', async () => {
  const made = jest.spyOn(Worker, 'createWorkflowCreator' as never);
  await Worker.runReplayHistory({ workflowBundle: { codePath: lib('workflow-bundle.js') } }, recorded);
  expect(made.mock.calls.at(-1)?.[1]).toHaveProperty('isolateExecutionTimeoutMs', expect.any(Number));
});

test('globalHandlers keeps the stacks of promises until it is uninstalled', () => {
  expect(globalHandlers).toMatchObject({ install: expect.any(Function), uninstall: expect.any(Function) });
});

test('protobuf writes the bytes of $unknowns as they are', () => {
  const [first = {}, ...rest] = recorded.events ?? [];
  const bytes = [HistoryEvent.encode(first).finish(), History.encode({ events: rest }).finish()] as const;
  const history = historyOfBytes(...bytes);
  expect(history.events).toHaveLength(1);
  expect(Buffer.from(History.encode(history).finish()).equals(History.encode(recorded).finish())).toBe(true);
});
