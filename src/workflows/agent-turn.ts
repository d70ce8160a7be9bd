import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  continueAsNew,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow';
import type { RawValue } from '@temporalio/common';
import { defined } from '../contract/defined';
import { FAILURES } from '../contract/names';
import type { ThinkOutput } from '../contract/think';
import type { CarriedTurn, TurnInput, TurnResult, TurnState } from '../contract/turn';
import { cancelAll } from './approvals/transitions';
import { isTurnInput } from '../contract/payloads';
import { whyUnreadable } from '../contract/unreadable';
import { ChangeNotifier } from './changes';
import { setHandlers } from './handlers';
import { MessageQueue } from './message-queue';
import { carriedDecisions, markChanged } from './approvals/state';
import { makeTurn, type Turn, type TurnRuntime } from './turn';
import { Publisher, publishScheduled } from './publish';
import { currentDetails } from './summary';
import { modelFailure } from './outcome';
import { Step, applySeedStep } from './step';
import { hasRemote, keepSchemas, prepareRemote } from './call-activities';
import { appendResults, applyThink, think } from './think';

/**
 * Works through one user request until the model answers. No tool can fail it: every outcome is a result that the model
 * reads. It closes as Completed with a TurnResult, as Cancelled, or as Failed where the model failed for good.
 */
export async function agentTurn(input: TurnInput): Promise<TurnResult> {
  refuseRetryPolicy();
  refuseOtherInput(input);
  publishScheduled(input);
  const turn = makeTurn(input, workflowInfo().originalExecutionRunId);
  const publisher = new Publisher(turn, (open) => currentDetails(open, turn.step));
  const work = new CancellationScope({ cancellable: true, parent: CancellationScope.current() });
  const queue = new MessageQueue();
  setHandlers(turn, queue);
  watchCancellation(turn, work);
  const changes = new ChangeNotifier(turn, publisher);
  return CancellationScope.nonCancellable(() => {
    const runtime = { publisher, changes, queue, nonCancellable: CancellationScope.current() };
    void changes.run();
    // The scope is entered once for the whole turn: entering it for each activity would cost two promises.
    return work.run(() => runTurn(turn, runtime));
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

/**
 * Anybody may start a workflow with any input. Where the input is wrong, the workflow fails at once instead of failing its
 * tasks again and again. Where only this worker cannot read it, the workflow waits: a worker that was started without its
 * keys must not end a turn.
 */
function refuseOtherInput(input: unknown): void {
  const unreadable = whyUnreadable(input);
  if (unreadable?.waits === true) throw new Error(`the input of this turn cannot be read: ${unreadable.why}`);
  if (unreadable === undefined && isTurnInput(input)) return;
  throw ApplicationFailure.nonRetryable(
    'this is not the input of a turn; start turns with the client, or with { agent, prompt }',
    FAILURES.turn,
  );
}

function watchCancellation(turn: Turn, work: CancellationScope): void {
  CancellationScope.current().cancelRequested.catch(() => {
    cancelAll(turn.approvals, Date.now());
    markChanged(turn);
    work.cancel();
  });
}

async function runTurn(turn: Turn, runtime: TurnRuntime): Promise<TurnResult> {
  const { publisher } = runtime;
  try {
    const result = await runSteps(turn, runtime);
    publisher.end(result.status);
    return result;
  } catch (error) {
    if (turn.approvals.cancelled || isCancellation(error)) return endCancelled(publisher);
    const end = error instanceof ActivityFailure ? modelFailure(error) : error;
    // Anything else, such as continue-as-new or a bug, is not the end of the turn.
    if (end instanceof ApplicationFailure) publisher.end('failed');
    throw end;
  }
}

function endCancelled(publisher: Publisher): never {
  publisher.end('cancelled');
  throw new CancelledFailure('the turn was cancelled');
}

/** Runs steps until the model answers, the limit is reached, or the turn continues as new. */
async function runSteps(turn: Turn, runtime: TurnRuntime): Promise<TurnResult> {
  for (;;) {
    if (mustContinue(turn)) await continueTurn(turn, runtime);
    turn.step += 1;
    let output = applySeedStep(turn);
    // An operator may have completed the activity with anything: the model is asked again where it cannot be read.
    for (let asked = 1; output === undefined; asked++)
      output = applyThink(turn, await nextStep(turn, asked), asked);
    if (output.calls.length === 0) return resultOf(turn, 'answered', output);
    // The calls of a step get their keys from its reply. A reset that keeps the reply keeps the keys, so a worker recognises a
    // call that it has started before. A new reply brings new keys.
    turn.stepKey = output.replyId;
    keepSchemas(turn, output);
    const calls = hasRemote(output) ? await prepareRemote(turn, output) : output.calls;
    const step = new Step(turn, calls, runtime);
    // Not in a function of its own: that would cost each step two promises, and the SDK keeps a stack for each.
    while (step.proceed()) await step.changed();
    appendResults(turn, step.results());
    if (turn.approvals.cancelled) throw new CancelledFailure('the turn was cancelled');
    if (turn.step >= turn.maxSteps) return resultOf(turn, 'step_limit', output);
  }
}

function nextStep(turn: Turn, asked: number): Promise<RawValue> {
  if (turn.transcript.full) {
    throw ApplicationFailure.nonRetryable(
      'the words and replies of the transcript are over its limit, even without outputs',
      FAILURES.turn,
    );
  }
  return think(turn, asked);
}

function resultOf(
  turn: Turn,
  status: Extract<TurnState, TurnResult['status']>,
  { text, value }: Pick<ThinkOutput, 'text' | 'value'>,
): TurnResult {
  const { step: steps, counts, usage } = turn;
  return { status, answer: text, ...defined({ value }), steps, counts, usage };
}

/** Checked between steps, when nothing is open. A cancelled turn ends instead of continuing. */
function mustContinue({ step, approvals, given }: Turn): boolean {
  // The next run gets what holds for the whole fork, but not its first step: that has to be applied before.
  return workflowInfo().continueAsNewSuggested && step > 0 && !approvals.cancelled && given === undefined;
}

async function continueTurn(turn: Turn, { queue }: TurnRuntime): Promise<never> {
  // Messages that still wait would be lost. Nothing is open, so judging them refuses them.
  await queue.emptied();
  const { agent, origin, fork } = turn;
  const carried = carry(turn);
  return continueAsNew<typeof agentTurn>({ agent, prompt: '', carried, ...defined({ origin, fork }) });
}

function carry(turn: Turn): CarriedTurn {
  const { runId } = workflowInfo();
  const states = turn.states.carried(runId === turn.originalRunId ? undefined : runId);
  return {
    step: turn.step,
    transcript: [...turn.transcript.entries],
    droppedBefore: turn.transcript.droppedBefore,
    results: turn.results,
    ...defined({ cutTo: turn.cutTo }),
    spent: carriedDecisions(turn.approvals),
    counts: turn.counts,
    usage: turn.usage,
    signalVerdicts: turn.signalVerdicts,
    ...(states.length === 0 ? {} : { states }),
  };
}
