import { workflowInfo } from '@temporalio/workflow';
import type { TurnCounts } from '../contract/turn';
import { movedStep, whyHeld } from '../lifecycle/move';
import { isInputTooLarge } from './continue-turn';
import { continueOnCurrentBuild, resetRun } from './current-build';
import type { MessageQueue } from './message-queue';
import { countCall } from './counts';
import type { OpenStep, StepHook, Turn, TurnWorkflow } from './turn-state';

/** A turn that waits for people goes on in a run on the current build, if somebody asks for it. */
export const MOVES: StepHook = {
  during: (turn, { queue }, step) => (turn.isMoving ? () => moveTurn(turn, queue, step) : undefined),
  after(turn) {
    turn.isMoving = false;
    return undefined;
  },
};

/**
 * Continues in a run on the current build, if everything open still waits for people once all messages are judged. It
 * waits for messages only while no call runs, because a call that ends would not wake the turn here.
 */
async function moveTurn(turn: Turn, queue: MessageQueue, { reply, nextInput }: OpenStep) {
  turn.isMoving = false;
  const isHeld = () => whyHeld(turn.approvals, resetRun() !== undefined) !== undefined;
  if (isHeld()) return;
  await queue.emptied();
  if (isHeld()) return;
  const moved = movedStep(turn.approvals, reply, workflowInfo().taskQueue);
  const input = nextInput({ step: turn.step - 1, counts: countsOf(turn), moved });
  // A turn whose input is too large stays on its build.
  if (isInputTooLarge(input)) turn.tooLargeIn = turn.step;
  else await continueOnCurrentBuild<TurnWorkflow>(input);
}

/** The counts of the turn, with the calls of this run that have ended. A call is counted in the run in which it ran. */
function countsOf(turn: Turn): TurnCounts {
  const counts = { ...turn.counts };
  for (const state of turn.approvals.calls.values())
    if (state.phase === 'done') countCall({ ...turn, counts }, { call: state.call, result: state.result });
  return counts;
}
