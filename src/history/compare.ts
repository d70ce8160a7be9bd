import canonicalize from 'canonicalize';
import type { JsonObject } from '../contract/json';
import type { ResultKind } from '../contract/result';
import { stepOfCall } from '../contract/names';
import type { TurnEvent } from './events';
import { viewOf, type CallView, type StepView, type TurnView } from './view';

/** How a call ended. `open`: it waits, runs, or is in doubt. */
export type PathOutcome = ResultKind | 'open';

/** One call on a path. */
export interface PathCall {
  callId: string;
  tool: string;
  /** The arguments that ran, or were to run. */
  arguments: JsonObject;
  outcome: PathOutcome;
  /** The result as the model read it. */
  content?: string;
}

/** One step on a path. */
export interface PathStep {
  text: string;
  model: string;
  calls: PathCall[];
}

/** The end of a path. `status` is the status of its turn. */
export interface PathEnd {
  status: TurnView['status'];
  answer?: string;
  error?: string;
}

/** One step of both paths. A side is absent if its path has no such step. */
export interface ComparedStep {
  step: number;
  left?: PathStep;
  right?: PathStep;
  /**
   * The model wrote the same, and its calls ended in the same way. A call that would have run counts as a call that
   * ran.
   */
  same: boolean;
}

/** Two paths from the same point: the path of a turn, and the path of its fork. */
export interface Comparison {
  /** The turn that was forked. It is shown on the left. */
  of: string;
  /** The fork. It is shown on the right. */
  fork: string;
  /** The call or step at which the two begin to differ. */
  from: string;
  world: string;
  steps: ComparedStep[];
  end: { left: PathEnd; right: PathEnd; same: boolean };
}

/** Compares a turn with its fork, from the step of the fork on. Undefined if the second turn was not forked. */
export function compareFork(
  original: readonly TurnEvent[],
  fork: readonly TurnEvent[],
): Comparison | undefined {
  const [left, right] = [viewOf(original), viewOf(fork)];
  if (right.fork === undefined) return undefined;
  const { from, world, of } = right.fork;
  const first = stepOfCall(from);
  const numbers = [left, right].flatMap(({ steps }) => steps.map(({ step }) => step));
  const last = Math.max(first, ...numbers);
  const steps = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  return {
    of,
    fork: right.turn,
    from,
    world,
    steps: steps.map((step) => compareStep(step, pathStep(left, step), pathStep(right, step))),
    end: compareEnd(pathEnd(left), pathEnd(right)),
  };
}

function compareStep(step: number, left: PathStep | undefined, right: PathStep | undefined): ComparedStep {
  return { step, left, right, same: isSame(left, right) };
}

function isSame(left: PathStep | undefined, right: PathStep | undefined) {
  if (left === undefined || right === undefined || left.text !== right.text) return false;
  return canonicalize(left.calls.map(behaviour)) === canonicalize(right.calls.map(behaviour));
}

function behaviour({ tool, arguments: args, outcome }: PathCall) {
  return { tool, args, outcome: outcome === 'would_run' || outcome === 'would_ask' ? 'done' : outcome };
}

function pathStep({ steps, calls }: TurnView, step: number): PathStep | undefined {
  const found: StepView | undefined = steps.find((one) => one.step === step);
  if (found === undefined) return undefined;
  const own = calls.filter((call) => call.step === step).map(pathCall);
  return { text: found.text, model: found.model, calls: own };
}

function pathCall({ callId, tool, effective, result, outcome }: CallView): PathCall {
  return { callId, tool, arguments: effective, outcome: outcome ?? 'open', content: result?.content };
}

function pathEnd({ status, answer, error }: TurnView): PathEnd {
  return { status, answer, error: error?.message };
}

function compareEnd(left: PathEnd, right: PathEnd) {
  return { left, right, same: left.status === right.status && left.answer === right.answer };
}
