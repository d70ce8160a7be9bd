import type { RawValue } from '@temporalio/common';
import {
  ActivityCancellationType,
  type ActivityOptions,
  ApplicationFailure,
  CancelledFailure,
  scheduleActivity,
  sleep,
} from '@temporalio/workflow';
import {
  type BurstInput,
  type BurstOutput,
  type BurstStep,
  type EndedOf,
  endedIn,
  spanOf,
} from '../contract/burst/burst';
import type { Fact } from '../activities/observed';
import { addTime } from '../contract/spending/budget';
import { readBurstOutput } from '../contract/burst/read';
import { TIMES } from '../contract/limits';
import { ACTIVITIES, activityIds, FAILURES } from '../contract/names';
import type { GateMode, ThinkOutput } from '../contract/think';
import { countReply, limitsOf } from './spending';
import { rawResult, valueOf } from './messages';
import { endedFact, report } from './observe';
import { noteStep } from './step';
import { appendResults, MOST_ASKED, takeReply, thinkInput } from './think';
import type { Turn } from './turn';

/** How a burst ended in its turn. */
export interface Taken {
  last: ThinkOutput;
  /** Whether the calls of the last reply already have their results. False: the turn continues with these calls. */
  isOver: boolean;
}

/** Takes steps in one activity, as many as its input allows, and applies each as a step of its own. */
export async function takeBurst(turn: Turn): Promise<Taken> {
  for (let asked = 1; asked <= MOST_ASKED; asked++) {
    const output = readBurstOutput(valueOf(await schedule(turn, asked)));
    if (output === undefined) continue;
    const taken = apply(turn, output);
    if (turn.approvals.cancelled && (taken.isOver || taken.last.calls.length === 0))
      throw new CancelledFailure('the turn was cancelled');
    const { message, waitMs = 0, tried } = output.failed ?? {};
    if (tried !== undefined) turn.tried = tried;
    if (waitMs > 0) await sleep(waitMs, { summary: `the model is asked again: ${message}`.slice(0, 200) });
    return taken;
  }
  const message = `what the model's activity returned could not be read, ${MOST_ASKED} times`;
  throw ApplicationFailure.nonRetryable(message, FAILURES.model);
}

function schedule(turn: Turn, asked: number): Promise<RawValue> {
  const { step, gate } = turn;
  if (gate === undefined) throw new Error(`step ${step} is none of a burst`);
  const input = inputOf(turn, gate);
  return scheduleActivity<RawValue>(ACTIVITIES.burst, [input], optionsOf(step, gate, asked), rawResult);
}

function inputOf(turn: Turn, gate: GateMode): BurstInput {
  const input = thinkInput(turn);
  const { transcript, repeated, originalRunId, fork } = turn;
  const dry = fork?.world === 'dry' ? { dry: true as const } : {};
  const limits = limitsOf(turn);
  return { ...input, burst: { ...gate, size: transcript.size, repeated, limits, originalRunId, ...dry } };
}

function optionsOf(step: number, { commitMs }: GateMode, asked: number): ActivityOptions {
  return {
    activityId: activityIds.burst(step, asked),
    startToCloseTimeout: commitMs + TIMES.thinkTimeout + TIMES.burstCall + TIMES.closeMargin,
    heartbeatTimeout: TIMES.heartbeatTimeout,
    // As for `think`, the activity decides how often and when to retry.
    retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
    // A cancelled burst gives back the steps that it has finished, and they stay on record.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary: `from step ${step}`,
  };
}

function apply(turn: Turn, { steps }: BurstOutput): Taken {
  let taken: Taken | undefined;
  const facts: Fact[] = [];
  for (const step of steps) {
    if (taken !== undefined) turn.step += 1;
    takeReply(turn, step.reply);
    countReply(turn, step.reply, step.replied - step.asked);
    const ended = step.calls === undefined ? [] : applyCalls(turn, step);
    for (const one of ended) facts.push(endedFact(turn, one, step.reply.replyId));
    taken = { last: step.reply, isOver: step.calls !== undefined };
  }
  // One report for all: each is a message between threads, and the worker waits for it.
  report(...facts);
  if (taken === undefined) throw new Error('a burst without a step');
  return taken;
}

/** Adds the results of a step, and gives its calls. */
function applyCalls(turn: Turn, step: BurstStep): EndedOf[] {
  const ended = endedIn(step);
  appendResults(
    turn,
    ended.map((one) => ({ ...one, ours: false })),
  );
  turn.spending.spent = addTime(turn.spending.spent, spanOf(step));
  noteStep(turn, step.reply.calls);
  return ended;
}
