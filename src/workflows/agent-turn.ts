import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow';
import type { ThinkOutput } from '../contract/think';
import { type Taken, takeSteps, untilAskedAgain } from './burst';
import { checkStart, publishScheduled } from './check-start';
import type { CarriedTurn, TurnInput, TurnResult } from '../contract/turn';
import type { TurnState } from '../contract/turn-states';
import { act } from './call-life';
import { isTurnInput } from '../contract/payloads';
import { ChangeNotifier } from './changes';
import { continueTurn, inputOfNext, mustContinue } from './continue-turn';
import { DeadlineTimer } from './deadline-timer';
import { setHandlers } from './handlers';
import { MessageQueue } from './message-queue';
import { report, StepObserver } from './observe';
import { beginsOpen, makeTurn, type Turn, type TurnRuntime } from './turn-state';
import { Publisher } from './publish';
import { currentDetails, type OpenCall } from './summary';
import { runStep } from './step';
import { carriedBy, firstOf, STEP_HOOKS } from './step-hooks';
import { WorkClock } from './spending';
import { hasRemote, prepareRemote } from './prepare-call';
import { FAILURES } from '../contract/names';
import { applySeedStep, askForSteps, endStep, resultOfTurn } from './think';

/**
 * Works through one user request until the model answers. No tool can fail it: every outcome is a result that the model
 * reads. It closes as Completed with a TurnResult, as Cancelled, or as Failed if the model failed for good.
 */
export async function agentTurn(input: TurnInput): Promise<TurnResult> {
  checkStart('turn', input, isTurnInput);
  publishScheduled(input);
  const turn = makeTurn(input, workflowInfo().originalExecutionRunId);
  const isOpen = beginsOpen(turn);
  const details = (open: readonly OpenCall[]) => currentDetails(open, turn.step);
  const publisher = new Publisher(turn, details, isOpen);
  const work = new CancellationScope({ cancellable: true, parent: CancellationScope.current() });
  const queue = new MessageQueue(() => void act(turn, { type: 'reset' }));
  // Messages are held and lists keep what they show, until the step waits here, too.
  if (isOpen) queue.hold();
  setHandlers(turn, queue);
  watchCancellation(turn, work);
  return CancellationScope.nonCancellable(() => {
    const nonCancellable = CancellationScope.current();
    const observer = new StepObserver(turn);
    const clock = new WorkClock(turn);
    const timer = new DeadlineTimer(turn, nonCancellable);
    const watchers = [observer, clock, timer, publisher];
    const changes = new ChangeNotifier(turn, watchers, queue, isOpen);
    void changes.run();
    const runtime = { publisher, observer, changes, queue, nonCancellable };
    // The scope is entered once for the whole turn. Entering it for each activity would cost two promises.
    return work.run(() => runTurn(turn, runtime));
  });
}

function watchCancellation(turn: Turn, work: CancellationScope) {
  CancellationScope.current().cancelRequested.catch(() => {
    act(turn, { type: 'cancel' });
    work.cancel();
  });
}

async function runTurn(turn: Turn, runtime: TurnRuntime): Promise<TurnResult> {
  const { publisher } = runtime;
  try {
    const result = await runSteps(turn, runtime);
    end(turn, publisher, result.status);
    return result;
  } catch (error) {
    if (turn.approvals.cancelled || isCancellation(error)) return endCancelled(turn, publisher);
    const why = error instanceof ActivityFailure ? turnModelFailure(error) : error;
    // Any other error, such as continue-as-new or a bug, is not the end of the turn.
    if (why instanceof ApplicationFailure) end(turn, publisher, 'failed');
    throw why;
  }
}

/**
 * The failure of a turn whose model failed for good. No other activity can fail a turn, because the calls of a step
 * never throw.
 */
export function turnModelFailure({ cause, message }: ActivityFailure): ApplicationFailure {
  return ApplicationFailure.create({
    type: FAILURES.model,
    message: cause?.message ?? message,
    nonRetryable: true,
  });
}

function end({ agent, origin, usage, step }: Turn, publisher: Publisher, outcome: TurnState) {
  publisher.end(outcome);
  const since = workflowInfo().startTime.getTime();
  const of = { agent, usage, steps: step, trace: origin?.trace };
  report({ kind: 'turn', ...of, outcome, since, at: Date.now() });
}

function endCancelled(turn: Turn, publisher: Publisher): never {
  end(turn, publisher, 'cancelled');
  throw new CancelledFailure('the turn was cancelled');
}

/** Runs steps until the model answers, a limit is reached, or the turn continues as new. */
async function runSteps(turn: Turn, runtime: TurnRuntime): Promise<TurnResult> {
  const hooks = STEP_HOOKS;
  const first = turn.step;
  const nextInput = (more?: Partial<CarriedTurn>): TurnInput =>
    inputOfNext(turn, { ...carriedBy(hooks, turn), ...more });
  for (let last: Pick<ThinkOutput, 'text' | 'value'> = { text: '' }; ;) {
    if (turn.step > first && mustContinue(turn)) await continueTurn(turn, runtime, nextInput);
    for (const hook of hooks) {
      const asked = hook.before?.(turn, runtime);
      const spent = asked && (await asked);
      if (spent !== undefined) return resultOfTurn(turn, spent, last);
    }
    turn.step += 1;
    const asked = Date.now();
    const seed = applySeedStep(turn);
    let taken: Taken | undefined = seed && { last: seed, isOver: false };
    // An operator may have completed the activity with any value. If it cannot be read, the model is asked again.
    for (let times = 1; taken === undefined; times++) {
      taken = takeSteps(turn, await askForSteps(turn, times), times, asked);
      turn.stepTask = workflowInfo().historyLength;
    }
    const { last: output, isOver: isTaken, failed } = taken;
    if (failed?.waitMs) await untilAskedAgain(failed);
    last = output;
    if (isTaken) {
      if (turn.step >= turn.maxSteps) return resultOfTurn(turn, { status: 'step_limit' }, last);
      continue;
    }
    if (output.calls.length === 0) {
      if (!hooks.some(({ goesOn }) => goesOn?.(turn)))
        return resultOfTurn(turn, { status: 'answered' }, output);
      turn.results = [];
      turn.cutTo = undefined;
      continue;
    }
    // The calls of a step get their keys from its reply. A reset that keeps the reply keeps the keys, so a worker
    // recognizes a call that it has started before. A new reply brings new keys.
    turn.stepKey = output.replyId;
    turn.by = output.notes && { model: output.model, notes: output.notes };
    act(turn, { type: 'knew', schemas: output.schemas });
    const calls = hasRemote(output) ? await prepareRemote(turn, output) : output.calls;
    const step = { reply: { ...output, calls }, nextInput };
    const closedAs = firstOf(hooks, ({ closes }) => closes?.(turn, calls));
    const due = () => firstOf(hooks, ({ during }) => during?.(turn, runtime, step));
    await runStep(turn, calls, runtime, { closedAs, due });
    const [result] = endStep(turn, calls);
    const ending = firstOf(hooks, ({ after }) => after?.(turn, calls));
    if (turn.approvals.cancelled) throw new CancelledFailure('the turn was cancelled');
    if (turn.call !== undefined) return { ...resultOfTurn(turn, { status: 'answered' }, last), result };
    if (ending !== undefined) return resultOfTurn(turn, ending, last);
    if (turn.step >= turn.maxSteps) return resultOfTurn(turn, { status: 'step_limit' }, last);
  }
}
