import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  isCancellation,
  workflowInfo,
} from '@temporalio/workflow';
import type { ThinkOutput } from '../contract/think';
import { askForSteps, type Taken, takeSteps, untilAskedAgain } from './burst';
import { checkStart } from './check-start';
import type { CarriedTurn, TurnCounts, TurnInput, TurnResult } from '../contract/turn';
import type { ResultStatus, TurnState } from '../contract/turn-states';
import { movedStep, whyHeld } from '../lifecycle/move';
import { carriedDecisions } from '../lifecycle/state';
import { act } from './approvals';
import { isTurnInput } from '../contract/payloads';
import { ChangeNotifier } from './changes';
import { DeadlineTimer } from './deadline-timer';
import { setHandlers } from './handlers';
import { MessageQueue } from './message-queue';
import { continueOnCurrentBuild, continueWithMemo, resetRun } from './current-build';
import { report, StepObserver } from './observe';
import { makeTurn, type Turn, type TurnRuntime } from './turn-state';
import { Publisher, publishScheduled } from './publish';
import { currentDetails, type OpenCall } from './summary';
import { turnModelFailure } from './outcome';
import { isLoop, isRepeated } from '../contract/spending/repeats';
import { noteRequesters } from './session/words';
import { runStep, noteStep } from './step';
import { askForMore, usedUp, WorkClock } from './spending';
import { hasRemote, prepareRemote } from './call-activities';
import { appendResults, applySeedStep, countCall, turnRecordOf, statesOf } from './think';
import { LIMITS } from '../contract/limits';
import { utf8Bytes } from '../contract/text/bytes';

/**
 * Works through one user request until the model answers. No tool can fail it: every outcome is a result that the model
 * reads. It closes as Completed with a TurnResult, as Cancelled, or as Failed if the model failed for good.
 */
export async function agentTurn(input: TurnInput): Promise<TurnResult> {
  checkStart('turn', input, isTurnInput);
  publishScheduled(input);
  const turn = makeTurn(input, workflowInfo().originalExecutionRunId);
  const isMoved = turn.moved !== undefined;
  const details = (open: readonly OpenCall[]): string => currentDetails(open, turn.step);
  const publisher = new Publisher(turn, details, isMoved);
  const work = new CancellationScope({ cancellable: true, parent: CancellationScope.current() });
  const queue = new MessageQueue(() => void act(turn, { type: 'reset' }));
  // The step comes from another build. Messages are held and lists keep what they show, until the step waits here, too.
  if (isMoved) queue.hold();
  setHandlers(turn, queue);
  watchCancellation(turn, work);
  return CancellationScope.nonCancellable(() => {
    const nonCancellable = CancellationScope.current();
    const observer = new StepObserver(turn);
    const clock = new WorkClock(turn);
    const timer = new DeadlineTimer(turn, nonCancellable);
    const watchers = [observer, clock, timer, publisher];
    const changes = new ChangeNotifier(turn, watchers, isMoved);
    void changes.run();
    const runtime = { publisher, observer, changes, queue, nonCancellable };
    // The scope is entered once for the whole turn. Entering it for each activity would cost two promises.
    return work.run(() => runTurn(turn, runtime));
  });
}

function watchCancellation(turn: Turn, work: CancellationScope): void {
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

function end({ agent, origin, usage, step }: Turn, publisher: Publisher, outcome: TurnState): void {
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
  const first = turn.step;
  for (let last: Pick<ThinkOutput, 'text' | 'value'> = { text: '' }; ;) {
    if (turn.step > first && mustContinue(turn)) await continueTurn(turn, runtime);
    if (turn.moved === undefined && usedUp(turn) !== undefined) {
      const why = await askForMore(turn, runtime);
      if (why !== undefined) return resultOf(turn, 'budget', last, why);
      if (turn.approvals.cancelled) throw new CancelledFailure('the turn was cancelled');
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
      if (turn.step >= turn.maxSteps) return resultOf(turn, 'step_limit', last);
      continue;
    }
    if (output.calls.length === 0) {
      if (isOver(turn)) return resultOf(turn, 'answered', output);
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
    const move = (): Promise<void> => moveTurn(turn, runtime, { ...output, calls });
    const results = await runStep(turn, calls, runtime, { isRefused: isRepeated(turn, calls), move });
    turn.isMoving = false;
    appendResults(turn, results);
    noteStep(turn, calls);
    if (turn.approvals.cancelled) throw new CancelledFailure('the turn was cancelled');
    if (turn.call !== undefined) return { ...resultOf(turn, 'answered', last), result: results[0]?.result };
    if (isLoop(turn)) return resultOf(turn, 'loop', last, LOOP);
    if (turn.step >= turn.maxSteps) return resultOf(turn, 'step_limit', last);
  }
}

/** Called after a reply without calls. New words that arrived in time keep the turn open if it may take more steps. */
function isOver({ words, step, maxSteps }: Turn): boolean {
  return words.waiting.length === 0 || step >= maxSteps;
}

const LOOP = 'the model asked for the same calls again and again, although it read that this leads nowhere';

function resultOf(
  turn: Turn,
  status: ResultStatus,
  { text, value }: Pick<ThinkOutput, 'text' | 'value'>,
  why?: string,
): TurnResult {
  const { step: steps, counts, usage, session, spending } = turn;
  const conversation = session && turnRecordOf(turn);
  const some = { value, why, conversation, others: turn.origin?.others };
  return { status, answer: text, steps, counts, usage, spent: spending.spent, ...some };
}

/**
 * Whether the turn has to continue as new. Checked between steps, when nothing is open. A run takes at least one step
 * before, because signals that fill its history at once would otherwise keep the turn from ever taking one. A cancelled
 * turn ends instead.
 */
function mustContinue({ approvals, given, moved, tried }: Turn): boolean {
  // The next run gets what holds for the whole fork, but not the fork's first step. So that step has to be applied
  // before.
  const isOpen = given !== undefined || moved !== undefined || tried !== undefined;
  return workflowInfo().continueAsNewSuggested && !approvals.cancelled && !isOpen;
}

async function continueTurn(turn: Turn, { queue, changes }: TurnRuntime): Promise<never> {
  // Messages that still wait would be lost, so they are judged first. Nothing is open, so judging refuses them.
  await queue.emptied();
  lighten(turn);
  // The verdicts on signals go along in the memo, where their senders look for them.
  changes.look();
  return continueWithMemo<typeof agentTurn>({}, nextInput(turn, carry(turn)));
}

/**
 * Continues in a run on the current build, if everything open still waits for people once all messages are judged. It
 * waits for messages only while no call runs, because a call that ends would not wake the turn here.
 */
async function moveTurn(turn: Turn, { queue }: TurnRuntime, reply: ThinkOutput): Promise<void> {
  turn.isMoving = false;
  const isHeld = (): boolean => whyHeld(turn.approvals, resetRun() !== undefined) !== undefined;
  if (isHeld()) return;
  await queue.emptied();
  if (isHeld()) return;
  const moved = movedStep(turn.approvals, reply, workflowInfo().taskQueue);
  const input = nextInput(turn, { ...carry(turn), step: turn.step - 1, counts: countsOf(turn), moved });
  // A turn whose input is too large stays on its build.
  if (isTooLarge(input)) turn.tooLargeIn = turn.step;
  else await continueOnCurrentBuild<typeof agentTurn>(input);
}

/** Leaves out parts that the next run can do without, if its input would be too large. */
function lighten(turn: Turn): void {
  const isHeavy = (): boolean => isTooLarge(nextInput(turn, carry(turn)));
  // The worker reads these texts in the transcript.
  if (isHeavy()) turn.results = turn.results.map(({ text: _, ...ref }) => ref);
  const { waiting } = turn.words;
  // A session queues the words that its turn did not take up.
  while (waiting.length > 0 && isHeavy()) waiting.pop();
}

/** Whether the input is over the limit. The server refuses a larger payload, and the turn would then never continue. */
function isTooLarge(input: TurnInput): boolean {
  return utf8Bytes(JSON.stringify(input)) > LIMITS.movedBytes;
}

/** The counts of the turn, with the calls of this run that have ended. A call is counted in the run in which it ran. */
function countsOf(turn: Turn): TurnCounts {
  const counts = { ...turn.counts };
  for (const state of turn.approvals.calls.values())
    if (state.phase === 'done') countCall({ ...turn, counts }, { call: state.call, result: state.result });
  return counts;
}

function nextInput(turn: Turn, carried: CarriedTurn): TurnInput {
  noteRequesters(turn, turn.approvals.speakers);
  const { agent, origin, fork, session, call } = turn;
  const cap = Object.keys(turn.cap).length === 0 ? undefined : turn.cap;
  const lineage = turn.lineage.length === 0 ? undefined : [...turn.lineage];
  const sessionSpending = turn.ofSession;
  return { agent, prompt: '', carried, origin, fork, call, lineage, cap, session, sessionSpending };
}

function carry(turn: Turn): CarriedTurn {
  const { words } = turn;
  const states = statesOf(turn);
  return {
    step: turn.step,
    transcript: [...turn.transcript.entries],
    droppedBefore: turn.transcript.droppedBefore,
    results: turn.results,
    cutTo: turn.cutTo,
    spent: carriedDecisions(turn.approvals),
    counts: turn.counts,
    usage: turn.usage,
    signalVerdicts: turn.signalVerdicts,
    spending: turn.spending,
    children: turn.children,
    repeated: turn.repeated,
    states: states.length === 0 ? undefined : states,
    words: words.waiting.length + words.took.length === 0 ? undefined : words,
  };
}
