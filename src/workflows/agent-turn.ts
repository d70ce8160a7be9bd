import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  continueAsNew,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow';
import { FAILURES } from '../contract/names';
import type { ThinkOutput } from '../contract/think';
import type { CarriedTurn, TurnInput, TurnResult, TurnState } from '../contract/turn';
import { cancelAll } from './approvals/transitions';
import { openDoors } from './doors';
import { takeGiven } from './fork';
import { touch } from './gated';
import { Publisher } from './publish';
import { runStep } from './run-step';
import { currentDetails } from './summary';
import { takeResults, think } from './think';
import { makeTurn, type Turn } from './turn';

/** Decisions taken along when a turn continues as new; older ones can only meet calls that are gone. */
const CARRIED_DECISIONS = 200;

/**
 * One user request worked through to an answer. Nothing a tool does can fail it: every outcome is a result that the
 * model reads. It closes as Completed with a TurnResult, as Cancelled, or as Failed where the model failed for good.
 */
export async function agentTurn(input: TurnInput): Promise<TurnResult> {
  refuseRetryPolicy();
  const turn = makeTurn(input, workflowInfo().originalExecutionRunId);
  const publisher = new Publisher(turn, (open) => currentDetails(open, turn.step));
  const work = new CancellationScope({ cancellable: true, parent: CancellationScope.current() });
  openDoors(turn);
  watchCancellation(turn, work);
  void CancellationScope.nonCancellable(() => publisher.run());
  return CancellationScope.nonCancellable(() => runTurn(turn, publisher, work));
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

async function runTurn(turn: Turn, publisher: Publisher, work: CancellationScope): Promise<TurnResult> {
  try {
    const result = await runSteps(turn, work);
    publisher.end(result.status);
    return result;
  } catch (error) {
    if (turn.approvals.cancelled || isCancellation(error)) return endCancelled(publisher);
    if (isEnd(error)) publisher.end('failed');
    throw error;
  }
}

function endCancelled(publisher: Publisher): never {
  publisher.end('cancelled');
  throw new CancelledFailure('the turn was cancelled');
}

/** Whether an error ends the turn; anything else (continue-as-new, a bug) goes its own way. */
function isEnd(error: unknown): boolean {
  return error instanceof ApplicationFailure;
}

async function runSteps(turn: Turn, work: CancellationScope): Promise<TurnResult> {
  for (;;) {
    await continueIfSuggested(turn);
    turn.step += 1;
    const output = takeGiven(turn) ?? (await nextStep(turn, work));
    if (output.calls.length === 0) return resultOf(turn, 'answered', output.text);
    takeResults(turn, await runStep(turn, output, work));
    if (turn.approvals.cancelled) throw new CancelledFailure('the turn was cancelled');
    if (turn.step >= turn.maxSteps) return resultOf(turn, 'step_limit', output.text);
  }
}

async function nextStep(turn: Turn, work: CancellationScope): Promise<ThinkOutput> {
  if (turn.transcript.full) {
    throw ApplicationFailure.nonRetryable(
      'the transcript is over its limit even without old outputs',
      FAILURES.turn,
    );
  }
  try {
    return await work.run(() => think(turn));
  } catch (error) {
    if (isCancellation(error)) throw error;
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw ApplicationFailure.create({ type: FAILURES.model, message: why, nonRetryable: true });
  }
}

function resultOf(turn: Turn, status: Extract<TurnState, TurnResult['status']>, answer: string): TurnResult {
  return { status, answer, steps: turn.step, counts: turn.counts, usage: turn.usage };
}

/** Only between steps, with nothing open. A cancellation that came in between is not lost: it is checked first. */
async function continueIfSuggested(turn: Turn): Promise<void> {
  const { agent, step, approvals, fork, given } = turn;
  if (!workflowInfo().continueAsNewSuggested || step === 0 || approvals.cancelled) return;
  // A next run takes along what holds for the whole fork, never the step it begins with.
  if (given !== undefined) return;
  const carried = carry(turn);
  await continueAsNew<typeof agentTurn>({
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
