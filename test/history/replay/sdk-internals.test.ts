import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporal } from '@temporalio/proto';
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { hasRuntime, historyOfBytes, watchedReplayWorker } from '../../../src/history/replay/sdk-internals';
import { ensureBuilt, lib } from '../../support/build';

/*
 * A release of the SDK that changes what we use without its leave fails here, and says which part.
 */

const { History, HistoryEvent } = temporal.api.history.v1;

const recorded = historyFromJSON(
  JSON.parse(readFileSync(join(__dirname, '..', '..', 'histories', 'plain.json'), 'utf8')),
);

test('Runtime._instance says whether there is a runtime', () => {
  expect(hasRuntime()).toBe(false);
  Runtime.install({ logger: new DefaultLogger('ERROR') });
  expect(hasRuntime()).toBe(true);
});

test('Worker.createWorkflowCreator makes the creator of a replay, with the options that we change', async () => {
  ensureBuilt();
  const made = jest.spyOn(Worker, 'createWorkflowCreator' as never);
  const seen: string[] = [];
  const worker = watchedReplayWorker((creator, { filename }) => {
    seen.push(filename);
    return {
      destroy: () => creator.destroy(),
      createWorkflow: async (options) => {
        seen.push(typeof options.info.historyLength);
        const workflow = await creator.createWorkflow(options);
        seen.push(typeof workflow.activate);
        return workflow;
      },
    };
  });
  const options = { workflowBundle: { codePath: lib('workflow-bundle.js') } };
  await worker.runReplayHistory(options, recorded);
  expect(seen).toEqual([expect.stringContaining('workflow-bundle'), 'number', 'function']);
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
