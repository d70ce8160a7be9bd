import { asyncLocalStorage, Context, type Info } from '@temporalio/activity';
import { temporal } from '@temporalio/proto';
import { Runtime, Worker } from '@temporalio/worker';
import type { WorkflowCreator } from '@temporalio/worker/lib/workflow/interface';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared';

/*
 * What a process uses of the SDK though the SDK does not offer it. A new release of the SDK may change it; the test of
 * this file fails then. Therefore package.json asks for one minor version. For workflows see workflows/sdk-internals.ts.
 */

export type { WorkflowCreator };

/** Makes a workflow creator that watches another workflow creator. */
type Watcher = (creator: WorkflowCreator) => WorkflowCreator;

/**
 * The SDK's replay worker, which we watch. It leaves out a part that serves only live workers and that takes two thirds
 * of the time.
 */
export function watchedReplayWorker(watch: Watcher): typeof Worker {
  return class extends Worker {
    protected static override async createWorkflowCreator(
      ...[bundle, options, logger]: Parameters<typeof Worker.createWorkflowCreator>
    ): Promise<WorkflowCreator> {
      // The SDK sets 49 days. With any such limit, each call into the sandbox would start a thread to enforce it.
      Object.assign(options, { isolateExecutionTimeoutMs: undefined });
      const creator = await super.createWorkflowCreator(bundle, options, logger);
      withoutPromiseStacks();
      return watch(creator);
    }
  };
}

/**
 * The SDK's worker. All workers that are created from the same code share the threads of the first of them, and the
 * threads end with the last of them. A thread takes 0.6 s of a core to start, and 40 MB.
 */
export function threadSharingWorker(): typeof Worker {
  const threads = new Map<string, { made: Promise<WorkflowCreator>; users: number }>();
  return class extends Worker {
    protected static override async createWorkflowCreator(
      ...[bundle, options, logger]: Parameters<typeof Worker.createWorkflowCreator>
    ): Promise<WorkflowCreator> {
      const { code } = bundle;
      const shared = threads.get(code) ?? {
        made: super.createWorkflowCreator(bundle, options, logger),
        users: 0,
      };
      threads.set(code, shared);
      shared.users += 1;
      const creator = await shared.made;
      return {
        createWorkflow: (workflow) => creator.createWorkflow(workflow),
        destroy: async () => {
          shared.users -= 1;
          if (shared.users > 0) return;
          threads.delete(code);
          await creator.destroy();
        },
      };
    }
  };
}

/**
 * Stops the SDK from keeping the stack of each promise. It keeps them for the query `__stack_trace`, which nobody asks
 * of a replay.
 */
function withoutPromiseStacks() {
  const { prepareStackTrace } = Error;
  globalHandlers.uninstall();
  // The stacks of errors still name the source.
  if (prepareStackTrace !== undefined) Error.prepareStackTrace = prepareStackTrace;
}

/** Whether this process has a runtime of the SDK. A runtime can be installed only once. */
export function hasRuntime(): boolean {
  return Runtime._instance !== undefined;
}

/** The values of an activity's context that differ from the context around it. */
interface Inner {
  info: Info;
  signal: AbortSignal;
  heartbeat: (details: unknown) => void;
}

/**
 * Reads two values from the outer context: the reason of a cancellation is known only later, and only a worker has a
 * client.
 */
class InnerContext extends Context {
  outer: Context | undefined;

  override get cancellationDetails() {
    return this.outer?.cancellationDetails;
  }

  override get client() {
    return this.outer?.client ?? super.client;
  }
}

/** Runs a function in a context of its own within an activity. The SDK's constructor takes its parts by position. */
export function withinContext<T>(
  outer: Context,
  { info, signal, heartbeat }: Inner,
  work: () => Promise<T>,
): Promise<T> {
  const { cancelled, log, metricMeter } = outer;
  const inner = new InnerContext(info, cancelled, signal, heartbeat, undefined, log, metricMeter, {});
  inner.outer = outer;
  return asyncLocalStorage.run(inner, work);
}

const { History, HistoryEvent } = temporal.api.history.v1;

/**
 * A history for the SDK, which looks at the first event and encodes all of them. Decoding the other events would take a
 * third as long as replaying them. So they stay in bytes: protobuf writes fields that it does not know as they came.
 */
export function historyOfBytes(first: Uint8Array, rest: Uint8Array): temporal.api.history.v1.IHistory {
  return Object.assign(History.create({ events: [HistoryEvent.decode(first)] }), { $unknowns: [rest] });
}
