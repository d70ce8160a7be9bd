import type { coresdk } from '@temporalio/proto';
import { Worker, type ReplayWorkerOptions } from '@temporalio/worker';
import type { WorkflowCreator } from '@temporalio/worker/lib/workflow/interface';
import type { WorkflowBundleWithSourceMapAndFilename } from '@temporalio/worker/lib/workflow/workflow-worker-thread/input';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared';
import { defined } from '../defined';
import type { History } from '../read-histories';
import { deedsOfCommands, type Deed } from './deeds';
import type { Observed } from './explain';

type Activation = coresdk.workflow_activation.IWorkflowActivation;
type Completion = coresdk.workflow_completion.IWorkflowActivationCompletion;
type Command = coresdk.workflow_commands.IWorkflowCommand;

/** A run to replay. */
export interface RunToReplay {
  turn: string;
  history: History;
}

/** A run that was replayed: what the code did, and what Temporal says where it does not match. */
export interface ReplayedRun<T extends RunToReplay> {
  run: T;
  observed: Observed;
  error?: Error;
}

/** Is told how a replay gets on, before the code goes on. */
export interface Probe {
  /** The code is loaded, under the name of this file, with this source map. */
  loaded?(bundle: Pick<WorkflowBundleWithSourceMapAndFilename, 'filename' | 'sourceMap'>): void;
  /** The code is about to work on a workflow task, by the id of its started event. */
  entering?(startedId: number): void;
  /** The sandbox is entered for a workflow task: to evaluate the code for a new run, or to let it work. */
  busy?(startedId: number): void;
  /** The sandbox is left. */
  idle?(): void;
}

/**
 * Replays runs one after the other with the code that the options name, and watches what the code does. Loads the
 * SDK's native worker; nothing of the client may import this.
 */
export async function* replayRuns<T extends RunToReplay>(
  options: ReplayWorkerOptions,
  runs: AsyncIterable<T>,
  probe?: Probe,
): AsyncGenerator<ReplayedRun<T>> {
  const watch = new Watch();
  const given: T[] = [];
  const histories = mapped(runs, (run) => {
    given.push(run);
    watch.begin();
    return { workflowId: run.turn, history: run.history };
  });
  for await (const { error } of watchedWorker(watch, probe).runReplayHistories(options, histories)) {
    const run = given.shift();
    if (run !== undefined)
      yield { run, observed: watch.observed(), ...(error === undefined ? {} : { error }) };
  }
}

async function* mapped<T, R>(items: AsyncIterable<T>, map: (item: T) => R): AsyncGenerator<R> {
  for await (const item of items) yield map(item);
}

/** What the code does in the run that is replayed now: they are replayed one at a time. */
class Watch {
  private commands = new Map<number, Command[]>();
  private failure: Observed['failure'];

  begin(): void {
    this.commands = new Map();
    this.failure = undefined;
  }

  take({ historyLength }: Activation, { successful, failed }: Completion): void {
    const startedId = historyLength ?? 0;
    const commands = this.commands.get(startedId) ?? [];
    commands.push(...(successful?.commands ?? []));
    this.commands.set(startedId, commands);
    if (failed)
      this.failure = { ...failureOf(failed.failure?.message, failed.failure?.stackTrace), startedId };
  }

  observed(): Observed {
    const done = new Map(
      [...this.commands].map(([id, commands]): [number, Deed[]] => [id, deedsOfCommands(commands)]),
    );
    return { done, ...(this.failure === undefined ? {} : { failure: this.failure }) };
  }
}

function failureOf(
  message: string | null | undefined,
  stack: string | null | undefined,
): { message: string; place?: string } {
  const [, place] = /\n\s+at [^\n]*?\(?(\S+:\d+:\d+)\)?/.exec(`\n${stack ?? ''}`) ?? [];
  return { message: message ?? '', ...defined({ place }) };
}

/** The SDK's replay worker, watched, and without what costs it two thirds of its speed and serves only live workers. */
function watchedWorker(watch: Watch, probe: Probe | undefined): typeof Worker {
  return class extends Worker {
    protected static override async createWorkflowCreator(
      ...[bundle, options, logger]: Parameters<typeof Worker.createWorkflowCreator>
    ): Promise<WorkflowCreator> {
      // The SDK sets 49 days, and each call into the sandbox would start a thread to keep them.
      Object.assign(options, { isolateExecutionTimeoutMs: undefined });
      const creator = await super.createWorkflowCreator(bundle, options, logger);
      withoutPromiseStacks();
      probe?.loaded?.(bundle);
      return watched(creator, watch, probe);
    }
  };
}

/** The stack of each promise is kept for the query `__stack_trace`, which nobody asks of a replay. */
function withoutPromiseStacks(): void {
  const { prepareStackTrace } = Error;
  globalHandlers.uninstall();
  // The stacks of errors still name the source.
  if (prepareStackTrace !== undefined) Error.prepareStackTrace = prepareStackTrace;
}

function watched(creator: WorkflowCreator, watch: Watch, probe: Probe | undefined): WorkflowCreator {
  return {
    destroy: () => creator.destroy(),
    createWorkflow: async (options) => {
      const { historyLength } = options.info;
      const workflow = await busy(historyLength, probe, () => creator.createWorkflow(options));
      const activate = workflow.activate.bind(workflow);
      workflow.activate = async (activation) => {
        const startedId = activation.historyLength ?? 0;
        probe?.entering?.(startedId);
        const completion = await busy(startedId, probe, () => activate(activation));
        watch.take(activation, completion);
        return completion;
      };
      return workflow;
    },
  };
}

async function busy<T>(startedId: number, probe: Probe | undefined, work: () => Promise<T>): Promise<T> {
  probe?.busy?.(startedId);
  try {
    return await work();
  } finally {
    probe?.idle?.();
  }
}
