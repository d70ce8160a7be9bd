import { LIMITS } from '../contract/limits';
import { originOf, type ForkOrigin } from '../contract/fork';
import type { Order } from '../contract/tool';
import type { ResultRef, ThinkOutput, Usage } from '../contract/think';
import type { TurnCounts, TurnInput } from '../contract/turn';
import { makeApprovals } from './approvals/state';
import type { Gated } from './gated';
import { Transcript } from './transcript';

/** Everything one run of a turn knows. Message handlers and the main loop change it; `touch` tells who waits. */
export interface Turn extends Gated {
  readonly agent: string;
  readonly prompt: string;
  readonly originalRunId: string;
  /** Whether a step publishes for itself. Turns of earlier releases have a second waiter for it, and keep it. */
  readonly isQuiet: boolean;
  /** Only in a fork. */
  readonly fork?: ForkOrigin;
  /** The step that a fork begins with, until it is taken. */
  given?: ThinkOutput;
  step: number;
  maxSteps: number;
  order: Order;
  transcript: Transcript;
  /** Results of the last step, for the next `think`. */
  results: ResultRef[];
  counts: TurnCounts;
  usage: Usage;
}

/** A turn at its start, or where the run before left it. */
export function makeTurn(input: TurnInput, run: Pick<Turn, 'originalRunId' | 'isQuiet'>): Turn {
  const { carried } = input;
  return {
    agent: input.agent,
    prompt: input.prompt,
    ...run,
    ...forkOf(input),
    step: carried?.step ?? 0,
    maxSteps: LIMITS.stepsPerTurn,
    order: 'lane',
    stepKey: '',
    approvals: makeApprovals(carried?.spent),
    transcript: new Transcript(carried?.transcript, carried?.droppedBefore),
    results: carried?.results ?? [],
    counts: carried?.counts ?? noCounts(),
    usage: carried?.usage ?? {},
    signalVerdicts: carried?.signalVerdicts ?? [],
    signalCount: 0,
    revision: 0,
  };
}

function forkOf({ fork }: TurnInput): Pick<Turn, 'fork' | 'given'> {
  if (fork === undefined) return {};
  const { given } = fork;
  return { fork: originOf(fork), ...(given === undefined ? {} : { given }) };
}

/** Counts of a turn that has done nothing yet. */
function noCounts(): TurnCounts {
  return { calls: 0, failed: 0, requests: 0, denied: 0, modified: 0, expired: 0, inDoubt: 0 };
}
