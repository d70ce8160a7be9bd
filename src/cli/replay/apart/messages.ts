import type { WorkflowBundleOption } from '@temporalio/worker';
import type { Observed } from '../../../history/replay/explain';
import type { PassedOn } from './passed-on';

/** With which code a process of its own replays, and how long that may take. */
export interface Setup {
  workflowBundle: WorkflowBundleOption;
  /** How long the code may work on one workflow task, in milliseconds. */
  taskTimeoutMs: number;
  /** Keys of the workers; without, those of the environment. */
  keyFile?: string;
}

/** A run to replay. */
export interface Ask {
  turn: string;
  history: PassedOn;
}

/** What came of one run, or why nothing can be replayed at all. `isLast`: the process can replay no other. */
export type Answer = { observed: Observed; error?: Error; isLast?: boolean } | { broken: string };

/** What the thread is given. */
export interface ThreadData {
  setup: Setup;
  /** Of a `Beat`. */
  beat: SharedArrayBuffer;
}

/** The answer to a run that the process does not survive. */
export function stuckAnswer(stuck: NonNullable<Observed['stuck']>): Answer {
  return { observed: { done: new Map(), stuck }, isLast: true };
}
