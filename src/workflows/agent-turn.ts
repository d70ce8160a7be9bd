import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  continueAsNew,
  isCancellation,
  patched,
  workflowInfo,
} from '@temporalio/workflow';
import { FAILURES, PATCHES } from '../contract/names';
import type { ThinkOutput } from '../contract/think';
import type { CarriedTurn, TurnInput, TurnResult, TurnState } from '../contract/turn';
import { cancelAll } from './approvals/transitions';
import { Bell } from './bell';
import { openDoors } from './doors';
import { takeGiven } from './fork';
import { touch } from './gated';
import { Publisher } from './publish';
import { inWork, runStep, type Hands } from './run-step';
import { currentDetails } from './summary';
import { takeResults, takeThought, think } from './think';
import { makeTurn, type Turn } from './turn';

/** Decisions taken along when a turn continues as new; older ones can only meet calls that are gone. */
const CARRIED_DECISIONS = 200;

/**
 * One user request worked through to an answer. Nothing a tool does can fail it: every outcome is a result that the
 * model reads. It closes as Completed with a TurnResult, as Cancelled, or as Failed where the model failed for good.
 */
export async function agentTurn(input: TurnInput): Promise<TurnResult> {
  refuseRetryPolicy();
  const turn = makeTurn(input, {
    originalRunId: workflowInfo().originalExecutionRunId,
    isQuiet: patched(PATCHES.quietSteps),
  });
  const publisher = new Publisher(turn, (open) => currentDetails(open, turn.step));
  const work = new CancellationScope({ cancellable: true, parent: CancellationScope.current() });
  openDoors(turn);
  watchCancellation(turn, work);
  const bell = new Bell(turn);
  void CancellationScope.nonCancellable(() => publisher.run());
  if (turn.isQuiet) void CancellationScope.nonCancellable(() => bell.run());
  return CancellationScope.nonCancellable(() => {
    const hands = { publisher, bell, work, shield: CancellationScope.current() };
    return turn.isQuiet ? work.run(() => runTurn(turn, hands)) : runTurn(turn, hands);
  });
}

/** A retried workflow would run everything again under new keys. */
function refuseRetryPolicy(): void {
  if (workflowInfo().retryPolicy === undefined) return;
  throw ApplicationFailure.nonRetryable(
    'a turn takes no workflow retry policy: it would run its calls again',
    FAILURES.turn,
  );
}

function watchCancellation(turn: Turn, work: CancellationScope): void {
  CancellationScope.current().cancelRequested.catch(() => {
    cancelAll(turn.approvals, Date.now());
    touch(turn);
    work.cancel();
  });
}

async function runTurn(turn: Turn, hands: Hands): Promise<TurnResult> {
  const { publisher } = hands;
  try {
    const result = await runSteps(turn, hands);
    publisher.end(result.status);
    return result;
  } catch (error) {
    if (turn.approvals.cancelled || isCancellation(error)) return endCancelled(publisher);
    const end = error instanceof ActivityFailure ? modelFailure(error) : error;
    // Anything else (continue-as-new, a bug) goes its own way.
    if (end instanceof ApplicationFailure) publisher.end('failed');
    throw end;
  }
}

function endCancelled(publisher: Publisher): never {
  publisher.end('cancelled');
  throw new CancelledFailure('the turn was cancelled');
}

/** What ends a turn whose model failed for good. The calls of a step never throw, so no other activity can. */
function modelFailure({ cause, message }: ActivityFailure): ApplicationFailure {
  return ApplicationFailure.create({
    type: FAILURES.model,
    message: cause?.message ?? message,
    nonRetryable: true,
  });
}

async function runSteps(turn: Turn, hands: Hands): Promise<TurnResult> {
  for (;;) {
    if (mustContinue(turn)) await continueTurn(turn);
    turn.step += 1;
    const output = takeGiven(turn) ?? takeThought(turn, await nextStep(turn, hands));
    if (output.calls.length === 0) return resultOf(turn, 'answered', output.text);
    takeResults(turn, await runStep(turn, output, hands));
    if (turn.approvals.cancelled) throw new CancelledFailure('the turn was cancelled');
    if (turn.step >= turn.maxSteps) return resultOf(turn, 'step_limit', output.text);
  }
}

function nextStep(turn: Turn, hands: Hands): Promise<ThinkOutput> {
  if (turn.transcript.full) {
    throw ApplicationFailure.nonRetryable(
      'the transcript is over its limit even without old outputs',
      FAILURES.turn,
    );
  }
  return inWork(turn, hands, () => think(turn));
}

function resultOf(turn: Turn, status: Extract<TurnState, TurnResult['status']>, answer: string): TurnResult {
  return { status, answer, steps: turn.step, counts: turn.counts, usage: turn.usage };
}

/** Only between steps, with nothing open. A cancellation that came in between is not lost: it is checked first. */
function mustContinue({ step, approvals, given }: Turn): boolean {
  // A next run takes along what holds for the whole fork, never the step it begins with.
  return workflowInfo().continueAsNewSuggested && step > 0 && !approvals.cancelled && given === undefined;
}

function continueTurn(turn: Turn): Promise<never> {
  const { agent, fork } = turn;
  const carried = carry(turn);
  return continueAsNew<typeof agentTurn>({
    agent,
    prompt: '',
    carried,
    ...(fork === undefined ? {} : { fork }),
  });
}

function carry(turn: Turn): CarriedTurn {
  return {
    step: turn.step,
    transcript: [...turn.transcript.entries],
    droppedBefore: turn.transcript.droppedBefore,
    results: turn.results,
    spent: [...turn.approvals.verdicts].slice(-CARRIED_DECISIONS),
    counts: turn.counts,
    usage: turn.usage,
    signalVerdicts: turn.signalVerdicts,
  };
}
