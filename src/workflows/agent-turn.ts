import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  patched,
  workflowInfo,
} from '@temporalio/workflow';
import { FAILURES, PATCHES } from '../contract/names';
import type { TurnInput, TurnResult } from '../contract/turn';
import { cancelAll } from './approvals/transitions';
import { Bell } from './bell';
import { openDoors } from './doors';
import { touch } from './gated';
import type { Hands } from './hands';
import { Publisher } from './publish';
import { runSteps } from './steps';
import { currentDetails } from './summary';
import { makeTurn, type Turn } from './turn';

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
  return CancellationScope.nonCancellable(() => {
    const hands = { publisher, bell, work, shield: CancellationScope.current() };
    void publisher.run();
    if (turn.isQuiet) void bell.run();
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
