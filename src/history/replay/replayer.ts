import type { History } from '../decode/decode';
import type { coresdk } from '@temporalio/proto';
import type { ReplayWorkerOptions } from '@temporalio/worker';

import { commandsOf } from './commands';
import type { Observed } from './explain';
import { watchedReplayWorker, type WorkflowCreator } from './sdk-internals';

type Activation = coresdk.workflow_activation.IWorkflowActivation;
type Completion = coresdk.workflow_completion.IWorkflowActivationCompletion;

/** A run to replay. */
export interface RunToReplay {
  turn: string;
  history: History;
}

/**
 * A run that was replayed: the actions of the code and, if they do not match the history, the message of Temporal.
 */
export interface ReplayedRun<T extends RunToReplay> {
  run: T;
  observed: Observed;
  error?: Error;
}

/** Functions that are called during a replay, before the code continues. */
export interface Probe {
  /** The sandbox is entered for a workflow task: to evaluate the code for a new run, or to let the code work. */
  busy(startedId: number): void;
  /** The sandbox is left. */
  idle(): void;
}

/**
 * Replays runs one after the other with the code that the options name, and watches the actions of that code. Loads the
 * SDK's native worker. No file of the client may import this file.
 */
export async function* replayRuns<T extends RunToReplay>(
  options: ReplayWorkerOptions,
  runs: AsyncIterable<T>,
  probe?: Probe,
): AsyncGenerator<ReplayedRun<T>> {
  const watch = new ReplayWatch();
  const given: T[] = [];
  const histories = mapped(runs, (run) => {
    given.push(run);
    watch.begin();
    return { workflowId: run.turn, history: run.history };
  });
  const worker = watchedReplayWorker((creator) => watched(creator, watch, probe));
  for await (const { error } of worker.runReplayHistories(options, histories)) {
    const run = given.shift();
    if (run !== undefined) yield { run, observed: watch.observed(), error };
  }
}

async function* mapped<T, R>(items: AsyncIterable<T>, map: (item: T) => R): AsyncGenerator<R> {
  for await (const item of items) yield map(item);
}

/** Collects the actions of the code in the run that is replayed now. Runs are replayed one at a time. */
class ReplayWatch {
  private commands = new Map<number, coresdk.workflow_commands.IWorkflowCommand[]>();
  private failure: Observed['failure'];

  begin() {
    this.commands = new Map();
    this.failure = undefined;
  }

  take({ historyLength }: Activation, { successful, failed }: Completion) {
    const startedId = historyLength ?? 0;
    const commands = this.commands.get(startedId) ?? [];
    commands.push(...(successful?.commands ?? []));
    this.commands.set(startedId, commands);
    if (failed)
      this.failure = { ...failureOf(failed.failure?.message, failed.failure?.stackTrace), startedId };
  }

  observed(): Observed {
    const done = new Map([...this.commands].map(([id, commands]) => [id, commandsOf(commands)]));
    return { done, failure: this.failure };
  }
}

function failureOf(
  message: string | null | undefined,
  stack: string | null | undefined,
): { message: string; place?: string } {
  const [, place] = /\n\s+at [^\n]*?\(?(\S+:\d+:\d+)\)?/.exec(`\n${stack ?? ''}`) ?? [];
  return { message: message ?? '', place };
}

function watched(creator: WorkflowCreator, watch: ReplayWatch, probe: Probe | undefined): WorkflowCreator {
  return {
    destroy: () => creator.destroy(),
    createWorkflow: async (options) => {
      const { historyLength } = options.info;
      const workflow = await busy(historyLength, probe, () => creator.createWorkflow(options));
      const activate = workflow.activate.bind(workflow);
      workflow.activate = async (activation) => {
        const startedId = activation.historyLength ?? 0;
        const completion = await busy(startedId, probe, () => activate(activation));
        watch.take(activation, completion);
        return completion;
      };
      return workflow;
    },
  };
}

async function busy<T>(startedId: number, probe: Probe | undefined, work: () => Promise<T>): Promise<T> {
  probe?.busy(startedId);
  try {
    return await work();
  } finally {
    probe?.idle();
  }
}
